"""The form asks for what the estimator learned, in ranges that hold its training rows."""

import pytest

from survtrace import SurvTRACE
from survtrace.app.answers.schema import covariate_schemas, model_schema, slider, time_schema


def by_name(est, units=None):
    return {covariate.name: covariate for covariate in covariate_schemas(est, units)}


def test_covariates_come_in_token_order_with_kind_and_levels(fitted_three):
    schemas = covariate_schemas(fitted_three)
    assert [schema.name for schema in schemas] == list(fitted_three.feature_names_in_)
    assert [schema.kind for schema in schemas] == ["numerical"] * 2 + ["categorical"] * 2
    assert schemas[2].levels == ["f", "m"]
    assert schemas[3].levels == ["I", "II", "III"]


def test_a_range_holds_nearly_all_training_rows_and_the_typical_value(fitted_three, three_causes):
    X, _ = three_causes
    for name in ("age", "size"):
        schema, values = by_name(fitted_three)[name], X[name].dropna()
        assert values.between(schema.low, schema.high).mean() >= 0.98
        assert schema.low < schema.typical < schema.high
        assert schema.typical == pytest.approx(values.median(), rel=0.05)


def test_units_come_from_the_name_or_from_the_caller(one_cause, tiny):
    X, y = one_cause
    named = X.rename(columns={"size": "size (mm)", "stage": "stage [AJCC]"})
    known = by_name(SurvTRACE(**tiny).fit(named, y), {"age": "years"})
    assert (known["size (mm)"].label, known["size (mm)"].unit) == ("size", "mm")
    assert (known["stage [AJCC]"].label, known["stage [AJCC]"].unit) == ("stage", "AJCC")
    assert (known["age"].label, known["age"].unit) == ("age", "years")
    assert known["sex"].unit == ""


@pytest.mark.parametrize(
    ("low", "typical", "high"),
    [(0.0, 1.0, 2.0), (-3.2, 0.1, 1e6), (50, 63, 92), (1e-9, 2e-9, 5e-9), (7, 7, 7), (0, 1, 1)],
    ids=str,
)
def test_a_slider_has_about_a_hundred_steps_at_most_and_covers_its_range(low, typical, high):
    first, start, last, step = slider(float(low), float(typical), float(high))
    assert first <= low
    assert abs(start - typical) <= step
    assert high <= last
    assert 1 <= (last - first) / step <= 110


def test_a_folder_may_say_a_range_in_whole_numbers():
    assert slider(50, 63, 92) == slider(50.0, 63.0, 92.0)


def test_labels_units_causes_and_card_are_those_of_the_fit(fitted_three, monkeypatch):
    card = {"fitted_on": "2026-03-01", "n_subjects": 9, "n_events": {"1": 4}, "n_censored": 5}
    known = {
        "covariate_labels_": {"age": "Age at diagnosis (years)"},
        "cause_names_": {1: "relapse"},
        "card_": card,
    }
    for name, value in known.items():
        monkeypatch.setattr(fitted_three, name, value, raising=False)
    age = by_name(fitted_three)["age"]
    assert (age.label, age.unit) == ("Age at diagnosis", "years")
    assert by_name(fitted_three, {"age": "decades"})["age"].unit == "decades"
    model = model_schema(fitted_three, "ward 7")
    assert (model.name, model.fitted_on, model.n_subjects) == ("ward 7", "2026-03-01", 9)
    assert model.outcomes == [("relapse", 4), ("censored", 5)]


def test_a_model_without_a_card_says_so(fitted_three, monkeypatch):
    monkeypatch.setattr(fitted_three, "card_", {}, raising=False)
    model = model_schema(fitted_three, "")
    assert (model.fitted_on, model.n_subjects, model.outcomes) == (None, None, [])


def test_where_all_were_observed_from_0_no_time_is_asked_for(fitted_three):
    time = time_schema(fitted_three, "months")
    assert (time.name, time.unit, time.start) == ("time", "months", 0.0)
    assert (time.now, time.step, time.ahead) == (None, None, None)


def test_with_age_as_the_clock_the_age_now_is_asked_for_and_ten_years_are_shown(fitted_by_age):
    time = time_schema(fitted_by_age)
    assert (time.name, time.unit, time.start) == ("age", "years", 50.0)
    assert (time.now, time.step, time.ahead) == (61.0, 1.0, 10.0)
    assert time_schema(fitted_by_age, "months").ahead < time.end - time.now + 0.1


@pytest.mark.parametrize(
    ("known", "name"),
    [({"has_start_stop_": True}, "time"), ({"time_name_": "time since transplant"}, None)],
    ids=str,
)
def test_start_stop_rows_or_a_named_clock_also_ask_for_the_time_now(
    fitted_three, monkeypatch, known, name
):
    for attribute, value in known.items():
        monkeypatch.setattr(fitted_three, attribute, value, raising=False)
    time = time_schema(fitted_three)
    assert time.name == name or known["time_name_"]
    assert time.now == 0.0
    assert 0 < time.ahead < time.end
