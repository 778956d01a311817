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
        (np.where(EVENT == 0, 0.0, RNG.random(N)), "whether there was an event"),
        (np.where(EVENT == 0, "Z00", [f"C{k % 90}" for k in range(N)]), "there was an event"),
        (np.where(EVENT == 1, [f"C{k % 90}" for k in range(N)], "none"), "had the event 1"),
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
        (np.where(DURATION > 6, RNG.normal(size=N), np.nan), "followed for less than 6"),
        (DURATION * np.where(RNG.random(N) < 0.5, 1, RNG.random(N)), "it is the duration in "),
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


def test_subjects_of_several_rows_are_pointed_out_where_the_outcome_does_not_name_them():
    table = open_table({"USUBJID": [f"S{row // 2}" for row in range(N)]})
    (finding,) = plan_columns(table, OUTCOME).findings
    assert finding.reason.startswith("identifier: 150 distinct texts in 300 rows; each row counts")
    rows = Outcome(DURATION, EVENT, (1, 2), entry=0 * DURATION, id=np.arange(N) // 2)
    distinct = open_table({"id": np.arange(N) + 7})
    for each, outcome in ((table, rows), (distinct, OUTCOME)):
        (finding,) = plan_columns(each, outcome).findings
        assert finding.role == "identifier"
        assert "each row counts" not in finding.reason


def test_what_names_others_than_the_patients_is_no_patient_in_several_rows():
    columns = {"person_id": RNG.permutation(10**6)[:N], "provider_id": RNG.integers(0, 250, N)}
    *_, provider = plan_columns(open_table(columns), OUTCOME).findings
    assert (provider.use, provider.role) == ("left out", "identifier")
    assert "each row counts" not in provider.reason
    columns["provider_id"] = RNG.integers(0, 30, N)
    *_, provider = plan_columns(open_table(columns), OUTCOME).findings
    assert "each row counts" not in provider.warnings[0]


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


def test_values_that_are_rare_or_known_of_some_who_left_early_are_not_suspected():
    for present in (RNG.random(N) < 0.02, (DURATION > 6) | (np.arange(N) == DURATION.argmin())):
        assert not found(np.where(present, RNG.normal(size=N), np.nan)).warnings
    late = Outcome(DURATION + 5, EVENT, (1, 2), entry=np.full(N, 5.0))
    values = np.where(DURATION > 6, RNG.normal(size=N), np.nan)
    assert not plan_columns(open_table({"a": values}), late).findings[0].warnings


def test_whole_numbers_that_are_the_duration_by_chance_are_not_suspected():
    years = Outcome(np.ceil(DURATION / 10), EVENT, (1, 2))
    (finding,) = plan_columns(open_table({"a": RNG.integers(1, 3, N)}), years).findings
    assert (finding.use, finding.warnings) == ("numerical", ())


def test_levels_of_which_only_few_rows_are_alike_are_not_suspected():
    many = [f"B{k % 100}" for k in range(N)]
    (finding,) = plan_columns(open_table({"a": many}), OUTCOME).findings
    assert (finding.use, finding.role) == ("categorical", "")


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


def test_the_time_since_a_subjects_first_row_is_a_copy_at_the_end_of_rows_and_none_at_their_begin():
    end = RNG.uniform(1.0, 30.0, N).repeat(2) + np.tile([0.0, 10.0], N)
    begin = np.where(np.arange(2 * N) % 2, np.roll(end, 1), 0.0)
    clock = RNG.uniform(40.0, 80.0, N).repeat(2)
    entry = begin + clock
    rows = Outcome(end + clock, np.tile([0, 1], N), (1,), entry=entry, id=np.arange(2 * N) // 2)
    (finding,) = plan_columns(open_table({"a": end}), rows).findings
    assert "a copy of the time from the first entry to duration" in finding.reason
    (finding,) = plan_columns(open_table({"a": begin}), rows).findings
    assert finding.use == "numerical"
    assert not finding.warnings


def test_the_number_of_the_day_is_known_when_the_day_begins():
    day = np.tile(np.arange(1.0, 7.0), N // 6)
    event = ((day == 6) & (np.arange(N) % 12 < 6)).astype(int)
    rows = Outcome(day, event, (1,), entry=day - 1, id=np.arange(N) // 6)
    (finding,) = plan_columns(open_table({"a": day}), rows).findings
    assert finding.use == "numerical"


def test_a_column_that_is_left_out_is_not_refused_for_what_it_holds():
    finding = found(pd.Series([np.inf, *(f"P{number}" for number in range(1, N))], dtype=object))
    assert (finding.use, finding.role) == ("left out", "identifier")
