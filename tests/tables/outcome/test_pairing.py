"""A frame and the names of its outcome's columns say what X and y say."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from survtrace import DataError, DataWarning, Surv, SurvTRACE, load
from survtrace.tables.outcome.pairing import pair, read_scored

ROLES = {"event": "cause", "duration": "months"}


@pytest.fixture
def table(three_causes):
    X, y = three_causes
    return X.assign(months=y["duration"], cause=y["event"])


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, dict])
def test_named_columns_are_no_covariates(table, form):
    given = form({name: list(column) for name, column in table.items()})
    found = pair(given, {**ROLES, "drop": "stage", "weight": "age", "censored": 0})
    assert list(found.X.columns) == ["size", "sex"]
    assert list(found.y.columns) == ["event", "duration"]
    assert list(found.y["event"]) == list(table["cause"])
    assert list(found.sample_weight) == list(table["age"])
    assert (found.censored, found.event_name) == ((0,), "cause")


def test_misspelt_names_get_the_nearest(table):
    with pytest.raises(DataError, match=r"no column 'month'; did you mean 'months'\?"):
        pair(table, {"event": "cause", "duration": "month"})
    with pytest.raises(DataError, match="event and duration must be two columns; got 'cause'"):
        pair(table, {"event": "cause", "duration": "cause"})


@pytest.mark.parametrize("y", [{"status": "cause", "time": "months"}, {"duration": "months"}])
def test_names_by_other_roles_are_refused_as_names(table, y):
    """Not as a column of texts that has a wrong shape."""
    with pytest.raises(DataError, match=rf"must name the columns of event and .*'{list(y)[-1]}'"):
        pair(table, y)


def test_weights_are_given_once(table):
    with pytest.raises(DataError, match="given once; got sample_weight and the column 'age'"):
        pair(table, {**ROLES, "weight": "age"}, np.ones(len(table)))


def test_fit_eval_set_and_score_take_names(table, three_causes, fitted_three, tiny):
    est = SurvTRACE(**tiny).fit(table, ROLES)
    np.testing.assert_array_equal(
        est.predict(table[["age", "size", "sex", "stage"]]), fitted_three.predict(three_causes[0])
    )
    assert est.score(table, ROLES) == fitted_three.score(*three_causes)
    by_names = SurvTRACE(**tiny).fit(table, ROLES, eval_set=(table[:50], ROLES))
    X, y = three_causes
    by_frames = SurvTRACE(**tiny).fit(X, y, eval_set=(X[:50], y[:50]))
    np.testing.assert_array_equal(by_names.predict(X), by_frames.predict(X))


def test_a_prediction_takes_the_table_of_the_fit_without_a_remark(table, tiny, tmp_path):
    roles = {**ROLES, "weight": "w", "drop": "stage"}
    weighted = table.assign(w=1.0)
    est = SurvTRACE(**tiny).fit(weighted, roles)
    assert est.encoding_.left_out == ("cause", "months", "w", "stage")
    est.save(tmp_path / "m")
    expected = est.predict(table[["age", "size", "sex"]])
    np.testing.assert_array_equal(load(tmp_path / "m").predict(weighted), expected)
    with pytest.warns(DataWarning, match=r"not seen in fit are ignored: \['ward'\]"):
        est.predict(weighted.assign(ward=7))


def test_a_label_named_at_the_fit_is_remembered_by_the_score(table, fitted_three, tiny):
    named = table.assign(cause=table["cause"].map({0: "well", 1: "a", 2: "b", 3: "c"}))
    est = SurvTRACE(**tiny).fit(named, {**ROLES, "censored": "well"})
    assert (est.causes_, est.censored_) == (["a", "b", "c"], ["well"])
    assert est.score(named, ROLES) == est.score(named, {**ROLES, "censored": "WELL"})
    assert est.score(named[:5], ROLES) == est.score(
        named[:5].drop(columns=["cause", "months"]),
        {"event": named["cause"][:5], "duration": named["months"][:5]},
    )


def test_a_column_of_the_living_is_read_alike_at_the_fit_and_the_score(one_cause, tiny):
    X, y = one_cause
    table = X.assign(months=y["duration"], alive=1 - y["event"])
    roles = {"event": "alive", "duration": "months"}
    with pytest.raises(DataError, match=r"called 'alive'.*censored=1 if 1 means censored"):
        SurvTRACE(**tiny).fit(table, roles)
    est = SurvTRACE(**tiny).fit(table, {**roles, "censored": 1})
    assert (est.causes_, est.censored_) == ([0], [1])
    plain = SurvTRACE(**tiny).fit(X, y)
    assert est.score(table, roles) == plain.score(X, y)
    with pytest.raises(DataError, match="1 was an event in the fit; in a column of that name"):
        plain.score(table, roles)
    with pytest.raises(DataError, match=r"\[1\] was a cause in the fit.*Surv\.from_arrays"):
        plain.score(table, {**roles, "censored": 1})
    with pytest.warns(DataWarning, match="usually means censored"):
        turned = Surv.from_arrays(table["alive"], table["months"], censored=1)
    assert plain.score(X, turned) == plain.score(X, y)


def test_weights_and_outcome_in_another_order_are_aligned(one_cause, fitted_one, tiny):
    X, y = (part.set_axis([f"p{i}" for i in range(160)]) for part in one_cause)
    weight = pd.Series(np.linspace(1, 2, 160), index=X.index)
    expected = SurvTRACE(**tiny).fit(X, y, sample_weight=weight)
    with pytest.warns(UserWarning, match="same labels in another order") as caught:
        est = SurvTRACE(**tiny).fit(X, y[::-1], sample_weight=weight[::-1])
    assert len(caught) == 2
    np.testing.assert_array_equal(est.predict(X), expected.predict(X))
    with pytest.warns(UserWarning, match="same labels in another order"):
        assert est.score(X, y[::-1]) == est.score(X, y)


def test_a_model_that_knows_entry_scores_those_seen_from_the_start(one_cause, tiny):
    X, y = one_cause
    late = y.assign(entry=y["duration"] * np.where(np.arange(160) % 2, 0.3, 0.0))
    settings = {**tiny, "mortality_weight": 0.0, "stay_weight": 0.0}
    est = SurvTRACE(**settings).fit(X[:120], late[:120])
    table = X.assign(months=y["duration"], cause=y["event"])[120:]
    assert est.score(table, ROLES) == est.score(X[120:], y[120:])
    assert np.isfinite(est.score(X[120:], y[120:]))


LIVING = {"age": [61.0, 47.0, 50.0], "alive": [1, 0, 1], "months": [9.0, 4.0, 7.0]}


def test_a_column_of_the_living_is_asked_about_where_1_was_an_event_in_the_fit():
    est = SimpleNamespace(causes_=[1])
    with pytest.raises(DataError, match="called 'alive', and 1 was an event in the fit"):
        read_scored(est, LIVING, {"event": "alive", "duration": "months"})
    X, outcome = read_scored(est, LIVING, {"event": "alive", "duration": "months", "censored": 0})
    assert list(X.columns) == ["age"]
    assert outcome.event.tolist() == [1, 0, 1]


def test_an_outcome_beside_the_covariates_has_the_causes_of_the_fit():
    est = SimpleNamespace(causes_=["b", "a"], censored_=["well"])
    y = {"event": ["a", "well", "b"], "duration": [1.0, 2.0, 3.0]}
    assert read_scored(est, {"age": [1.0, 2.0, 3.0]}, y)[1].event.tolist() == [2, 0, 1]


def test_what_is_not_fitted_cannot_be_scored():
    with pytest.raises(NotFittedError, match=r"SimpleNamespace has no causes_ yet\. Call fit"):
        read_scored(SimpleNamespace(), LIVING, {"event": "alive", "duration": "months"})


def test_columns_of_a_mapping_have_row_labels_as_those_of_a_frame():
    """Or an outcome in another order would go to other subjects."""
    X = pd.DataFrame({"age": [61.0, 47.0, 50.0]}, index=list("bca"))
    y = pd.DataFrame({"event": [0, 1, 2], "duration": [1.0, 2.0, 3.0]}, index=list("abc"))
    for given in (X, {"age": X["age"]}):
        with pytest.warns(DataWarning, match="X and y have the same labels in another order"):
            found = pair(given, y)
        assert found.y["event"].tolist() == [1, 2, 0]
        assert list(found.X["age"]) == [61.0, 47.0, 50.0]


def test_a_score_without_entry_is_told_where_all_who_were_learned_from_came_late():
    """By age as the clock, they would count as seen from birth on."""
    est = SimpleNamespace(causes_=[1], entry_=(40.0, 55.0, 70.0))
    y = {"event": np.array([0, 1]), "duration": np.array([71.0, 64.0])}
    with pytest.warns(DataWarning, match="y has no entry, .* came at 40 at the earliest"):
        read_scored(est, {"sex": ["f", "m"]}, y)
    read_scored(est, {"sex": ["f", "m"]}, {**y, "entry": np.array([60.0, 50.0])})
    read_scored(SimpleNamespace(causes_=[1], entry_=(0.0, 3.0, 9.0)), {"sex": ["f", "m"]}, y)
