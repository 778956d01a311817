"""A study runs every job once, resumes after a kill, and tells the truth in its tables."""

import json
import time
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SettingError
from survtrace.baselines import AalenJohansen, CauseSpecificCox, CompetingRiskForest
from survtrace.datasets import make_cohort
from survtrace.study import benchmark, presets, protocol
from survtrace.study.presets import Preset, seeded, without_seed
from survtrace.study.protocol import Task, random_splits
from survtrace.study.runner import Job, run_jobs
from survtrace.study.scoring import score_predictions
from survtrace.study.setting_search import search_settings
from survtrace.study.tables import as_latex, as_markdown, compare_with, summarise

METHODS = {
    "SurvTRACE": partial(without_seed, CauseSpecificCox),
    "floor": partial(without_seed, AalenJohansen),
}


@pytest.fixture
def small_task():
    X, y, truth = make_cohort(
        400, linear=True, proportions=(0.4, 0.2), random_state=0, return_truth=True
    )
    return Task("small", X, y, random_splits(len(X), 3), truth=truth)


FOREST = partial(seeded, CompetingRiskForest, n_estimators=2)
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


def test_only_the_cohorts_of_table_2_are_scored_by_the_rule_of_scikit_survival(
    shared_data, monkeypatch
):
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(shared_data))
    protocol.load_task.cache_clear()
    names = ["metabric", "metabric:val", "support", "flchain", "linear"]
    found = [protocol.load_task(name).ties for name in names]
    assert found == ["scikit-survival"] * 3 + ["left-limit"] * 2


def test_a_task_says_how_its_scores_are_weighted(small_task):
    one_cause = small_task.y.assign(event=(small_task.y["event"] > 0).astype(int))
    years = np.ceil(small_task.y["duration"] / 12)
    times = {"horizons": np.array([2.0, 3.0, 4.0]), "grid": np.array([1.0, 2.0, 3.0, 4.0])}
    task = replace(small_task, y=one_cause.assign(duration=years), truth=None, **times)
    split = task.splits[0]
    n_times = sum(map(len, task.times(split)))
    incidence = np.tile(np.linspace(0.1, 0.5, n_times), (len(split.test), 1, 1))
    incidence += np.linspace(0, 0.1, len(split.test))[:, np.newaxis, np.newaxis]
    theirs = replace(task, ties="scikit-survival")
    left_limit, at_time = (score_predictions(incidence, each, split) for each in (task, theirs))
    moved = ["C50", "B50", "B75", "IBS"]
    assert (left_limit[moved] != at_time[moved]).all(axis=None)
    np.testing.assert_array_equal(left_limit["AJ"], at_time["AJ"])


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


def run_tiny(folder):
    run_jobs(JOBS, METHODS, folder, load=load_tiny)


def test_a_run_killed_in_the_middle_ends_with_the_same_scores(tmp_path):
    run_tiny(tmp_path / "whole")
    victim = get_context("fork").Process(target=run_tiny, args=(tmp_path / "killed",))
    victim.start()
    kept = tmp_path / "killed" / "jobs"
    while not list(kept.glob("*.json")):
        assert victim.is_alive()
        time.sleep(0.001)
    victim.kill()
    victim.join()
    assert not (tmp_path / "killed" / "scores.csv").exists(), "it ended before it was killed"
    run_tiny(tmp_path / "killed")
    whole, killed = (tmp_path / name / "scores.csv" for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()


def test_a_damaged_job_is_run_again(small_task, tmp_path):
    run_jobs(JOBS[:1], METHODS, tmp_path, load=lambda name: small_task)
    file = tmp_path / "jobs" / JOBS[0].file
    whole = json.loads(file.read_text())["scores"]
    for damage in ("", "[1]", '{"settings": {}}', file.read_text()[:-9]):
        file.write_text(damage)
        run_jobs(JOBS[:1], METHODS, tmp_path, load=lambda name: small_task)
        assert json.loads(file.read_text())["scores"] == whole


def test_an_interrupted_fit_is_no_result(small_task, tmp_path):
    class Interrupted(CauseSpecificCox):
        @property
        def card_(self):
            return {"interrupted": True}

    methods = {**METHODS, "SurvTRACE": partial(without_seed, Interrupted)}
    with pytest.raises(KeyboardInterrupt):
        run_jobs(JOBS[:1], methods, tmp_path, load=lambda name: small_task)
    assert list((tmp_path / "jobs").iterdir()) == []


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
    shown = as_markdown(summary, ("C25", "IBS"))
    assert "| a | **0.7500 (0.071)** | 0.2000 (0.000) | 1.5 |" in shown
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
    shown = benchmark.run_study("tiny", tmp_path, n_splits=2, load=lambda name: small_task)
    assert "**small, cause 1**" in shown
    assert "difference to SurvTRACE (corrected t, p)" in shown
    written = {path.name for path in tmp_path.iterdir()}
    tables = {"comparison.csv", "tables.md", "tables.tex"}
    assert written >= {"scores.csv", "timings.csv", "settings.json", *tables}


def test_a_study_that_searches_uses_what_it_found(small_task, tmp_path, monkeypatch):
    methods = {"SurvTRACE": METHODS["SurvTRACE"], "forest": FOREST}
    monkeypatch.setitem(presets.PRESETS, "tiny", Preset(("small",), methods, ("IBS",)))
    load = {"small": small_task, "small:val": small_task.for_search()}.__getitem__
    benchmark.run_study("tiny", tmp_path, n_splits=1, search=True, load=load)
    chosen = json.loads((tmp_path / "settings.json").read_text())["small"]
    assert (
        chosen["forest"]["min_samples_leaf"] in CompetingRiskForest.search_space["min_samples_leaf"]
    )
    job = json.loads(next((tmp_path / "jobs").glob("*forest*")).read_text())
    assert job["settings"] == chosen["forest"]


def test_peers_come_on_demand(small_task, tmp_path, monkeypatch):
    preset = Preset(("small",), METHODS, ("IBS",), peers={"peer": METHODS["floor"]})
    monkeypatch.setitem(presets.PRESETS, "tiny", preset)
    run = partial(benchmark.run_study, "tiny", n_splits=2, load=lambda name: small_task)
    assert "peer" not in run(tmp_path)
    assert "peer" in run(tmp_path, today=True)


def test_a_job_of_other_settings_is_run_again(small_task, tmp_path):
    jobs, load = JOBS[:1], lambda name: small_task
    default = run_jobs(jobs, METHODS, tmp_path, load=load)
    settings = {"small": {"SurvTRACE": {"ridge": 1e6}}}
    shrunk = run_jobs(jobs, METHODS, tmp_path, settings=settings, load=load)
    assert (shrunk["IBS"] > default["IBS"]).all()


def test_what_the_paper_printed_stands_beside():
    scores = pd.DataFrame(
        {"data": "metabric", "cause": 1, "method": ["SurvTRACE", "mine"], "split": 0, "C25": 0.7}
    )
    assert "| SurvTRACE | **0.7000** | 1.0 | 0.728 |" in as_markdown(summarise(scores), ("C25",))


def test_a_search_looks_at_no_test_row_and_finds_the_better(small_task, tmp_path, monkeypatch):
    hidden = small_task.for_search()
    for search_split, split in zip(hidden.splits, small_task.splits, strict=True):
        assert not set(search_split.test) & set(split.test)
        assert not set(search_split.learn) & set(split.test)
    monkeypatch.setattr(CauseSpecificCox, "search_space", {"ridge": (1e6, 1.0)})
    best = search_settings("small", METHODS, tmp_path, load=lambda name: hidden)
    assert best == {"SurvTRACE": {"ridge": 1.0}}
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
    assert "CS-CPH: ridge 1 for cause 1, 1 for cause 2." in shown


def test_scores_of_another_table_are_not_taken_for_those_of_this(tmp_path):
    def compared(seed, folder):
        X, y = make_cohort(200, linear=True, proportions=(0.4, 0.2), random_state=seed)
        X.assign(months=y["duration"], cause=y["event"]).to_csv(tmp_path / "own.csv", index=False)
        methods = {"SurvTRACE": partial(without_seed, AalenJohansen)}
        asked = {"duration": "months", "event": "cause", "n_splits": 2, "methods": methods}
        benchmark.compare_on_table(tmp_path / "own.csv", tmp_path / folder, **asked)
        return (tmp_path / folder / "scores.csv").read_text()

    first = compared(0, "out")
    assert compared(1, "out") == compared(1, "other") != first
    jobs = sorted((tmp_path / "out" / "jobs").iterdir())
    written = [file.stat().st_mtime_ns for file in jobs]
    assert compared(0, "out") == first  # what was found on it is still there
    assert [file.stat().st_mtime_ns for file in jobs] == written


def test_a_table_of_ones_own_gets_a_searched_cox_and_a_forest_or_a_word_why_not(monkeypatch):
    methods, left_out = benchmark._baselines(1000)
    assert list(methods) == ["SurvTRACE", "Aalen-Johansen", "CS-CPH", "CS-RSF"]
    assert left_out == []
    cox = methods["CS-CPH"](0, **presets.OWN_TABLE["CS-CPH"])
    assert cox.settings["ridge"] == "search"
    assert cox.settings["pool_below"] > 1
    assert hasattr(methods["CS-RSF"](0, **presets.OWN_TABLE["CS-RSF"]), "fit")
    methods, left_out = benchmark._baselines(benchmark.MOST_FOREST_ROWS + 1)
    assert "CS-RSF" not in methods
    assert "is left out: the table has 50,001 rows" in left_out[0]
    monkeypatch.setattr(benchmark, "find_spec", lambda name: None)
    assert "it needs scikit-survival" in benchmark._baselines(1000)[1][0]


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_every_method_of_a_study_can_be_made_from_a_seed(name):
    preset = presets.PRESETS[name]
    for make in {**preset.methods, **preset.peers}.values():
        assert hasattr(make(0), "predict_cumulative_incidence")


def load_tiny(name):
    X, y = make_cohort(200, linear=True, proportions=(0.4, 0.2), random_state=2)
    return Task(name, X, y, random_splits(len(X), 3))


def test_two_processes_give_the_scores_of_one(tmp_path):
    one = run_jobs(JOBS, METHODS, tmp_path / "one", load=load_tiny)
    two = run_jobs(JOBS, METHODS, tmp_path / "two", load=load_tiny, n_processes=2)
    pd.testing.assert_frame_equal(one, two)
