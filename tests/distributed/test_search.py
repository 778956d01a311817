"""Many trials at a time; a search goes on, whoever began it."""

import json

import pytest

from survtrace import SettingError, tuning

pytest.importorskip("ray", reason="needs ray: pip install 'survtrace[distributed]'")
optuna = pytest.importorskip("optuna")

from survtrace.distributed import tune  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),
    pytest.mark.xdist_group("ray"),
]
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
ASKED = {"space": "paper", "n_folds": 2, "fixed": FIXED}


def test_it_scores_as_one_process_does_and_goes_on(cluster, one_cause, tmp_path):
    best = tune(*one_cause, tmp_path, n_trials=2, **ASKED)
    assert json.loads((tmp_path / "settings.json").read_text()) == best
    trials = tuning.open_study(tmp_path, "paper", 0).trials
    assert [trial.state.name for trial in trials] == ["COMPLETE", "COMPLETE"]
    folds = tuning.inner_folds(one_cause[1], 2, 0)
    for trial in trials:
        settings = trial.user_attrs["settings"]
        *_, loss = tuning.mean_losses(*one_cause, folds, settings, 0)
        assert trial.value == pytest.approx(loss, abs=1e-6)
    tuning.tune(*one_cause, tmp_path, n_trials=3, **ASKED)
    assert tune(*one_cause, tmp_path, n_trials=3, **ASKED) in [
        trial.user_attrs["settings"] for trial in tuning.open_study(tmp_path, "paper", 0).trials
    ]
    assert tuning.count_done(tuning.open_study(tmp_path, "paper", 0)) == 3


def test_an_unknown_space_is_refused(one_cause, tmp_path):
    with pytest.raises(SettingError, match=r"space must be one of \['paper', 'wide'\]"):
        tune(*one_cause, tmp_path, space="outer")
