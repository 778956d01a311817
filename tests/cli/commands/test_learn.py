"""fit gives the estimator that Python gives; compare and tune pass on what they are told."""

import io
import json
import os
import shutil
import signal
import sys
import time

import numpy as np
import pytest

from survtrace import SurvTRACE, load
from survtrace.tables.files.reading import Reading
from survtrace.training.history import History

OUTCOME = ("--duration", "months", "--event", "cause")


@pytest.fixture
def small(tiny):
    """The settings of a tiny estimator as options."""
    return [option for name, value in tiny.items() for option in ("--set", f"{name}={value}")]


def test_fit_saves_the_estimator_that_python_fits(
    survtrace, table, tmp_path, small, three_causes, fitted_three
):
    ended = survtrace("fit", table, *OUTCOME, "--id", "patient", "--out", tmp_path / "m", *small)
    assert ended.code == 0, ended.err
    X, _ = three_causes
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), fitted_three.predict(X))
    assert "subjects: 240; covariates: 4" in ended.out
    assert "of cause 3" in ended.out


def test_a_prediction_in_python_takes_the_table_of_the_command(
    survtrace, table, patients, tmp_path, small
):
    survtrace("fit", table, *OUTCOME, "--id", "patient", "--out", tmp_path / "m", *small)
    est = load(tmp_path / "m")
    assert est.encoding_.left_out == ("months", "cause", "patient")
    np.testing.assert_array_equal(
        est.predict(patients), est.predict(patients[[*est.feature_names_in_]])
    )
    facts = json.loads(survtrace("info", tmp_path / "m", "--json").out)
    assert facts["columns"] == {"duration": "months", "event": "cause"}
    assert facts["left_out"] == ["patient"]


def test_the_model_remembers_no_identifier(survtrace, table, tmp_path, small):
    survtrace("fit", table, *OUTCOME, "--id", "patient", "--out", tmp_path / "m", *small)
    assert all(b"Jane Doe" not in file.read_bytes() for file in (tmp_path / "m").iterdir())


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_a_forgotten_identifier_is_pointed_out(survtrace, table, tmp_path, small):
    ended = survtrace("fit", table, *OUTCOME, "--out", tmp_path / "m", *small)
    assert ended.code == 0
    assert "left out: patient (" in ended.err
    assert "--use" in ended.err
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["age", "size", "sex", "stage"]


def test_dropped_columns_and_codes(survtrace, patients, tmp_path, small):
    coded = patients.assign(stage=patients["stage"].cat.codes)
    coded.to_parquet(tmp_path / "t.parquet")
    options = ("--id", "patient", "--drop", "size", "--categorical", "stage", *small)
    ended = survtrace("fit", tmp_path / "t.parquet", *OUTCOME, "--out", tmp_path / "m", *options)
    assert ended.code == 0, ended.err
    encoding = load(tmp_path / "m").encoding_
    kinds = {covariate.name: covariate.kind for covariate in encoding.covariates}
    assert kinds == {"age": "numerical", "sex": "categorical", "stage": "categorical"}


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_fit_streams_a_folder_and_a_file_if_asked(survtrace, patients, tmp_path, small):
    coded = patients.assign(stage=patients["stage"].cat.codes)
    (tmp_path / "t").mkdir()
    for first in (0, 100):
        last = 100 if first == 0 else None
        coded[first:last].to_parquet(tmp_path / "t" / f"{first}.parquet", index=False)
    coded.to_parquet(tmp_path / "t.parquet")
    options = (*OUTCOME, "--drop", "size", "--categorical", "stage", *small)
    told = [
        survtrace("fit", tmp_path / "t", *options, "--out", tmp_path / "a", "--id", "patient"),
        survtrace("fit", tmp_path / "t.parquet", "--stream", *options, "--out", tmp_path / "b"),
    ]
    assert [ended.code for ended in told] == [0, 0], told
    assert "subjects: 240; covariates: 3" in told[0].out
    assert "left out: patient (" in told[1].err
    a, b = load(tmp_path / "a"), load(tmp_path / "b")
    assert a.encoding_.as_dict().keys() == {"age", "sex", "stage"}
    assert a.encoding_.columns[-1].levels == ("0", "1", "2")
    assert a.time_grid_.tolist() == b.time_grid_.tolist()


def test_only_parquet_can_be_streamed(survtrace, table, tmp_path):
    code, _, err = survtrace("fit", table, *OUTCOME, "--stream", "--out", tmp_path / "m")
    assert code == 2
    assert "fit reads a Parquet file or a folder of them" in err


def test_fit_reads_a_pipe_and_prints_json(survtrace, table, tmp_path, small, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    options = ("--drop", "patient", "--out", tmp_path / "m", "--json", "--quiet")
    code, out, err = survtrace("fit", "-", *OUTCOME, *options, *small)
    assert (code, err) == (0, "")
    learned = json.loads(out)
    assert learned["rows"] == learned["subjects"] == 240
    assert learned["subjects"] == learned["censored"] + sum(learned["events"].values())


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
@pytest.mark.parametrize("place", ["before", "behind"])
def test_quiet_says_nothing_wherever_it_stands(survtrace, table, tmp_path, small, place):
    options = ("fit", table, *OUTCOME, "--out", tmp_path / "m", *small)
    arguments = ("--quiet", *options) if place == "before" else (*options, "-q")
    assert survtrace(*arguments) == (0, "", "")


def test_settings_that_tune_found_are_read_by_fit(survtrace, table, tmp_path, tiny, monkeypatch):
    def search(X, y, folder, *, space, n_trials):
        assert (space, n_trials, "patient" in X) == ("paper", 7, False)
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(tiny))
        return tiny

    monkeypatch.setattr("survtrace.tuning.tune", search)
    options = ("--id", "patient", "--out", tmp_path / "found", "--trials", 7, "--space", "paper")
    ended = survtrace("tune", table, *OUTCOME, *options)
    assert json.loads(ended.out) == tiny
    config = ("--config", tmp_path / "found" / "settings.json", "--set", "depth=2", "--seed", 9)
    config = (*config, "--id", "patient")
    ended = survtrace("-q", "fit", table, *OUTCOME, "--out", tmp_path / "m", *config)
    assert ended.code == 0, ended.err
    settings = SurvTRACE(**{**tiny, "depth": 2, "random_state": 9}).get_params()
    assert load(tmp_path / "m").get_params() == settings


def test_a_folder_of_something_else_is_left_alone_before_anything_is_read(survtrace, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("")
    code, _, err = survtrace("fit", "nowhere.csv", *OUTCOME, "--out", tmp_path / "thesis")
    assert code == 2
    assert "holds no saved estimator; it is left alone" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--duration", "month", "--event", "cause"), "did you mean 'months'?"),
        (("--duration", "sex", "--event", "cause"), "duration must be a number; 240 of 240"),
        ((*OUTCOME, "--drop", "weight"), "no column 'weight'"),
        ((*OUTCOME, "--categorical", "weight"), "['weight'] are not among"),
        ((*OUTCOME, "--use", "agee"), "did you mean 'age'?"),
        ((*OUTCOME, "--cause-name", "relapse"), "--cause-name takes LABEL=TEXT"),
        ((*OUTCOME, "--cause-name", "9=relapse"), "'9' is none"),
        ((*OUTCOME, "--about", "date=2004"), "no topic 'date'; did you mean 'dates'?"),
        ((*OUTCOME, "--about", "2004"), "--about takes TOPIC=TEXT"),
        ((*OUTCOME, "--decimal", ";"), "--decimal must be . or ,"),
        ((*OUTCOME, "--set", "lr=fast"), "lr must be a number above 0"),
    ],
)
def test_mistakes_are_named(survtrace, table, tmp_path, options, words):
    code, out, err = survtrace("fit", table, *options, "--out", tmp_path / "m", "--id", "patient")
    assert (code, out) == (2, "")
    assert words in err.replace("\n", " ")
    assert not (tmp_path / "m").exists()


def test_an_interrupted_fit_leaves_no_model(survtrace, table, tmp_path, small, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("survtrace.training.fit.train", interrupt)
    options = ("--id", "patient", "--out", tmp_path / "m")
    assert survtrace("fit", table, *OUTCOME, *options, *small).code == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.csv"]


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C at the end of the first epoch."""
    add = History.add

    def interrupt(self, epoch, *details):
        add(self, epoch, *details)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    monkeypatch.setattr(History, "add", interrupt)


@pytest.mark.filterwarnings("default::UserWarning")
def test_an_interrupt_replaces_no_finished_model(
    survtrace, model, table, tmp_path, small, interrupted
):
    out = tmp_path / "m"
    shutil.copytree(model, out)
    options = ("--id", "patient", "--out", out, "--force", "--hold-out", "0.25", *small)
    code, shown, err = survtrace("fit", table, *OUTCOME, *options)
    assert (code, shown) == (130, "")
    assert f"interrupted after 1 epoch(s); what was learned is in {out}.interrupted" in err
    assert load(out).card_["interrupted"] is False
    unfinished = tmp_path / "m.interrupted"
    assert load(unfinished).card_["interrupted"] is True
    assert "interrupted" in survtrace("info", unfinished).out
    held_out = tmp_path / "m.interrupted-held-out.csv"
    assert "was interrupted before training" in survtrace("evaluate", unfinished, held_out).err


@pytest.mark.parametrize("splits", ["0", "1"])
def test_too_few_splits_are_the_users_mistake(survtrace, table, tmp_path, splits):
    options = ("--splits", splits, "--out", tmp_path / "c")
    code, _, err = survtrace("compare", table, *OUTCOME, *options)
    assert code == 2
    assert "--splits" in err


def test_compare_passes_on_what_it_is_told(survtrace, table, tmp_path, monkeypatch):
    told = {}

    def compare(path, folder, **options):
        told.update(options, path=path)
        folder.mkdir()
        (folder / "comparison.csv").write_text("method,p\nCS-CPH,\n")
        return "[the tables]"

    monkeypatch.setattr("survtrace.study.benchmark.compare_on_table", compare)
    options = ["--id", "patient", "--drop", "size", "--categorical", "stage", "--splits", 2]
    options += ["--sep", ";", "--decimal", ",", "--missing", "?", "--encoding", "cp1252"]
    options += ["--sheet", "2", "--censored", "alive", "--use", "age"]
    ended = survtrace("compare", table, *OUTCOME, *options, "--out", tmp_path / "c")
    assert ended.out == "[the tables]\n"
    assert told == {
        "path": table,
        "duration": "months",
        "event": "cause",
        "drop": ["patient", "size"],
        "categorical": ["stage"],
        "reading": Reading(sep=";", decimal=",", missing=("?",), encoding="cp1252", sheet=2),
        "censored": ["alive"],
        "columns": {"age": {"kind": "covariate"}},
        "n_splits": 2,
    }
    ended = survtrace("compare", table, *OUTCOME, "--out", tmp_path / "again", "--json")
    assert json.loads(ended.out) == [{"method": "CS-CPH", "p": None}]


@pytest.mark.filterwarnings("default::survtrace.DataWarning")
def test_names_units_and_labels_are_kept_in_the_model(survtrace, patients, tmp_path, small):
    labels = {0: "well", 1: "relapse", 2: "death", 3: "other"}
    coded = patients.assign(cause=patients["cause"].map(labels))
    coded.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    (tmp_path / "d.csv").write_text("name,kind,unit,label\nage,numerical,years,Age at entry\n")
    options = ["--censored", "well", "--time-unit", "months", "--cause-name", "other=other death"]
    options += ["--columns", tmp_path / "d.csv", "--hold-out", "0.25", "--out", tmp_path / "m"]
    ended = survtrace("fit", tmp_path / "t.csv", *OUTCOME, "--id", "patient", *options, *small)
    assert ended.code == 0, ended.err
    assert "of other death" in ended.out
    est = load(tmp_path / "m")
    assert "well" in est.censored_
    assert est.time_unit_ == "months"
    assert est.covariate_labels_["age"] == "Age at entry (years)"
    shown = survtrace("info", tmp_path / "m").out
    for words in ("other death", "months", "years", "--event cause"):
        assert words in shown
    ended = survtrace("evaluate", tmp_path / "m", tmp_path / "m-held-out.csv")
    assert (ended.code, ended.err) == (0, "")
    assert "horizon (months)" in ended.out
