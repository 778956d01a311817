"""Columns that give the outcome away."""

import numpy as np
import pandas as pd
import pytest

from survtrace.inspection import plan_columns
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import Outcome

N = 300
RNG = np.random.default_rng(1)
EVENT = RNG.integers(0, 3, N)
DURATION = RNG.exponential(10.0, N)
OUTCOME = Outcome(DURATION, EVENT, (1, 2))


def found(values, **settings):
    (finding,) = plan_columns(open_table({"a": values}), OUTCOME, **settings).findings
    return finding


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (DURATION * 30.4, "a copy of the duration"),
        (DURATION.round(2), "a copy of the duration"),
        ((EVENT > 0).astype(int), "whether there was an event"),
        (np.where(EVENT == 2, "yes", "no"), "who had the event 2"),
        (np.where(EVENT > 0, "C61", ""), "known only for subjects with an event"),
        (np.where(EVENT > 0, DURATION + 60, np.nan), "known only for subjects with an event"),
        (np.where(EVENT == 0, 1.5 * RNG.random(N), np.nan), "only for subjects without an event"),
    ],
)
def test_a_copy_of_the_outcome_is_left_out(values, reason):
    finding = found(values)
    assert (finding.use, finding.role) == ("left out", "leak")
    assert reason in finding.reason


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.where(RNG.random(N) < 0.03, EVENT == 0, EVENT > 0).astype(int), "almost exactly"),
        (DURATION**1.5 + RNG.normal(0, 0.05, N), "ordered as the duration is"),
    ],
)
def test_a_likely_copy_is_kept_with_a_warning(values, reason):
    finding = found(values)
    assert finding.use == "numerical"
    assert reason in finding.warnings[0]


def test_a_date_of_death_says_both_things():
    days = pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y")
    finding = found(np.where(EVENT > 0, days, ""))
    assert finding.role == "date"
    assert "known only for subjects with an event" in finding.reason


def test_a_leak_that_was_asked_for_by_name_is_used_with_a_warning():
    finding = found(DURATION * 2, columns={"a": {"kind": "numerical"}})
    assert finding.use == "numerical"
    assert "gives the outcome away" in finding.warnings[0].replace("give ", "gives ")


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=N),
        RNG.integers(0, 2, N),
        np.where(RNG.random(N) < 0.5, np.nan, RNG.normal(size=N)),
        DURATION + RNG.normal(0, 5, N),
    ],
)
def test_other_columns_are_not_suspected(values):
    finding = found(values)
    assert finding.use == "numerical"
    assert not finding.warnings


def test_a_handful_of_subjects_proves_nothing():
    few = Outcome(DURATION[:20], EVENT[:20], (1, 2))
    (finding,) = plan_columns(open_table({"a": DURATION[:20]}), few).findings
    assert finding.use == "numerical"


def test_the_age_at_entry_is_no_copy_of_the_age_at_the_end():
    age = RNG.uniform(40, 80, N)
    by_age = Outcome(age + DURATION / 100, EVENT, (1, 2), entry=age)
    for values, use in ((age, "numerical"), (by_age.duration, "left out")):
        (finding,) = plan_columns(open_table({"a": values}), by_age).findings
        assert (finding.use, finding.warnings) == (use, ())


AGE = RNG.uniform(40.0, 80.0, N)
BY_AGE = Outcome(AGE + DURATION, EVENT, (1, 2), entry=AGE)


@pytest.mark.parametrize("unit", [1.0, 365.25])
def test_the_time_from_entry_on_is_a_copy_where_age_is_the_clock(unit):
    (finding,) = plan_columns(open_table({"a": DURATION * unit}), BY_AGE).findings
    assert finding.reason == (
        "gives the outcome away: a copy of the time from entry to duration, perhaps in another unit"
    )


def test_the_age_at_entry_is_no_leak_where_age_is_the_clock():
    short = Outcome(AGE + DURATION / 100, EVENT, (1, 2), entry=AGE)
    (finding,) = plan_columns(open_table({"a": AGE}), short).findings
    assert finding.use == "numerical"
    (finding,) = plan_columns(open_table({"a": BY_AGE.duration * 12}), BY_AGE).findings
    assert finding.role == "leak"
