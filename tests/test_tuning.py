"""A search finds settings by inner folds, and goes on after a break."""

import json

import pytest

from survtrace import SettingError, SurvTRACE, tuning

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
