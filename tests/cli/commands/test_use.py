"""A model answers from file to file, is scored, explained, reported on and served."""

import copy
import io
import json
import os
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from survtrace.inference.predictor import Predictor
from survtrace.tables.files import chunks
from survtrace.tables.files.formats import read_table
from survtrace.tables.files.text_files import TO_THE_LAST_DIGIT

OUTCOME = ("--duration", "months", "--event", "cause")
pytestmark = pytest.mark.filterwarnings("default::survtrace.errors.LearnedRowsWarning")


def test_predict_writes_identifiers_and_probabilities(
    survtrace, model, table, tmp_path, fitted_three, three_causes
):
    out = tmp_path / "p.parquet"
    ended = survtrace("predict", model, table, "--times", "2, 8", "--id", "patient", "--out", out)
    assert (ended.code, ended.out) == (0, "")
    assert "240 rows in" in ended.err
    assert "rows per second; wrote" in ended.err
    found = read_table(out)
    causes = [f"incidence_{cause}_{time}" for cause in (1, 2, 3) for time in (2, 8)]
    assert list(found) == ["patient", "survival_2", "survival_8", *causes]
    assert found["patient"].tolist() == [f"Jane Doe {number}" for number in range(240)]
    incidence = fitted_three.predict_cumulative_incidence(three_causes[0], [2, 8])
    np.testing.assert_array_equal(found[causes].to_numpy(), incidence.reshape(240, 6))


@pytest.mark.parametrize("times", ["+2,+3.5", "3,4.5"])
def test_predict_answers_for_the_time_after_a_time(
    survtrace, model, table, tmp_path, fitted_three, three_causes, times
):
    out, names = tmp_path / "p.csv", [f"survival_{each}" for each in times.split(",")]
    options = ("--times", times, "--out", out, "--survival-only")
    assert survtrace("predict", model, table, *options, "--after", "1").code == 0
    survival = fitted_three.predict_survival_function(
        three_causes[0], [3, 4.5], conditional_after=1.0
    )
    np.testing.assert_allclose(read_table(out)[names].to_numpy(), survival, rtol=1e-12)


def test_predict_answers_for_the_time_after_that_of_each_row(
    survtrace, model, patients, tmp_path, fitted_three, three_causes
):
    since = np.linspace(0, 4, len(patients))
    patients.assign(seen=since).to_parquet(tmp_path / "t.parquet")
    options = ("--times", "+2,+3", "--after", "seen", "--out", tmp_path / "p.csv")
    ended = survtrace("predict", model, tmp_path / "t.parquet", *options)
    assert ended.code == 0, ended.err
    found = read_table(tmp_path / "p.csv")
    assert list(found)[:3] == ["survival_+2", "survival_+3", "incidence_1_+2"]
    incidence = fitted_three.predict_cumulative_incidence(
        three_causes[0], since[:, None] + [2, 3], conditional_after=since
    )
    np.testing.assert_allclose(found.to_numpy()[:, 2:], incidence.reshape(240, 6), rtol=1e-12)


def test_predict_works_in_a_pipe(survtrace, model, table, monkeypatch, fitted_three, three_causes):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    code, out, err = survtrace("--quiet", "predict", model, "-", "--times", "8", "--survival-only")
    assert (code, err) == (0, "")
    found = pd.read_csv(io.StringIO(out), **TO_THE_LAST_DIGIT)
    assert list(found) == ["survival_8"]
    expected = fitted_three.predict_survival_function(three_causes[0], [8])
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_predict_tells_its_pace_as_json(survtrace, model, table, tmp_path):
    out = tmp_path / "p.csv.gz"
    ended = survtrace("predict", model, table, "--times", "8", "--out", out, "--json", "--std")
    told = json.loads(ended.out)
    assert told["rows"] == 240
    assert told["rows_per_second"] == pytest.approx(240 / told["seconds"])
    assert "survival_8_std" in read_table(out)


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_a_warning_is_one_line(survtrace, model, table, tmp_path):
    ended = survtrace("predict", model, table, "--times", "999", "--out", tmp_path / "p.csv")
    assert ended.code == 0
    assert ended.err.startswith("warning: 1 of 1 times lie beyond the grid")
    assert ended.err.count("\n") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--times", "soon"), "--times must be numbers with commas between them"),
        (("--times", "-1"), "times must be a flat sequence of numbers of zero or more"),
        (("--times", "8", "--out", "p.xls"), "a table must end in one of"),
        (("--times", "8", "--id", "patients"), "did you mean 'patient'?"),
        (("--times", "8", "--json"), "pass --out"),
        (("--times", "+8"), "--times with a + count from --after, all of them or none"),
        (("--times", "+8,9", "--after", "2"), "--times with a + count from --after"),
        (("--times", "8", "--after", "9"), "--times must be later than --after 9"),
        (("--times", "8", "--after", "-2"), "--after must be a time of zero or more"),
        (("--times", "8", "--after", "ages"), "did you mean 'age'?"),
        (("--times", "8", "--after", "patient"), "a time of zero or more in every row; 240 of 240"),
    ],
)
def test_mistakes_are_named(survtrace, model, table, options, words):
    code, out, err = survtrace("predict", model, table, *options)
    assert (code, out) == (2, "")
    assert words in err


def test_a_folder_without_a_model_is_named(survtrace, table, tmp_path):
    code, _, err = survtrace("predict", tmp_path, table, "--times", "8")
    assert code == 2
    assert "holds no saved estimator" in err


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
@pytest.mark.parametrize(
    ("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "kill"]
)
def test_an_interrupt_leaves_no_half_written_file(
    survtrace, model, table, tmp_path, monkeypatch, name, ending, code
):
    curve, asked = Predictor.curve, []

    def interrupted(*arguments, **options):
        asked.append(arguments)
        if len(asked) == 3:
            assert any(path.name.endswith(".part") for path in tmp_path.iterdir())
            os.kill(os.getpid(), ending)
        return curve(*arguments, **options)

    monkeypatch.setattr(Predictor, "curve", interrupted)
    monkeypatch.setattr("survtrace.inference.paths.read_chunks", in_small_pieces)
    (tmp_path / name).write_text("an earlier file")
    options = ("--times", "8", "--out", tmp_path / name, "--force")
    ended = survtrace("predict", model, table, *options)
    assert ended.code == code
    assert ("SIGTERM" in ended.err) == (ending == signal.SIGTERM)
    assert {path.name for path in tmp_path.iterdir()} == {"patients.csv", name}
    assert (tmp_path / name).read_text() == "an earlier file"


def in_small_pieces(*arguments, **options):
    return chunks.read_chunks(*arguments, **{**options, "n_rows": 50})


def test_evaluate_shows_every_cause_at_every_horizon(survtrace, model, table):
    options = ("--id", "patient", "--horizons", "3,8")
    code, out, err = survtrace("evaluate", model, table, *OUTCOME, *options)
    assert code == 0
    assert err.startswith("warning: These seem to be rows the model was trained on")
    assert err.count("\n") == 1
    rows = [line.split() for line in out.splitlines() if " (" in line]
    assert [(row[2], row[4]) for row in rows] == [
        (cause, horizon) for cause in "123" for horizon in ("3", "8", "integrated")
    ]
    assert "predicted" in out
    assert "observed" in out


def test_predict_names_the_unit_of_its_times(survtrace, fitted_three, table, tmp_path):
    """Whoever asks a model of days for 1, 5 and 10 years is not left in the dark."""
    est = copy.copy(fitted_three)
    est.time_unit = "days"
    est.save(tmp_path / "of_days")
    options = ("--times", "1,5", "--out", tmp_path / "p.csv")
    ended = survtrace("predict", tmp_path / "of_days", table, *options)
    assert f"rows per second; times are in days; wrote {tmp_path}" in ended.err


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_evaluate_shows_a_dash_where_a_score_has_no_value(survtrace, model, table):
    options = ("--id", "patient", "--horizons", "0.00001,8")
    code, out, err = survtrace("evaluate", model, table, *OUTCOME, *options)
    assert code == 0
    assert "nobody had the event by then" in err
    assert "nan" not in out
    assert " - " in out


def test_evaluate_prints_json_and_takes_the_censoring_of_other_rows(survtrace, model, table):
    options = ("--id", "patient", "--json")
    own = json.loads(survtrace("evaluate", model, table, *OUTCOME, *options).out)
    few = table.with_name("few.csv")
    read_table(table)[:50].to_csv(few, index=False)
    other = survtrace("evaluate", model, table, *OUTCOME, *options, "--train", few)
    changed = {
        row["score"] for row, now in zip(own, json.loads(other.out), strict=True) if row != now
    }
    assert changed == {"C", "AUC", "Brier", "IBS"}
    assert {row["score"] for row in own} == changed | {"predicted", "observed"}


def test_explain_shows_importance_beside_attention(survtrace, model, table, tmp_path):
    out = tmp_path / "importance.csv"
    options = ("--id", "patient", "--repeats", 2, "--out", out)
    ended = survtrace("explain", model, table, *OUTCOME, *options)
    assert ended.code == 0, ended.err
    assert "attention" in ended.out
    assert list(pd.read_csv(out)) == ["cause", "covariate", "importance", "low", "high"]
    ended = survtrace("explain", model, table, *OUTCOME, "--id", "patient", "--json")
    assert set(json.loads(ended.out)) == {"importance", "relevance", "faithfulness"}


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_explain_warns_of_each_thing_once(survtrace, model, patients, tmp_path):
    strange = patients.assign(sex="x")
    strange.to_csv(tmp_path / "t.csv", index=False)
    ended = survtrace("explain", model, tmp_path / "t.csv", *OUTCOME, "--id", "patient")
    assert ended.code == 0, ended.err
    assert ended.err.count("not seen in fit") == 1


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_values_far_from_the_training_rows_are_told_of(survtrace, model, patients, tmp_path):
    patients.assign(age=patients["age"] * 12).to_csv(tmp_path / "t.csv", index=False)
    ended = survtrace("predict", model, tmp_path / "t.csv", "--times", "8", "--out", "-")
    assert "warning: age lies outside" in ended.err
    assert "for 240 of 240 subject(s)" in ended.err


def test_the_model_remembers_the_columns_of_its_outcome(survtrace, model, table):
    code, _, err = survtrace("evaluate", model, table)
    assert code == 2
    assert "Pass --duration COLUMN" in err


def test_report_is_given_model_rows_and_title(survtrace, model, table, tmp_path, monkeypatch):
    told = {}

    def write_report(est, X, y, path, *, title, train, by):
        told.update(causes=est.causes_, rows=len(X), title=title, train=train, by=by)
        return path

    monkeypatch.setitem(sys.modules, "survtrace.report", SimpleNamespace(write_report=write_report))
    options = ("--id", "patient", "--title", "Ours", "--by", "sex", "--out", tmp_path / "r.html")
    ended = survtrace("report", model, table, *OUTCOME, *options)
    assert ended == (0, "", f"wrote {tmp_path / 'r.html'}\n")
    what = {"causes": [1, 2, 3], "rows": 240, "title": "Ours", "train": None, "by": ["sex"]}
    assert told == what
    survtrace("report", model, table, *OUTCOME, *options, "--train", table)
    assert list(told["train"][0]) == ["age", "size", "sex", "stage"]


def test_serve_listens_where_it_is_told(survtrace, model, monkeypatch):
    told = {}

    def serve(path, **options):
        told.update(options, path=path)

    monkeypatch.setitem(sys.modules, "survtrace.app", SimpleNamespace(serve=serve))
    monkeypatch.setenv("SURVTRACE_TOKEN", "open sesame")
    assert survtrace("serve", model, "--port", 8001, "--time-unit", "months").code == 0
    assert told == {
        "path": model,
        "host": "127.0.0.1",
        "port": 8001,
        "token": "open sesame",
        "importance": None,
        "time_unit": "months",
        "workers": 1,
        "log": None,
    }


def test_a_server_does_not_start_without_a_token_where_the_variable_is_empty(
    survtrace, model, monkeypatch
):
    told = {}
    serve = SimpleNamespace(serve=lambda path, **options: told.update(options))
    monkeypatch.setitem(sys.modules, "survtrace.app", serve)
    monkeypatch.setenv("SURVTRACE_TOKEN", "")
    assert survtrace("serve", model).code == 0
    assert told["token"] == ""  # which the app refuses


@pytest.mark.filterwarnings("ignore::survtrace.DataWarning")
@pytest.mark.parametrize("column", ["alive", "status"])
def test_a_label_named_in_fit_is_censored_in_every_later_command(
    survtrace, one_cause, tmp_path, column
):
    """A column in which 1 means alive is not scored the other way round."""
    X, y = one_cause
    plain, turned = tmp_path / "plain.csv", tmp_path / "turned.csv"
    X.assign(months=y["duration"], died=y["event"]).to_csv(plain, index=False)
    X.assign(months=y["duration"], **{column: 1 - y["event"]}).to_csv(turned, index=False)
    small = [f"--set={pair}" for pair in ("n_members=1", "max_epochs=2", "depth=1", "width=4")]
    common = ["--duration", "months", *small]
    fitted = survtrace("fit", plain, *common, "--event", "died", "--out", tmp_path / "a")
    assert fitted.code == 0, fitted.err
    told = ["--event", column, "--censored", "1", "--out", tmp_path / "b"]
    fitted = survtrace("fit", turned, *common, *told)
    assert fitted.code == 0, fitted.err
    scores = [
        json.loads(survtrace("evaluate", tmp_path / model, table, "--json").out)
        for model, table in (("a", plain), ("b", turned))
    ]
    for expected, seen in zip(*scores, strict=True):
        assert seen | {"cause": 0} == expected | {"cause": 0}
