"""The command check: what each column is, and what to run next."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from survtrace.inspection import read_dictionary

N = 120


@pytest.fixture
def export(tmp_path, draw_cohort):
    """A raw table with semicolons and decimal commas."""
    X, y = draw_cohort(N, seed=3)
    table = pd.DataFrame(
        {
            "patient id": [f"P{row}" for row in range(N)],
            "age": X["age"].round(1),
            "crp": [f"{size:.1f}" if size > 1 else "unknown" for size in X["size"].fillna(0)],
            "sex": X["sex"],
            "weight": np.where(np.arange(N) == 5, 999, 60 + np.arange(N) % 40),
            "died on": np.where(y["event"] > 0, "3.4.2020", ""),
            "months": y["duration"].round(3),
            "status": y["event"].map({0: "censored", 1: "died"}),
        }
    )
    path = tmp_path / "export.csv"
    commas = table.map(lambda v: str(v).replace(".", ",") if isinstance(v, float) else v)
    commas["crp"] = commas["crp"].str.replace(".", ",")
    commas.to_csv(path, index=False, sep=";")
    return path


OUTCOME = ["--duration", "months", "--event", "status"]


def test_each_column_is_shown_with_what_will_be_done(survtrace, export):
    code, out, err = survtrace("check", export, *OUTCOME)
    assert code == 0, err
    for words in ("patient id", "identifier", "decimal comma", "'unknown'", "999", "died on"):
        assert words in out
    assert "censored" in out
    assert out.rstrip().endswith(
        f"next: survtrace fit {shlex.quote(str(export))} {shlex.join(OUTCOME)} --id 'patient id' "
        "--missing 999 --time-unit months --hold-out 0.25 --out model"
    )


def test_programs_get_json(survtrace, export):
    code, out, err = survtrace("check", export, *OUTCOME, "--missing", "999", "--json")
    assert code == 0, err
    found = json.loads(out)
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["patient id"]["use"] == "left out"
    assert columns["crp"]["use"] == "numerical"
    assert columns["weight"]["missing"] == 1
    assert found["rows"] == N
    assert {label["label"] for label in found["outcome"]["labels"]} == {"censored", "died"}
    assert "--missing 999" in found["next"]


def test_without_an_outcome_candidates_are_named(survtrace, export):
    code, out, _ = survtrace("check", export)
    assert code == 0
    assert "columns that may be the duration: months" in out
    assert "columns that may be the event: status" in out
    assert "next: survtrace check" in out


def test_a_dictionary_is_drafted_and_read_again(survtrace, export, tmp_path):
    path = tmp_path / "dictionary.csv"
    code, out, err = survtrace("check", export, *OUTCOME, "--write", path)
    assert code == 0, err
    entries = read_dictionary(path)
    assert entries["patient id"].kind == "identifier"
    assert entries["crp"].decimal == ","
    assert (entries["months"].kind, entries["status"].kind) == ("duration", "event")
    assert f"--columns {path}" in out
    code, out, err = survtrace("check", export, "--columns", path)  # it names the outcome, too
    assert code == 0, err
    assert "--duration months --event status" in out
    code, _, err = survtrace("check", export, *OUTCOME, "--write", path)
    assert code == 2
    assert "exists and is left alone" in err


def test_a_question_ends_with_code_2_and_the_way_out(survtrace, tmp_path):
    table = pd.DataFrame(
        {
            "lab": ["1,234", "5,678", "2,345"] * 20,
            "age": [40 + row % 30 for row in range(60)],
            "months": np.linspace(1, 9, 60),
            "died": [0, 1] * 30,
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    outcome = ["--duration", "months", "--event", "died"]
    code, out, err = survtrace("check", tmp_path / "t.csv", *outcome)
    assert code == 2
    assert "question" in out
    assert "lab" in err
    code, _, err = survtrace("check", tmp_path / "t.csv", *outcome, "--decimal", ",")
    assert code == 0, err


def test_a_column_is_used_if_asked_for(survtrace, export):
    _, out, _ = survtrace("check", export, *OUTCOME, "--use", "patient id", "--json")
    columns = {column["name"]: column["use"] for column in json.loads(out)["columns"]}
    assert columns["patient id"] == "categorical"


def test_a_misspelt_column_is_pointed_out(survtrace, export):
    code, _, err = survtrace("check", export, "--duration", "month", "--event", "status")
    assert code == 2
    assert "did you mean 'months'" in err


def test_of_a_question_each_answer_is_a_whole_command(survtrace, tmp_path):
    age = [40 + 7 * row % 31 for row in range(60)]
    table = pd.DataFrame({"age": age, "time": range(1, 61), "status": [1, 2] * 30})
    table.to_csv(tmp_path / "t.csv", index=False)
    outcome = ["--duration", "time", "--event", "status"]
    for command in (["check"], ["fit", "--out", tmp_path / "model"]):
        code, _, err = survtrace(command[0], tmp_path / "t.csv", *outcome, *command[1:])
        assert code == 2
        fits = [line for line in err.splitlines() if line.startswith("  survtrace fit")]
        assert [fit.rpartition("--censored ")[2] for fit in fits] == ["1", "nobody"]


def test_rows_of_one_subject_are_counted_and_kept_together(survtrace, tmp_path):
    n = 90
    table = pd.DataFrame(
        {
            "patient id": [f"P{row % 80}" for row in range(n)],
            "age": [40 + row % 37 for row in range(n)],
            "months": np.linspace(1, 9, n),
            "died": [0, 1] * (n // 2),
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    outcome = ["--duration", "months", "--event", "died"]
    code, out, err = survtrace("check", tmp_path / "t.csv", *outcome)
    assert code == 0, err
    assert "10 of 90 rows repeat a patient id" in out
    assert "--id 'patient id'" in out
    assert "--id" not in survtrace("check", tmp_path / "t.csv", *outcome, "--use", "patient id").out


def test_the_patient_is_the_subject_and_not_who_treats_several(survtrace, tmp_path):
    n = 90
    numbers = {"provider_id": [100 + row % 60 for row in range(n)], "person_id": range(n)}
    table = pd.DataFrame({**numbers, "age": [40 + row % 37 for row in range(n)]})
    table = table.assign(months=np.linspace(1, 9, n), died=[0, 1] * (n // 2))
    table.to_csv(tmp_path / "t.csv", index=False)
    out = survtrace("check", tmp_path / "t.csv", "--duration", "months", "--event", "died").out
    assert "--id person_id" in out
    assert "repeat a provider_id" not in out


def test_a_number_that_is_a_value_elsewhere_is_not_missing_everywhere(survtrace, tmp_path):
    n = 60
    table = pd.DataFrame(
        {
            "weight": [999, *(60 + row % 30 for row in range(n - 1))],
            "platelets": [400 + 11 * row for row in range(n - 1)] + [999],
            "months": np.linspace(1, 9, n),
            "died": [0, 1] * (n // 2),
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    outcome = ["--duration", "months", "--event", "died"]
    out = survtrace("check", tmp_path / "t.csv", *outcome, "--json").out
    found = json.loads(out)
    assert "--missing" not in found["next"]
    assert any("is a value of platelets" in remark for remark in found["remarks"])


def test_a_column_named_duration_is_suggested_before_others_that_may_be_one(survtrace, tmp_path):
    table = pd.DataFrame({"protime": range(9, 19), "duration": range(10), "event": [0, 1] * 5})
    table.to_csv(tmp_path / "table.csv", index=False)
    assert "--duration duration --event event" in survtrace("check", tmp_path / "table.csv").out


def test_a_table_without_rows_is_no_table_to_fit_next(survtrace, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("age,months,status\n")
    code, _, err = survtrace("check", table, *OUTCOME)
    assert code == 2
    assert "has no rows. Pass a table with at least one subject" in " ".join(err.split())


def test_an_id_of_no_name_is_no_column(survtrace, export):
    code, _, err = survtrace("check", export, *OUTCOME, "--id", "")
    assert code == 2
    assert "the table has no column ''" in err


def test_a_table_with_lists_in_its_cells_is_refused_by_name(survtrace, patients, tmp_path):
    patients.assign(size=[[1, 2]] * len(patients)).to_parquet(tmp_path / "t.parquet")
    path, outcome = tmp_path / "t.parquet", ("--duration", "months", "--event", "cause")
    code, _, err = survtrace("check", path, *outcome)
    assert code == 2
    assert "column 'size' holds a ndarray in a cell" in err
