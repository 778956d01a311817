"""Observed/expected ratio, scaled Brier score and net benefit equal R's on ten tables.

R's numbers are stored in r/benefit.json; r/benefit.R makes them of the tables in r/reference.json.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from survtrace.errors import DataWarning
from survtrace.metrics import (
    net_benefit,
    net_benefit_difference,
    observed_expected_ratio,
    scaled_brier_score,
)
from survtrace.metrics.inputs import read_outcome

HERE = Path(__file__).parent / "r"
TABLES = json.loads((HERE / "reference.json").read_text())["tables"]
FOUND = json.loads((HERE / "benefit.json").read_text())
CASES = [(name, k) for name, found in FOUND["tables"].items() for k in range(len(found))]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1] + 1}")
def case(request):
    """Outcome, cause, pairs of horizon and prediction, and what R found."""
    name, k = request.param
    table = TABLES[name]
    labels, x = np.atleast_1d(table["labels"]).tolist(), np.array(table["x"])
    censored = "censored" if isinstance(labels[0], str) else 0
    event = np.array([labels[j - 1] if j else censored for j in table["event"]], dtype=object)
    y = read_outcome({"event": event, "duration": np.array(table["duration"], dtype=float)})
    asked = [
        (time, x, factor) for time, factor in zip(table["times"], table["factors"], strict=True)
    ]
    found = FOUND["tables"][name][k]
    return y, labels[k], asked, {key: np.array(found[key], dtype=float) for key in found}


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def quietly(function, *arguments, **settings):
    """Where follow-up ends too early, both have no number; we warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return function(*arguments, **settings)


def test_observed_expected_ratio_and_its_error(case):
    y, cause, asked, found = case
    ours = [quietly(observed_expected_ratio, y, x * f, t, cause=cause) for t, x, f in asked]
    close(ours, found["ratio"])
    close([each.observed.standard_error for each in ours], found["observed_error"])
    some = found["ratio"] > 0
    error = np.array([each.standard_error for each in ours])
    close((error[some] / found["ratio"][some]), found["ratio_error_of_log"][some])


def test_scaled_brier_score(case):
    y, cause, asked, found = case
    ours = [quietly(scaled_brier_score, y, x * f, t, cause=cause) for t, x, f in asked]
    close(ours, found["scaled_brier"])


def test_net_benefit_and_its_error(case):
    y, cause, asked, found = case
    for j, (time, x, factor) in enumerate(asked):
        curve = quietly(net_benefit, y, x * factor, time, FOUND["thresholds"], cause=cause)
        close(curve.by_prediction, found["benefit"][j])
        close([each.standard_error for each in curve.by_prediction], found["benefit_error"][j])
        close(curve.treat_all, found["treat_all"][j])
        close([each.standard_error for each in curve.treat_all], found["treat_all_error"][j])


def test_difference_of_net_benefits_and_its_error(case):
    y, cause, asked, found = case
    for j, (time, x, factor) in enumerate(asked):
        two = x * factor, np.sqrt(x) * factor
        ours = quietly(net_benefit_difference, y, *two, time, FOUND["thresholds"], cause=cause)
        close(ours, found["difference"][j])
        close([each.standard_error for each in ours], found["difference_error"][j])
