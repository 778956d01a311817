"""Follow-up is that which subjects would have had without events."""

import numpy as np

from survtrace.metrics.follow_up import follow_up_quantiles, from_entry
from survtrace.tables.outcome.outcome import Outcome


def test_without_events_they_are_plain_quantiles():
    durations = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    found = follow_up_quantiles(Outcome(durations, np.zeros(100, dtype=np.int64), (1,)))
    assert found.tolist() == [25, 50, 75]


def test_early_events_do_not_shorten_the_follow_up():
    durations = np.r_[np.full(50, 10.0), np.full(50, 0.5)]
    outcome = Outcome(durations, np.repeat([0, 1], 50), (1,))
    assert float(follow_up_quantiles(outcome, 0.5)) == 10


def test_it_is_not_reached_where_too_few_leave():
    outcome = Outcome(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1]), (1,))
    found = follow_up_quantiles(outcome)
    assert found[0] == 1
    assert np.isnan(found[1:]).all()


def test_it_is_counted_from_entry_on():
    outcome = Outcome(
        np.array([61.0, 73.0]), np.zeros(2, dtype=np.int64), (1,), entry=np.array([60.0, 70.0])
    )
    assert follow_up_quantiles(outcome, [0.5, 1.0]).tolist() == [1, 3]


def test_who_leaves_and_comes_back_is_followed_twice():
    gap = Outcome(
        np.array([2.0, 5.0]),
        np.array([0, 1]),
        (1,),
        entry=np.array([0.0, 4.0]),
        id=np.array([7, 7]),
    )
    found = from_entry(gap)
    assert found.duration.tolist() == [2, 1]
    assert found.is_whole.all()
