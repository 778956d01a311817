"""Predictions as a named frame say what the arrays say, and keep the rows' own labels."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SettingError
from survtrace.naming import column_names, names_of
from survtrace.streaming import answer

TIMES = [2.0, 6.5]


@pytest.fixture(scope="module")
def some(three_causes):
    X = three_causes[0].head(7)
    return X.set_index(pd.Index([f"patient {n}" for n in range(7)], name="who"))


def test_survival_has_a_column_for_each_time_and_the_index_of_the_table(fitted_three, some):
    frame = fitted_three.predict_survival_function(some, TIMES, as_frame=True)
    assert frame.columns.tolist() == ["survival_2", "survival_6.5"]
    pd.testing.assert_index_equal(frame.index, some.index)
    expected = fitted_three.predict_survival_function(some, TIMES)
    np.testing.assert_array_equal(frame, expected)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("predict_cumulative_incidence", "incidence"),
        ("predict_net_incidence", "net_incidence"),
        ("predict_cumulative_hazard_function", "cumulative_hazard"),
    ],
)
def test_causes_come_first_in_a_name_then_times(fitted_three, some, method, kind):
    predict = getattr(fitted_three, method)
    frame, array = predict(some, TIMES, as_frame=True), predict(some, TIMES)
    for k, cause in enumerate(fitted_three.causes_):
        np.testing.assert_array_equal(frame[f"{kind}_{cause}_6.5"], array[:, k, 1])
    one = predict(some, TIMES, cause=2, as_frame=True)
    assert one.columns.tolist() == [f"{kind}_2_2", f"{kind}_2_6.5"]


def test_a_deviation_stands_beside_what_it_belongs_to(fitted_three, some):
    frame = fitted_three.predict_survival_function(some, TIMES, return_std=True, as_frame=True)
    names = ["survival_2", "survival_2_std", "survival_6.5", "survival_6.5_std"]
    assert frame.columns.tolist() == names
    _, deviation = fitted_three.predict_survival_function(some, TIMES, return_std=True)
    np.testing.assert_array_equal(frame[["survival_2_std", "survival_6.5_std"]], deviation)


def test_probabilities_of_all_states_sum_to_1(fitted_three, some):
    frame = fitted_three.predict_proba(some, 6.5, as_frame=True)
    assert frame.columns.tolist() == ["survival_6.5", *(f"incidence_{c}_6.5" for c in (1, 2, 3))]
    np.testing.assert_allclose(frame.sum(axis=1), 1)


def test_names_are_those_of_the_command_and_come_back_from_a_file(fitted_three, some):
    ours = pd.concat(
        [
            fitted_three.predict_survival_function(some, TIMES, as_frame=True),
            fitted_three.predict_cumulative_incidence(some, TIMES, as_frame=True),
        ],
        axis=1,
    )
    assert ours.columns.tolist() == answer(fitted_three, some, TIMES).columns.tolist()
    again = pd.read_csv(io.StringIO(ours.to_csv()), index_col="who")
    pd.testing.assert_frame_equal(again, ours)


def test_a_path_gives_the_frame_of_its_rows(fitted_three, some, tmp_path):
    some.to_csv(tmp_path / "some.csv", index=False)
    frame = fitted_three.predict_survival_function(tmp_path / "some.csv", TIMES, as_frame=True)
    expected = fitted_three.predict_survival_function(some, TIMES, as_frame=True)
    pd.testing.assert_frame_equal(frame, expected.reset_index(drop=True))
    states = fitted_three.predict_proba(tmp_path / "some.csv", 2.0, as_frame=True)
    assert states.shape == (7, 4)


def test_times_that_differ_have_names_that_differ():
    names = column_names("survival", [1234567, 1234568, 1e-7, 0.1 + 0.2, 0.3])
    assert names == [
        "survival_1234567",
        "survival_1234568",
        "survival_0.0000001",
        "survival_0.30000000000000004",
        "survival_0.3",
    ]


def test_a_time_asked_twice_is_refused_in_a_frame(fitted_three, some):
    with pytest.raises(DataError, match=r"\['survival_2'\] would be written twice"):
        fitted_three.predict_survival_function(some, [2.0, 2.0], as_frame=True)


def test_functions_of_time_are_not_put_into_a_frame(fitted_three, some):
    with pytest.raises(SettingError, match="Leave one out"):
        fitted_three.predict_survival_function(some, as_frame=True, return_array=False)


def test_names_have_defaults_and_are_overruled_by_the_estimators(fitted_three):
    named = SimpleNamespace(
        causes_=fitted_three.causes_,
        feature_names_in_=fitted_three.feature_names_in_,
        cause_names_={2: "stroke"},
        time_unit_="months",
        covariate_labels_={"age": "Age (years)"},
        card_={"n_subjects": 5},
    )
    names = names_of(named)
    assert [names.cause(label) for label in (1, 2)] == ["cause 1", "stroke"]
    assert [names.covariate(name) for name in ("age", "sex")] == ["Age (years)", "sex"]
    assert names.time("12") == "12 months"
    assert names.card == {"n_subjects": 5}
