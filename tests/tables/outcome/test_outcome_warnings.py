"""What is odd in an outcome is told in words, and what is not odd is not."""

import numpy as np
import pytest

from survtrace import DataWarning
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.outcome_warnings import (
    informative,
    warn_if_complete,
    warn_of_entry,
    warn_of_late_events,
    warn_of_origin,
    warn_of_other_events,
    warn_of_other_unit,
    warn_of_unknown_durations,
)


def followed(*duration, event=1, **columns):
    duration = np.array(duration, dtype=np.float64)
    return Outcome(duration, np.full(len(duration), event), (1,), **columns)


@pytest.mark.parametrize("code", [99, 888, 999, 8888, 9999, 88888, 99999, 999999])
def test_a_duration_of_all_eights_or_nines_may_mean_not_known(code):
    with pytest.warns(
        DataWarning, match=rf"duration is {code:g} for 2 of 5 subjects, and at most 40 for all"
    ):
        warn_of_unknown_durations(followed(code, 12.0, 40.0, code, 7.0))


@pytest.mark.parametrize(
    "durations",
    [
        (999.0, 12.0, 40.0),
        (998.0, 998.0, 12.0, 40.0),
        (1000.0, 1000.0, 12.0, 40.0),
        (999.0, 999.0, 12.0, 500.0),
        (888.0, 888.0, 12.0, 444.0),
        (2000.0, 999.0, 999.0, 12.0),
    ],
    ids=["of one alone", "below", "above", "not far", "twice as long", "not the longest"],
)
def test_other_long_durations_are_taken_without_a_remark(durations):
    warn_of_unknown_durations(followed(*durations))


def test_a_code_just_above_twice_the_longest_of_the_others_is_told():
    with pytest.warns(DataWarning, match="duration is 888 for 3 of 4 .* at most 443 for all"):
        warn_of_unknown_durations(followed(888, 443, 888, 888))


def test_of_start_stop_rows_a_code_for_not_known_is_told_by_subjects():
    entry, id = np.array([0.0, 12.0, 0.0, 12.0, 0.0]), np.array([1, 1, 2, 2, 3])
    rows = followed(12.0, 999.0, 12.0, 999.0, 40.0, event=0, entry=entry, id=id)
    with pytest.warns(DataWarning, match="duration is 999 for 2 of 3 subjects, and at most 40"):
        warn_of_unknown_durations(rows)


def test_of_subjects_censored_at_zero_the_number_and_the_first_are_told():
    outcome = Outcome(np.array([3.0, 0.0, 0.5, 0.0]), np.array([1, 0, 0, 0]), (1,))
    with pytest.warns(DataWarning, match=r"2 of 4 subjects are censored .*\(first: row 1\)"):
        assert informative(outcome).tolist() == [True, False, True, False]


def test_where_everybody_has_some_follow_up_nothing_is_told():
    assert informative(followed(1.0, 2.0, event=0)).tolist() == [True, True]


def test_that_nobody_is_censored_is_told():
    with pytest.warns(DataWarning, match="nobody is censored: all 3 subjects have an event"):
        warn_if_complete(np.array([1, 2, 1]), ())


def test_that_nobody_is_censored_is_not_told_where_a_label_means_it_or_somebody_is():
    warn_if_complete(np.array([1, 1]), ("alive",))
    warn_if_complete(np.array([1, 0]), ())


def test_an_entry_is_small_below_a_hundredth_of_the_median_duration():
    warn_of_entry(followed(100.0, 300.0, 900.0, entry=np.array([0.0, 0.0, 3.0])))
    with pytest.warns(DataWarning, match="at most 2.99, and duration 300 in the median"):
        warn_of_entry(followed(100.0, 300.0, 900.0, entry=np.array([0.0, 2.99, 0.0])))


def test_entries_of_start_stop_rows_may_be_small():
    """The first row of everybody may end early, long before the others."""
    warn_of_entry(
        followed(1.0, 900.0, 800.0, entry=np.array([0.0, 1.0, 0.0]), id=np.array([0, 0, 1]))
    )


def test_of_several_gaps_the_first_row_after_one_is_named():
    outcome = followed(
        *(1.0, 5.0, 2.0, 6.0, 9.0),
        entry=np.array([0.0, 3.0, 0.0, 4.0, 0.0]),
        id=np.array([0, 0, 1, 1, 2]),
    )
    with pytest.warns(
        DataWarning, match=r"2 of 3 subjects have gaps .*\(first: before row 1, from 3\)"
    ):
        warn_of_entry(outcome)


MONTHS = np.linspace(1, 60, 40)


@pytest.mark.parametrize("factor", [30.4, 1 / 12])
def test_an_evaluation_set_in_another_unit_is_told(factor):
    trained_on, evaluated = followed(*MONTHS), followed(*(MONTHS * factor))
    words = rf"eval_set has 40 events in .* have {40 * factor:.4g}\. Are durations in the same unit"
    with pytest.warns(DataWarning, match=words):
        warn_of_other_unit(evaluated, trained_on)


@pytest.mark.parametrize(
    "evaluated",
    [followed(*MONTHS / 4.9), followed(*MONTHS * 4.9), followed(*MONTHS[:9] / 12), followed(200.0)],
    ids=["a sicker group", "a healthier one", "few events", "few expected"],
)
def test_other_subjects_and_few_events_are_taken_without_a_remark(evaluated):
    warn_of_other_unit(evaluated, followed(*MONTHS))


def test_time_counts_from_entry_on():
    late = followed(*MONTHS + 1000, entry=np.full(40, 1000.0))
    warn_of_other_unit(late, followed(*MONTHS))


def test_training_rows_without_events_are_left_to_those_who_refuse_them():
    warn_of_other_unit(followed(*MONTHS), followed(*MONTHS, event=0))


@pytest.mark.parametrize(
    ("low", "high"),
    [(2004.0, 2019.5), (41000, 45000), (20190104, 20241231), (45.0, 88.0)],
    ids=["years", "days", "dates", "ages"],
)
def test_durations_that_seem_not_to_count_from_0_are_told(low, high):
    words = rf"durations lie between {low:.8g} and {high:.8g}: nobody has an event or leaves"
    with pytest.warns(DataWarning, match=words):
        warn_of_origin(followed(*np.linspace(low, high, 40)))


def test_durations_from_0_few_subjects_and_ages_with_entry_are_taken_without_a_remark():
    warn_of_origin(followed(*MONTHS))
    warn_of_origin(followed(5.0, *np.full(39, 10.0)))
    warn_of_origin(followed(*np.linspace(2004, 2019, 29)))
    warn_of_origin(followed(*np.linspace(45, 88, 40), entry=np.full(40, 40.0)))
    warn_of_origin(followed())


def coded(*event):
    return Outcome(np.arange(1.0, len(event) + 1), np.array(event), (1, 2))


def test_that_nobody_is_censored_is_told_where_many_were_in_the_fit():
    words = "nobody is censored: all 40 subjects have an event; of the 100 learned from 50 had none"
    with pytest.warns(DataWarning, match=words):
        warn_of_other_events(coded(*[1, 2] * 20), {"1": 30, "2": 20}, 50)
    warn_of_other_events(coded(*[1, 2] * 20), {"1": 60, "2": 40}, 0)
    warn_of_other_events(coded(*[1, 2] * 20), {"1": 60, "2": 35}, 5)
    warn_of_other_events(coded(*[1, 2] * 5), {"1": 30, "2": 20}, 50)


def test_a_cause_that_nobody_has_is_told_where_it_was_frequent_in_the_fit():
    words = r"nobody has the event 2, which was 40 of the 100 events .*; 30 subjects have another"
    with pytest.warns(DataWarning, match=words):
        warn_of_other_events(coded(*[1] * 30, 0), {"1": 60, "2": 40}, 50)
    warn_of_other_events(coded(*[1] * 30, 0), {"1": 95, "2": 5}, 50)
    warn_of_other_events(coded(*[1] * 9, 0), {"1": 60, "2": 40}, 50)
    warn_of_other_events(coded(*[0] * 30), {"1": 60, "2": 40}, 50)


def test_events_are_told_that_mostly_lie_beyond_the_time_grid():
    with pytest.warns(DataWarning, match=r"20 of 39 events lie beyond .* ends at 19\. Are dur"):
        warn_of_late_events(followed(*range(1, 40)), 19.0)
    warn_of_late_events(followed(*range(1, 40)), 20.0)
    warn_of_late_events(followed(*range(1, 10)), 0.5)
    warn_of_late_events(followed(*range(1, 40), event=0), 19.0)
