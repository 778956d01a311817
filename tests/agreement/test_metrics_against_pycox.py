"""Antolini's concordance equals pycox's, under each of its two rules for ties."""

import warnings

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pycox.evaluation.concordance import concordance_td

from survtrace.metrics import concordance_antolini

TIMES = np.linspace(0, 8, 9)


def both(event, duration, incidence, method):
    column = np.searchsorted(TIMES, duration, side="right") - 1
    ours = concordance_antolini({"event": event, "duration": duration}, incidence, TIMES)
    return ours, concordance_td(duration, event, 1 - incidence.T, column, method)


@pytest.mark.parametrize("seed", range(4))
def test_equals_antolini_with_tied_times_and_distinct_predictions(seed):
    rng = np.random.default_rng(seed)
    event, duration = rng.integers(0, 2, 120), rng.integers(1, 12, 120).astype(float)
    ours, theirs = both(event, duration, np.sort(rng.random((120, 9))), "antolini")
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_adjusted_rule_with_distinct_times_and_tied_predictions(seed):
    rng = np.random.default_rng(seed)
    event, duration = (rng.random(120) > 0.8).astype(int), rng.random(120) * 11
    incidence = np.sort(rng.integers(0, 8, (120, 9))) / 8
    ours, theirs = both(event, duration, incidence, "adj_antolini")
    assert ours == pytest.approx(theirs, abs=1e-12)
