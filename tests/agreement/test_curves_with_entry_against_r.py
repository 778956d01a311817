"""Curves, numbers at risk and concordances with late entry and start-stop rows equal R's.

R's numbers are stored in r/entry.json; r/entry.R makes them with the package survival.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from survtrace.errors import DataWarning
from survtrace.metrics import (
    aalen_johansen,
    concordance_antolini,
    kaplan_meier,
    nelson_aalen,
)
from survtrace.metrics.event_table import event_table
from survtrace.tables.outcome.outcome import Outcome

TABLES = json.loads((Path(__file__).parent / "r" / "entry.json").read_text())["tables"]


def outcome_of(table):
    start, stop, x = (np.array(table[name], dtype=float) for name in ("start", "stop", "x"))
    id = np.unique(table["id"], return_inverse=True)[1]
    causes = tuple(table["causes"])
    return Outcome(stop, np.array(table["event"]), causes, entry=start, id=id), x


@pytest.fixture(params=TABLES)
def case(request):
    found = {name: np.array(values) for name, values in TABLES[request.param]["found"].items()}
    return *outcome_of(TABLES[request.param]), found


def quietly(curve, *arguments):
    """Survival may fall to 0 where few have entered: R says nothing, we warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return curve(*arguments)


def test_numbers_at_risk_events_and_censorings(case):
    outcome, _, found = case
    table = event_table(outcome)
    ours = table.times, table.at_risk, table.events.sum(axis=0), table.censored
    theirs = [found[name] for name in ("times", "at_risk", "n_events", "n_censored")]
    for one, other in zip(_where_somebody_ends(*ours), _where_somebody_ends(*theirs), strict=True):
        np.testing.assert_array_equal(one, other)


def _where_somebody_ends(times, at_risk, n_events, n_censored):
    """R also counts where a row goes on, we where somebody enters."""
    return [each[n_events + n_censored > 0] for each in (times, at_risk, n_events, n_censored)]


def test_kaplan_meier(case):
    outcome, _, found = case
    ours = quietly(kaplan_meier, outcome).at(found["times"])
    np.testing.assert_allclose(ours, found["kaplan_meier"], atol=1e-12, rtol=0)


def test_nelson_aalen_of_each_cause_and_of_all(case):
    outcome, _, found = case
    ours = nelson_aalen(outcome).at(found["times"])
    np.testing.assert_allclose(ours, found["nelson_aalen"], atol=1e-12, rtol=1e-12)
    np.testing.assert_allclose(ours.sum(axis=0), found["nelson_aalen_of_all"], rtol=1e-12)


def test_aalen_johansen_of_each_cause(case):
    outcome, _, found = case
    ours = quietly(aalen_johansen, outcome).at(found["times"])
    np.testing.assert_allclose(ours, found["aalen_johansen"], atol=1e-12, rtol=0)


def test_concordance_of_rows_at_risk_and_its_error_by_subject(case):
    """R's concordance(Surv(start, stop, event) ~ x, cluster = id): all pairs of equal weight."""
    outcome, x, found = case
    constant = 1 / (1 + np.exp(-x))[:, np.newaxis]
    for k, cause in enumerate(outcome.causes):
        ours = concordance_antolini(outcome, constant, [0.0], cause=cause)
        assert ours == pytest.approx(found["concordance"][k], abs=1e-12)
        assert ours.standard_error == pytest.approx(found["concordance_error"][k], rel=1e-10)
