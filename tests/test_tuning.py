"""A search finds settings by inner folds, and goes on after a break."""

import json

import numpy as np
import pytest
from sklearn.model_selection import KFold

from survtrace import SavedFileError, SettingError, StorageError, SurvTRACE, tuning
from survtrace.datasets import make_changing_cohort
from survtrace.folder_lock import only_writer

optuna = pytest.importorskip("optuna")

FIXED = {
    "n_members": 1,
    "width": 8,
    "depth": 1,
    "hidden": 8,
    "n_heads": 2,
    "max_epochs": 1,
    "unknown_steps": 5,
    "device": "cpu",
}


@pytest.fixture
def search(one_cause, tmp_path):
    return lambda n_trials: tuning.tune(
        *one_cause, tmp_path, space="paper", n_trials=n_trials, n_folds=2, fixed=FIXED
    )


def trials_in(folder):
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(folder / "trials.log"))
    )
    return optuna.load_study(study_name="paper", storage=storage).trials


def test_it_writes_settings_the_estimator_takes(search, tmp_path, one_cause):
    best = search(2)
    assert best["hidden"] == 8
    assert json.loads((tmp_path / "settings.json").read_text()) == best
    SurvTRACE(**best, random_state=0, verbose=False).fit(*one_cause)


def test_a_second_call_goes_on_where_the_first_ended(search, tmp_path):
    search(2)
    assert len(trials_in(tmp_path)) == 2
    search(3)
    assert len(trials_in(tmp_path)) == 3
    search(3)
    assert len(trials_in(tmp_path)) == 3


@pytest.mark.parametrize("change", ["outcome", "covariates", "folds", "fixed"])
def test_a_search_on_other_data_is_not_gone_on_with(search, tmp_path, one_cause, change):
    before = search(1)
    X, y = one_cause
    asked = {"space": "paper", "n_trials": 1, "n_folds": 2, "fixed": FIXED}
    if change == "outcome":
        y = y.assign(duration=y["duration"] + 1.0)
    elif change == "covariates":
        X = X.iloc[:, 1:]
    else:
        asked |= {"n_folds": 3} if change == "folds" else {"fixed": {**FIXED, "max_epochs": 2}}
    with pytest.raises(SettingError, match=r"holds a search on other data, .* delete this one"):
        tuning.tune(X, y, tmp_path, **asked)
    assert json.loads((tmp_path / "settings.json").read_text()) == before


def test_a_line_that_a_power_cut_left_half_written_is_cut_off(search, tmp_path):
    search(2)
    journal = tmp_path / "trials.log"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"op_code":4,"worker')
    search(3)
    assert journal.read_bytes().startswith(whole)
    assert len(trials_in(tmp_path)) == 3


def test_an_interrupted_fit_is_no_trial(search, tmp_path, monkeypatch):
    def interrupted(est, X, y):
        est.card_ = {"interrupted": True}

    with monkeypatch.context() as patch:
        patch.setattr(SurvTRACE, "fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search(2)
    assert not (tmp_path / "settings.json").exists()


def test_two_searches_in_one_folder_are_refused(search, tmp_path):
    with only_writer(tmp_path), pytest.raises(StorageError, match="is in use by process"):
        search(1)


def test_the_best_has_the_lowest_loss(search, tmp_path):
    best = search(3)
    lowest = min(trials_in(tmp_path), key=lambda trial: trial.value)
    assert lowest.user_attrs["settings"] == best


def test_the_paper_space_is_the_paper_grid():
    trial = optuna.trial.FixedTrial(
        {
            "lr": 1e-4,
            "weight_decay": 0.0,
            "depth": 4,
            "width": 8,
            "hidden": 32,
            "n_heads": 4,
            "head_depth": 1,
        }
    )
    assert tuning.paper_space(trial)["lr"] == 1e-4


def test_an_unknown_space_is_refused(one_cause, tmp_path):
    with pytest.raises(SettingError, match=r"space must be one of \['paper', 'wide'\]"):
        tuning.tune(*one_cause, tmp_path, space="outer")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_trials": 0}, "n_trials must be a whole number of at least 1; got 0"),
        ({"n_folds": 1}, "n_folds must be a whole number of at least 2; got 1"),
        ({"n_folds": 1000}, "n_folds must be at most the number of subjects"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "today"}, "random_state must be a whole number .*; got 'today'"),
        ({"fixed": {"width": 16, "n_members": 0}}, "n_members must be a whole number"),
        ({"fixed": {"breadth": 8}}, "fixed must be a mapping from settings of SurvTRACE"),
        ({"fixed": {"random_state": 1}}, "fixed must be .* but for random_state"),
        ({"fixed": {"time_grid": np.array([1.0, 2.0])}}, "to values that JSON can hold"),
        ({"space": ["paper"]}, "space must be one of"),
    ],
    ids=str,
)
def test_what_breaks_a_rule_is_named_before_anything_is_fitted(
    one_cause, tmp_path, monkeypatch, wrong, message
):
    monkeypatch.setattr(SurvTRACE, "fit", None)
    with pytest.raises(SettingError, match=message):
        tuning.tune(*one_cause, tmp_path, **{"n_trials": 1, **wrong})


def test_a_damaged_journal_is_named(search, tmp_path):
    (tmp_path / "trials.log").write_text("no journal\n")
    with pytest.raises(SavedFileError, match=r"trials\.log is not a readable search .* Delete it"):
        search(1)


def test_mappings_are_searched_as_frames_are(search, tmp_path, one_cause):
    X, y = one_cause
    as_mappings = X.to_dict("list"), y[["event", "duration"]].to_dict("list")
    asked = {"space": "paper", "n_trials": 1, "n_folds": 2, "fixed": FIXED}
    assert tuning.tune(*as_mappings, tmp_path / "mappings", **asked) == search(1)


def test_rows_of_a_subject_stay_on_one_side_of_every_fold():
    _, y = make_changing_cohort(60, proportions=(0.5, 0.3), random_state=0)
    folds = tuning.inner_folds(y, 3, random_state=0)
    held_out = [set(y["id"].iloc[rows]) for _, rows in folds]
    for (learn, held), subjects in zip(folds, held_out, strict=True):
        assert not subjects & set(y["id"].iloc[learn])
        assert len(learn) + len(held) == len(y)
    assert set.union(*held_out) == set(y["id"])
    assert sum(map(len, held_out)) == 60


def test_folds_of_ordinary_tables_are_those_of_scikit_learn(one_cause):
    y = one_cause[1]
    ours = tuning.inner_folds(y, 3, random_state=1)
    theirs = KFold(3, shuffle=True, random_state=1).split(y)
    for found, expected in zip(ours, theirs, strict=True):
        for side, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(side, other)


def test_start_stop_rows_are_searched_by_their_score_at_landmarks(tmp_path):
    X, y = make_changing_cohort(150, proportions=(0.5, 0.3), random_state=0)
    fixed = {**FIXED, "stay_weight": 0.0, "mortality_weight": 0.0}
    best = tuning.tune(X, y, tmp_path, space="paper", n_trials=1, n_folds=2, fixed=fixed)
    assert best["hidden"] == 8
    assert 0 < trials_in(tmp_path)[0].value < 0.25
