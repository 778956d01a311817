"""A fit with kernels and one without give the same losses and predictions, to rounding."""

import numpy as np
import pytest

from survtrace import SurvTRACE

LOSSES = ["survival_loss", "mortality_loss", "stay_loss", "validation_loss"]
# Measured over both numbers of causes and two seeds: losses differ by 3e-5 at most, predictions by
# 4e-5 (AdamW turns the rounding of small gradients into steps). A learning rate 1 % higher changes
# them by 1.8e-3 and 4e-4 at least.
TOLERANCE = {"rtol": 0, "atol": 1e-4}


@pytest.fixture(scope="module")
def settings(tiny):
    """Sizes that suit every kernel; dropout outside the encoder, as by default."""
    sizes = {"width": 16, "depth": 2, "hidden": 32}
    return {**tiny, **sizes, "max_epochs": 2, "unknown_steps": 10, "lr": 1e-4}


def fit_and_predict(settings, X, y):
    """Losses of each epoch and member, and incidences at three times."""
    est = SurvTRACE(**settings).fit(X, y)
    times = y["duration"].quantile([0.2, 0.5, 0.8])
    return est.history_[LOSSES].to_numpy(), est.predict_cumulative_incidence(X, times)


@pytest.mark.filterwarnings("ignore::survtrace.errors.DataWarning")  # of auxiliary tasks
@pytest.mark.parametrize(("n_causes", "late"), [(1, False), (2, False), (2, True)])
def test_kernels_do_not_change_a_fit(
    settings, draw_cohort, n_causes, late, kernels_run, without_kernels
):
    X, y = draw_cohort(200, n_causes)
    if late:
        y = y.assign(entry=np.where(X["age"] > 60, 0.5, 0.0) * y["duration"])
    assert X["size"].isna().any()
    assert {"sex", "stage"} <= set(X.columns)
    losses, incidence = fit_and_predict(settings, X, y)
    # Steps that learn what "missing" means come after the training.
    assert kernels_run.trained > settings["unknown_steps"]
    assert kernels_run.predicted
    kernels_run.trained = kernels_run.predicted = 0
    with without_kernels():
        expected = fit_and_predict(settings, X, y)
    assert kernels_run.trained == kernels_run.predicted == 0
    np.testing.assert_allclose(losses, expected[0], **TOLERANCE)
    np.testing.assert_allclose(incidence, expected[1], **TOLERANCE)


def test_the_tolerance_tells_a_learning_rate_that_is_one_percent_higher(settings, draw_cohort):
    X, y = draw_cohort(200, 2)
    one, other = (
        fit_and_predict({**settings, "lr": lr}, X, y)
        for lr in (settings["lr"], 1.01 * settings["lr"])
    )
    assert not np.allclose(one[0], other[0], **TOLERANCE)
    assert not np.allclose(one[1], other[1], **TOLERANCE)
