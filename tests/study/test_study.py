"""A study runs every job once, resumes after a kill, and tells the truth in its tables."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SettingError
from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.datasets import make_cohort
from survtrace.study import benchmark, presets, protocol
from survtrace.study.presets import Preset, without_seed
from survtrace.study.protocol import Task, random_splits
from survtrace.study.runner import Job, run_jobs
from survtrace.study.search import search_settings
from survtrace.study.tables import as_latex, as_markdown, compare_with, summarise

METHODS = {
    "SurvTRACE": partial(without_seed, CauseSpecificCox),
    "floor": partial(without_seed, AalenJohansen),
}


@pytest.fixture
def small_task(monkeypatch):
    X, y, truth = make_cohort(
        400, linear=True, proportions=(0.4, 0.2), random_state=0, return_truth=True
    )
    task = Task("small", X, y, random_splits(len(X), 3), truth=truth)
    monkeypatch.setattr(presets, "load_task", lambda name: task)
    monkeypatch.setattr(benchmark, "run_jobs", partial(run_jobs, load=lambda name: task))
    return task


JOBS = [Job("small", method, split) for method in METHODS for split in range(3)]


def test_every_subject_is_in_one_part_of_a_split():
    for split in random_splits(101, 4):
        everyone = np.concatenate([split.learn, split.test])
        assert sorted(everyone) == list(range(101))


def test_splits_are_the_same_each_time_and_differ_from_each_other():
    first, again = (random_splits(50, 2) for _ in range(2))
    np.testing.assert_array_equal(first[1].test, again[1].test)
    assert set(first[0].test) != set(first[1].test)


def test_unknown_data_are_refused():
    with pytest.raises(DataError, match=r"data must be one of .*'flchain'.* got 'atlantis'"):
        protocol.load_task("atlantis")


def test_missing_split_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    protocol.load_task.cache_clear()
    with pytest.raises(DataError, match=r"splits_flchain\.npz.*Set SURVTRACE_DATA_HOME"):
        protocol.load_task("flchain")


def test_horizons_come_from_training_rows_alone(small_task):
    split = small_task.splits[0]
    horizons, grid = small_task.times(split)
    small_task.y.loc[small_task.y.index[split.test], "duration"] = 1.0
    again = small_task.times(split)
    np.testing.assert_array_equal(horizons, again[0])
    np.testing.assert_array_equal(grid, again[1])


def test_scores_have_a_row_for_each_job_and_cause(small_task, tmp_path):
    scores = run_jobs(JOBS, METHODS, tmp_path, load=lambda name: small_task)
    assert len(scores) == 2 * 3 * 2
    floor = scores[scores["method"] == "floor"]
    assert (floor[["C25", "C50", "C75"]] == 0.5).all(axis=None)
    cox = scores[scores["method"] == "SurvTRACE"]
    assert cox["IBS"].mean() < floor["IBS"].mean()
    assert cox["truth"].mean() < floor["truth"].mean()


def test_a_run_broken_off_goes_on_and_ends_with_the_same_scores(small_task, tmp_path):
    load = lambda name: small_task  # noqa: E731
    run_jobs(JOBS, METHODS, tmp_path / "whole", load=load)

    def broken(seed):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(JOBS, {**METHODS, "floor": broken}, tmp_path / "resumed", load=load)
    done = {path.name for path in (tmp_path / "resumed" / "jobs").iterdir()}
    assert len(done) == 3
    refused = {**METHODS, "SurvTRACE": broken}  # what is done is not run again
    run_jobs(JOBS, refused, tmp_path / "resumed", load=load)
    whole, resumed = (tmp_path / name / "scores.csv" for name in ("whole", "resumed"))
    assert whole.read_bytes() == resumed.read_bytes()


def test_ranks_and_bold_go_to_the_best():
    scores = pd.DataFrame(
        {
            "data": "d",
            "cause": 1,
            "method": ["a", "a", "b", "b"],
            "split": [0, 1, 0, 1],
            "C25": [0.7, 0.8, 0.6, 0.6],
            "IBS": [0.2, 0.2, 0.1, 0.12],
        }
    )
    summary = summarise(scores)
    assert summary["C25 rank"].tolist() == [1, 2]
    assert summary["IBS rank"].tolist() == [2, 1]
    assert "| a | **0.7500 (0.071)** | 0.2000 (0.000) |" in as_markdown(summary, ("C25", "IBS"))
    assert r"\textbf{0.1100 (0.014)}" in as_latex(summary, ("C25", "IBS"))


def test_differences_are_paired_by_split():
    rng = np.random.default_rng(0)
    base = rng.normal(0.7, 0.05, 10)
    scores = pd.concat(
        pd.DataFrame({"data": "d", "cause": 1, "method": method, "split": range(10), "C25": values})
        for method, values in {
            "SurvTRACE": base,
            "worse": base - 0.02 + rng.normal(0, 0.001, 10),
        }.items()
    )
    found = compare_with(scores).iloc[0]
    assert found["difference"] == pytest.approx(-0.02, abs=0.002)
    assert found["p"] < 1e-4


def test_a_study_writes_its_tables(small_task, tmp_path, monkeypatch):
    monkeypatch.setitem(
        presets.PRESETS, "tiny", Preset(("small",), METHODS, ("C50", "IBS", "truth"))
    )
    shown = benchmark.run_study("tiny", tmp_path, n_splits=2)
    assert "**small, cause 1**" in shown
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"scores.csv", "timings.csv", "comparison.csv", "tables.md", "tables.tex"}


def test_a_search_looks_at_no_test_row_and_finds_the_better(small_task, tmp_path):
    hidden = small_task.for_search()
    for search_split, split in zip(hidden.splits, small_task.splits, strict=True):
        assert not set(search_split.test) & set(split.test)
        assert not set(search_split.learn) & set(split.test)
    spaces = {"cox": (partial(without_seed, CauseSpecificCox), {"ridge": (1e6, 1.0)})}
    best = search_settings("small", spaces, tmp_path, load=lambda name: hidden)
    assert best == {"cox": {"ridge": 1.0}}
    assert json.loads((tmp_path / "settings.json").read_text()) == best


def test_an_unknown_study_is_refused(tmp_path):
    with pytest.raises(SettingError, match=r"the study must be one of .*'ips'.* got 'nope'"):
        benchmark.run_study("nope", tmp_path)


def test_a_table_of_ones_own_gets_tables_and_a_verdict(tmp_path):
    X, y = make_cohort(400, linear=True, proportions=(0.4, 0.2), random_state=1)
    X.assign(months=y["duration"], cause=y["event"]).to_csv(tmp_path / "own.csv", index=False)
    shown = benchmark.compare_on_table(
        tmp_path / "own.csv",
        tmp_path / "out",
        duration="months",
        event="cause",
        n_splits=2,
        methods={
            "SurvTRACE": partial(without_seed, AalenJohansen),
            "CS-CPH": partial(without_seed, CauseSpecificCox),
        },
    )
    assert "**own, cause 2**" in shown
    assert "SurvTRACE's integrated Brier score is" in shown
    assert "% higher than CS-CPH's" in shown


@pytest.mark.parametrize("name", ["paper-single", "paper-competing", "ablation", "ips"])
def test_every_method_of_a_study_can_be_made_from_a_seed(name):
    for make in presets.PRESETS[name].methods.values():
        assert hasattr(make(0), "predict_cumulative_incidence")


def load_tiny(name):
    X, y = make_cohort(200, linear=True, proportions=(0.4, 0.2), random_state=2)
    return Task(name, X, y, random_splits(len(X), 3))


def test_two_processes_give_the_scores_of_one(tmp_path):
    one = run_jobs(JOBS, METHODS, tmp_path / "one", load=load_tiny)
    two = run_jobs(JOBS, METHODS, tmp_path / "two", load=load_tiny, n_processes=2)
    pd.testing.assert_frame_equal(one, two)
