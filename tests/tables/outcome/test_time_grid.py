import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from survtrace import DataError, DataWarning, SettingError
from survtrace.inference.curves import locate_times
from survtrace.tables.outcome.outcome import Outcome, read_outcome
from survtrace.tables.outcome.time_grid import (
    StayScale,
    checked_cuts,
    choose_cuts,
    end_follow_up,
    follow_ups_in,
    locate,
    quantile_cuts,
    warn_of_late_events,
    warn_of_sparse_causes,
)


def outcome(event, duration):
    return read_outcome({"event": event, "duration": duration})


def test_cuts_are_quantiles_of_event_times_alone():
    y = outcome([1, 1, 2, 1, 0, 0], [1.0, 2.0, 3.0, 4.0, 0.5, 99.0])
    np.testing.assert_allclose(quantile_cuts(y, 4), [0.0, 1.75, 2.5, 3.25, 4.0])


def test_tied_event_times_leave_fewer_intervals():
    y = outcome([1] * 6, [1.0, 2.0, 2.0, 2.0, 2.0, 3.0])
    cuts = quantile_cuts(y, 10)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) < 11


def test_nobody_with_an_event_is_refused():
    with pytest.raises(DataError, match="at least one subject must have an event; all 2 are"):
        quantile_cuts(outcome([0, 0], [1.0, 2.0]), 4)


@pytest.mark.parametrize(
    "grid", [[], [0], [5, 3], [1, 1, 2], [-1, 2], [0, np.nan], [0, np.inf], [0, 0, 1]], ids=str
)
def test_a_grid_that_does_not_rise_is_refused(grid):
    with pytest.raises(SettingError, match="time_grid must rise strictly from 0"):
        checked_cuts(grid)


def test_a_grid_of_words_is_refused():
    with pytest.raises(SettingError, match="time_grid must rise"):
        checked_cuts(["soon", "later"])


def test_zero_is_put_in_front():
    assert checked_cuts((12, 24)).tolist() == [0.0, 12.0, 24.0]
    assert checked_cuts(np.array([0, 3.5])).tolist() == [0.0, 3.5]


def test_a_duration_on_a_cut_belongs_to_the_interval_it_closes():
    interval, fraction = locate(np.array([2.0, 4.0, 2.0 + 1e-9]), np.array([0.0, 2.0, 4.0]))
    assert interval.tolist() == [0, 1, 1]
    np.testing.assert_allclose(fraction, [1.0, 1.0, 0.0], atol=1e-8)


def test_a_duration_beyond_the_grid_ends_with_it():
    interval, fraction = locate(np.array([7.0]), np.array([0.0, 2.0, 4.0]))
    assert (interval[0], fraction[0]) == (1, 1.0)


steps = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6)


@given(steps, st.lists(st.floats(0, 500.0), min_size=1, max_size=8))
def test_interval_and_fraction_give_the_duration_back(widths, durations):
    cuts = np.concatenate([[0.0], np.cumsum(widths)])
    duration = np.minimum(durations, cuts[-1])
    interval, fraction = locate(duration, cuts)
    back = cuts[interval] + fraction * np.diff(cuts)[interval]
    np.testing.assert_allclose(back, duration, atol=1e-9)


@given(steps, st.lists(st.floats(0, 500.0), min_size=1, max_size=8))
def test_training_and_prediction_place_times_alike(widths, durations):
    cuts, duration = np.concatenate([[0.0], np.cumsum(widths)]), np.array(durations)
    interval, fraction = locate(duration, cuts)
    at = locate_times(torch.from_numpy(duration).view(1, -1), torch.from_numpy(cuts))
    np.testing.assert_array_equal(at.interval[0].numpy(), interval)
    np.testing.assert_array_equal(at.fraction[0].numpy(), fraction)


def test_a_cause_too_rare_for_the_grid_is_named():
    events = outcome([1, 1, 1, "b", 0], [1.0, 2.0, 3.0, 4.0, 5.0]).n_events
    warn_of_sparse_causes(events, 1)
    with pytest.warns(DataWarning, match=r"intervals \(2\): \{'b': 1\}"):
        warn_of_sparse_causes(events, 2)


def test_one_event_in_all_is_told_though_its_grid_has_one_interval():
    y = Outcome(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]), (1,))
    with pytest.warns(DataWarning, match="there is one event to learn from"):
        assert choose_cuts(y, 4, None, {1: 1}, {1: 1}, {1: 1}).tolist() == [0.0, 2.0]


def test_an_event_after_the_end_is_censored_there_and_one_at_the_end_is_not():
    y = outcome([1, 2, 0, 1, 0], [1.0, 4.0, 4.0, 4.0 + 1e-9, 9.0])
    ended = end_follow_up(y, 4.0)
    assert ended.event.tolist() == [1, 2, 0, 0, 0]
    assert ended.duration.tolist() == [1.0, 4.0, 4.0, 4.0, 4.0]
    assert ended.causes == y.causes
    assert y.event.tolist() == [1, 2, 0, 1, 0], "the outcome itself is left alone"


def test_events_beyond_the_grid_are_counted_in_one_warning():
    warn_of_late_events({1: 3, 2: 4}, {1: 3, 2: 4}, 24.0)
    with pytest.warns(DataWarning, match=r"3 of 7 events lie beyond .* ends at 24: .*censored"):
        warn_of_late_events({1: 3, 2: 4}, {1: 2, 2: 2}, 24.0)


def test_stay_ends_with_the_grid_only_where_the_grid_leaves_out_events():
    y = outcome([1, 0, 1, 0], [1.0, 2.0, 5.0, 9.0])
    whole = StayScale.of(y, 5.0)
    assert whole == StayScale(y.duration.mean(), y.duration.std())
    assert whole.standardise(y.duration).std() == pytest.approx(1.0)
    short = StayScale.of(y, 4.0)
    assert short.longest == 4.0
    assert short == StayScale.of(end_follow_up(y, 4.0), 4.0)._replace(longest=4.0)
    assert len(set(short.standardise(np.array([4.0, 5.0, 9.0])))) == 1


def test_a_grid_many_times_as_long_as_a_follow_up_has_as_many_more_intervals():
    """With age as the clock, one asks about ten years of fifty."""
    entry = np.linspace(40, 80, 401)
    event = np.ones(401, dtype=np.int64)
    by_age = Outcome(entry + 10, event, (1,), entry=entry)
    since_entry = Outcome(np.linspace(1, 10, 401), event, (1,))
    assert len(quantile_cuts(by_age, 4)) - 1 == 20  # a follow-up of 10 fits 5 times into 40 to 90
    assert len(quantile_cuts(since_entry, 4)) - 1 == 4


def test_a_longer_grid_has_no_more_intervals_than_its_events_can_tell_of():
    entry = np.linspace(40, 80, 101)
    by_age = Outcome(entry + 10, np.ones(101, dtype=np.int64), (1,), entry=entry)
    assert len(quantile_cuts(by_age, 4)) - 1 == 5


def test_cutting_rows_does_not_change_the_grid():
    entry = np.linspace(40, 80, 401)
    event = np.ones(401, dtype=np.int64)
    whole = Outcome(entry + 10, event, (1,), entry=entry)
    cut = Outcome(
        np.concatenate([entry + 3, entry + 10]),
        np.concatenate([0 * event, event]),
        (1,),
        entry=np.concatenate([entry, entry + 3]),
        id=np.tile(np.arange(401), 2),
    )
    np.testing.assert_allclose(quantile_cuts(cut, 4), quantile_cuts(whole, 4))


def test_a_grid_that_ends_before_the_first_entry_is_refused_by_its_own_end():
    y = Outcome(np.array([61.0, 70.0]), np.array([1, 1]), (1,), entry=np.array([50.0, 60.0]))
    counts = {1: 2}
    with pytest.raises(DataError, match=r"it ends at 20 and the first event is at 61"):
        choose_cuts(y, 4, np.array([0.0, 10.0, 20.0]), counts, counts, counts)


def test_the_follow_up_of_a_subject_is_that_of_nearly_all_of_them():
    follow_up = np.arange(1.0, 102.0)
    entry = np.linspace(40, 80, 101)
    y = Outcome(entry + follow_up, np.ones(101, dtype=np.int64), (1,), entry=entry)
    assert follow_ups_in(y, span=960.0) == 10.0


@pytest.mark.parametrize(("n_events", "n_intervals"), [(60, 4), (119, 5), (120, 6), (2000, 20)])
def test_each_interval_of_a_longer_grid_has_20_events(n_events, n_intervals):
    """Of the 4 asked for and the 20 that a follow-up of 10 makes of them, in 50 years."""
    entry = np.linspace(40, 80, n_events)
    by_age = Outcome(entry + 10, np.ones(n_events, dtype=np.int64), (1,), entry=entry)
    assert len(quantile_cuts(by_age, 4)) - 1 == n_intervals


@pytest.mark.parametrize("durations", [[4.0] * 10, [4.0] * 10 + [5.0]], ids=["10", "11, one later"])
def test_a_few_equal_durations_are_taken(durations):
    y = outcome([1] * len(durations), durations)
    counts = y.n_events
    assert choose_cuts(y, 1, None, counts, counts, counts).tolist() == [0.0, durations[-1]]


def test_eleven_equal_durations_are_refused():
    y = outcome([1] * 11, [4.0] * 11)
    with pytest.raises(DataError, match=r"those of all 11 subjects are 4\. Pass the column"):
        choose_cuts(y, 1, None, y.n_events, y.n_events, y.n_events)


def test_a_stay_is_counted_in_deviations_from_the_mean():
    scale = StayScale(mean=3.0, deviation=2.0, longest=7.0)
    assert scale.standardise(np.array([1.0, 3.0, 7.0, 9.0])).tolist() == [-1.0, 0.0, 2.0, 2.0]


def test_stays_that_are_all_the_same_have_a_deviation_of_one():
    assert StayScale.of(outcome([1, 0], [4.0, 4.0]), 4.0) == StayScale(4.0, 1.0)


def test_a_grid_of_the_user_begins_at_the_first_entry():
    y = Outcome(np.array([61.0, 70.0]), np.array([1, 1]), (1,), entry=np.array([50.0, 60.0]))
    counts = {1: 2}
    cuts = choose_cuts(y, 4, np.array([0.0, 10.0, 50.0, 65.0, 80.0]), counts, counts, counts)
    assert cuts.tolist() == [50.0, 65.0, 80.0]


def test_of_a_sample_the_events_within_the_grid_are_counted_by_their_share():
    """Half of the events of the sample lie within it: so do 3 of all 6, fewer than 4 intervals."""
    y = outcome([1, 1, 1, 1], [1.0, 2.0, 5.0, 6.0])
    grid = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    with pytest.warns(DataWarning, match=r"intervals \(4\): \{1: 3\}"):
        choose_cuts(y, 4, grid, {1: 6}, {1: 6}, {1: 6})
    choose_cuts(y, 4, grid, {1: 8}, {1: 8}, {1: 8})
