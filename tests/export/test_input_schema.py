"""The schema is valid, tells every column, and tells right patients from wrong ones."""

import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from survtrace import SurvTRACE
from survtrace.export import export_onnx


@pytest.fixture(scope="module")
def schema(tiny, three_causes, tmp_path_factory):
    columns = {
        "age": {"missing": ["999"], "low": 0, "high": 120, "unit": "years", "label": "Age"},
        "size": {"low": 0},
    }
    settings = {**tiny, "columns": columns, "time_unit": "months", "cause_names": {1: "relapse"}}
    est = SurvTRACE(**settings).fit(*three_causes)
    path = export_onnx(est, tmp_path_factory.mktemp("schema") / "model.onnx").schema_path
    return json.loads(path.read_text(encoding="utf-8"))


PATIENT = {"age": 61, "size": 4.5, "sex": "f", "stage": "II"}


def test_it_is_a_schema_of_draft_2020_12(schema):
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "change",
    [
        *({}, {"age": None}, {"age": 999}, {"age": 0}, {"size": 1e6}),
        *({"sex": None}, {"sex": "not seen"}, {"stage": None}),
    ],
)
def test_a_patient_that_is_answered_for_is_right(schema, change):
    assert Draft202012Validator(schema).is_valid(PATIENT | change)


@pytest.mark.parametrize(
    "change",
    [{"age": 121}, {"age": -1}, {"age": "61"}, {"size": -0.1}, {"sex": 1}, {"Age": 61}],
)
def test_another_is_wrong(schema, change):
    assert not Draft202012Validator(schema).is_valid(PATIENT | change)


def test_a_covariate_may_be_null_and_not_be_left_out(schema):
    assert not Draft202012Validator(schema).is_valid({"age": 61, "sex": "f"})


def test_columns_levels_units_and_ranges_are_told(schema, three_causes):
    X, _ = three_causes
    ours = {name: each["x-survtrace"] for name, each in schema["properties"].items()}
    assert ours["age"]["unit"] == "years"
    assert ours["age"]["missing"] == [999]
    assert ours["age"]["usual"] == pytest.approx(np.quantile(X["age"], [0.01, 0.99]), rel=0.05)
    assert ours["stage"]["codes"] == {"I": 0, "II": 1, "III": 2}
    assert schema["properties"]["age"]["title"] == "Age (years)"
    inputs = schema["x-survtrace"]["inputs"]
    for name, each in ours.items():
        assert inputs[each["input"]]["columns"][each["column"]] == name


def test_outputs_causes_and_times_are_told(schema, three_causes):
    ours = schema["x-survtrace"]
    assert list(ours["outputs"]) == [*("survival", "incidence", "survival_std", "incidence_std")]
    assert ours["causes"][:2] == [
        {"label": 1, "name": "relapse"},
        {"label": 2, "name": "cause 2"},
    ]
    assert ours["time"]["unit"] == "months"
    assert ours["time"]["start"] == 0
    assert ours["fitted"]["n_subjects"] == 240
