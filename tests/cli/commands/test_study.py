"""Cohorts are listed as they are, and written to files that the other commands read."""

import errno
import json
import sys

import pandas as pd
import pytest
from matplotlib.figure import Figure

from survtrace import demo
from survtrace.cli.catalogue import DATASETS, load_dataset
from survtrace.cli.commands.study import STUDIES
from survtrace.errors import StorageError
from survtrace.study.presets import PRESETS
from survtrace.tables.files.formats import read_table


def test_demo_prints_scores_of_every_cause_and_writes_figures(survtrace, tmp_path, monkeypatch):
    settings = {"n_members": 1, "max_epochs": 1, "width": 4, "depth": 1, "hidden": 8}
    monkeypatch.setattr(
        "survtrace.demo.DEFAULTS", {**settings, "unknown_steps": 5, "verbose": False}
    )
    ended = survtrace("demo", "--out", tmp_path / "figures")
    assert ended.code == 0, ended.err
    for word in ("circulatory", "neoplasms", "respiratory", "other", "cause-specific Cox", "IBS"):
        assert word in ended.out
    written = {path.name: path.stat().st_size for path in (tmp_path / "figures").iterdir()}
    assert set(written) == {"curves.png", "importance.png", "calibration.png", "history.png"}
    assert min(written.values()) > 10_000


def test_demo_asks_for_matplotlib_before_the_fit(survtrace, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("survtrace.demo.run_demo", lambda *_: pytest.fail("the demo was begun"))
    code, _, err = survtrace("demo", "--out", tmp_path / "figures")
    assert code == 2
    assert "pip install 'survtrace[plots]'" in err


@pytest.mark.parametrize(
    ("command", "work"),
    [("demo", "survtrace.demo.run_demo"),
     ("figures", "survtrace.study.paper_figures.paper_figures")],
)  # fmt: skip
def test_a_folder_for_figures_that_cannot_be_is_refused_before_the_fit(
    survtrace, tmp_path, monkeypatch, command, work
):
    monkeypatch.setattr(work, lambda *_: pytest.fail("the fit was begun"))
    (tmp_path / "taken").write_text("years of work")
    code, _, err = survtrace(command, "--out", tmp_path / "taken")
    assert code == 2
    assert "cannot be written (Not a directory" in err


@pytest.mark.parametrize(("interrupted", "interval"), [(True, {}), (False, None)])
def test_a_demo_that_is_interrupted_in_its_fit_shows_nothing(
    survtrace, tmp_path, monkeypatch, interrupted, interval
):
    def broken_off(est, X, y):
        est.card_, est.interval_ = {"interrupted": interrupted}, interval
        est.history_ = pd.DataFrame({"improved": [True], "member": [0], "epoch": [0]})
        return est

    monkeypatch.setattr("survtrace.demo.SurvTRACE.fit", broken_off)
    ended = survtrace("demo", "--out", tmp_path / "figures")
    assert ended.code == 130
    assert "SurvTRACE" not in ended.out
    assert "interrupted" in ended.err
    assert not (tmp_path / "figures").exists()


def test_a_figure_that_was_broken_off_is_not_left_half_written(tmp_path, monkeypatch):
    def broken_off(figure, file, **_):
        file.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    names = ("patients", "importance", "calibration", "history")
    for name in names:
        monkeypatch.setattr(f"survtrace.demo._draw_{name}", lambda *_: Figure())
    monkeypatch.setattr(Figure, "savefig", broken_off)
    with pytest.raises(StorageError, match=r"curves\.png could not be written"):
        list(demo._draw(tmp_path, None, None, None, None))
    assert list(tmp_path.iterdir()) == []


def test_all_cohorts_are_listed(survtrace):
    shown = survtrace("datasets").out
    assert all(name in shown for name in DATASETS)
    listed = json.loads(survtrace("datasets", "--json").out)
    assert [each["name"] for each in listed] == list(DATASETS)


@pytest.mark.parametrize(
    "name",
    [
        *("flchain", "simulated", "linear", "nafld", "mgus", "pbc"),
        *("pbcseq", "heart", "mgus_age", "channing"),
    ],
)
def test_what_is_listed_of_a_cohort_is_so(name):
    X, y = load_dataset(name, 500)
    facts = DATASETS[name]
    assert len(X) == (facts.rows or 500)
    assert X.shape[1] == facts.covariates
    assert y["event"].loc[lambda event: event > 0].nunique() == facts.causes


def test_a_cohort_is_written_with_its_outcome(survtrace, tmp_path):
    out = tmp_path / "cohort.parquet"
    code, shown, err = survtrace("datasets", "simulated", "--rows", 50, "--out", out)
    assert (code, shown) == (0, "")
    assert "50 subjects" in err
    X, y = load_dataset("simulated", 50)
    table = read_table(out)
    assert list(table) == [*X, "duration", "event"]
    assert table["duration"].tolist() == y["duration"].tolist()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("late", "--duration duration --event event --entry entry"),
        ("changing", "--duration duration --event event --entry entry --id id"),
    ],
)
def test_a_cohort_is_written_with_entry_and_id(survtrace, tmp_path, name, options):
    out = tmp_path / "cohort.csv"
    code, _, err = survtrace("datasets", name, "--rows", 60, "--out", out)
    assert code == 0
    assert options in err
    X, y = load_dataset(name, 60)
    assert X.shape[1] == DATASETS[name].covariates
    assert len(read_table(out)) == len(y)
    assert survtrace("check", out, *options.split()).code == 0


def test_a_cohort_goes_into_a_pipe(survtrace):
    code, out, err = survtrace("-q", "datasets", "simulated", "--rows", 3, "--out", "-")
    assert (code, err, out.count("\n")) == (0, "", 4)


def test_a_cohort_is_described(survtrace):
    shown = survtrace("datasets", "flchain").out
    assert "7,874 subjects" in shown
    assert "0 (5,705), 1 (745)" in shown
    assert json.loads(survtrace("datasets", "flchain", "--json").out)["events"]["1"] == 745


def test_an_unknown_cohort_is_refused(survtrace):
    code, _, err = survtrace("datasets", "atlantis")
    assert code == 2
    assert "a cohort must be one of ['flchain'" in err


def test_every_study_is_offered():
    assert set(STUDIES) == set(PRESETS)


def test_benchmark_passes_on_what_it_is_told(survtrace, tmp_path, monkeypatch):
    told = []

    def run_study(*arguments, **options):
        told.append((arguments, options))
        return "| tables |"

    monkeypatch.setattr("survtrace.study.benchmark.run_study", run_study)
    ended = survtrace("benchmark", "ips", "--out", tmp_path, "--splits", 2, "--processes", 3)
    assert ended.out == "| tables |\n"
    switches = {"today": False, "search": False, "seer": None}
    assert told == [(("ips", tmp_path, 2, 3), switches)]


def test_figures_are_named(survtrace, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "survtrace.study.paper_figures.paper_figures", lambda *_: [tmp_path / "a.png"]
    )
    assert survtrace("figures", "--out", tmp_path) == (0, "", f"wrote {tmp_path / 'a.png'}\n")
