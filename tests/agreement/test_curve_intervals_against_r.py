"""Standard errors and intervals of Kaplan-Meier, Nelson-Aalen and Aalen-Johansen equal R's.

R's numbers are stored in r/curves.json; r/curves.R makes them with survival, prodlim and cmprsk,
for the tables of r/reference.json and, with late entry and start-stop rows, r/entry.json.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from survtrace.errors import DataWarning
from survtrace.metrics import aalen_johansen, kaplan_meier, nelson_aalen
from survtrace.metrics.event_table import event_table
from survtrace.tables.outcome.outcome import Outcome

STORED = Path(__file__).parent / "r"
FOUND, TABLES, WITH_ENTRY = (
    json.loads((STORED / f"{name}.json").read_text())["tables"]
    for name in ("curves", "reference", "entry")
)
SCALES = {"log_log": "log-log", "cloglog": "cloglog", "plain": "plain", "log": "log"}


def outcome_of(name):
    if name in TABLES:
        table = TABLES[name]
        labels = np.atleast_1d(table["labels"]).tolist()
        return Outcome(np.array(table["duration"], float), np.array(table["event"]), tuple(labels))
    table = WITH_ENTRY[name.removeprefix("entry_")]
    start, stop = (np.array(table[key], float) for key in ("start", "stop"))
    id = np.unique(table["id"], return_inverse=True)[1]
    causes = tuple(table["causes"])
    return Outcome(stop, np.array(table["event"]), causes, entry=start, id=id)


@pytest.fixture(params=FOUND)
def case(request):
    return outcome_of(request.param), FOUND[request.param]


@pytest.fixture(autouse=True)
def quiet():
    """Survival may fall to 0 where few have entered: R says nothing, we warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def numbers(values):
    """R's numbers, NaN where it has none."""
    return np.array([np.nan if isinstance(v, str) or v is None else v for v in values], float)


def assert_equal_where_r_has_a_number(ours, theirs, where=True):
    known = np.isfinite(numbers(theirs)) & where
    np.testing.assert_allclose(ours[known], numbers(theirs)[known], atol=1e-12, rtol=0)


def assert_intervals(curve, times, theirs):
    inside = (curve.at(times) > 1e-12) & (curve.at(times) < 1 - 1e-12)
    inside |= curve.scale == "log"
    for name, scale in SCALES.items():
        if name in theirs:
            ours = curve.interval(times, scale=scale)
            for end, side in zip(ours, ("low", "high"), strict=True):
                assert_equal_where_r_has_a_number(end, theirs[name][side], inside)


def test_kaplan_meier_has_greenwoods_error(case):
    outcome, found = case
    curve, theirs = kaplan_meier(outcome), found["kaplan_meier"]
    assert_equal_where_r_has_a_number(curve.standard_error(found["times"]), theirs["error"])
    assert_intervals(curve, found["times"], theirs)
    low, high = curve.interval(found["times"], level=0.8)
    assert_equal_where_r_has_a_number(low, theirs["log_log_80"]["low"])
    assert_equal_where_r_has_a_number(high, theirs["log_log_80"]["high"])


def test_nelson_aalen_has_aalens_error(case):
    outcome, found = case
    for cause, theirs in zip(outcome.causes, found["nelson_aalen"], strict=True):
        curve = nelson_aalen(outcome, cause)
        assert_equal_where_r_has_a_number(curve.standard_error(found["times"]), theirs["error"])
        assert_intervals(curve, found["times"], theirs)


def test_aalen_johansen_has_the_error_of_the_infinitesimal_jackknife(case):
    outcome, found = case
    for cause, theirs in zip(outcome.causes, found["aalen_johansen"], strict=True):
        curve = aalen_johansen(outcome, cause)
        assert_equal_where_r_has_a_number(curve.standard_error(found["times"]), theirs["error"])
        assert_intervals(curve, found["times"], theirs)


@pytest.mark.parametrize("name", TABLES)
def test_without_late_entry_prodlims_error_is_the_same(name):
    outcome, found = outcome_of(name), FOUND[name]
    for cause, theirs in zip(outcome.causes, found["aalen_johansen"], strict=True):
        errors = aalen_johansen(outcome, cause).standard_error(found["times"])
        assert_equal_where_r_has_a_number(errors, theirs["prodlim"])


@pytest.mark.parametrize("name", TABLES)
def test_cmprsk_differs_only_in_the_variance_of_hazards(name):
    """Gray takes causes as independent, with d (n - d) / (n^2 (n - 1)) for d tied events."""
    outcome, found = outcome_of(name), FOUND[name]
    for number, each in enumerate(found["aalen_johansen"]):
        theirs = numbers(each["cuminc"])
        known = theirs > 0
        gray = np.array([_gray_error(outcome, number, time) for time in found["times"]])
        np.testing.assert_allclose(gray[known], theirs[known], atol=1e-12, rtol=0)
        ours = aalen_johansen(outcome, outcome.causes[number]).standard_error(found["times"])
        many = known & (np.array(found["n_at_risk"]) >= 20)
        np.testing.assert_allclose(ours[many], theirs[many], rtol=0.07)


def _gray_error(outcome, number, time):
    table, free = event_table(outcome), kaplan_meier(outcome)
    curve = aalen_johansen(outcome, outcome.causes[number])
    before, n = free.before(table.times), table.at_risk
    left = np.divide(before, free.values, out=np.zeros(len(n)), where=free.values > 0)
    indirect = -(curve.at(time) - curve.values) * left
    of_cause = table.events[number]
    own, other = (
        d / n**2 * np.where(d > 1, (n - d) / np.maximum(n - 1, 1), 1)
        for d in (of_cause, table.events.sum(axis=0) - of_cause)
    )
    parts = (before + indirect) ** 2 * own + indirect**2 * other
    return np.sqrt(parts[table.times <= time].sum())
