"""How long subjects were followed: quantiles of the reverse Kaplan-Meier estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from survtrace.metrics.censoring import censoring_survival
from survtrace.metrics.inputs import Floats
from survtrace.tables.outcome.outcome import Outcome, join_rows


def follow_up_quantiles(outcome: Outcome, shares: ArrayLike = (0.25, 0.5, 0.75)) -> Floats:
    """Quantiles of the follow-up that subjects would have had without events, counted from entry.

    NaN where too few would have left within the time that is seen.

    Examples
    --------
    >>> n = np.arange(1.0, 5.0)
    >>> follow_up_quantiles(Outcome(n, np.array([0, 1, 0, 0]), (1,)), [0.25, 0.5])
    array([1., 3.])
    """
    left = censoring_survival(from_entry(outcome))
    # Survival falls: the first time at which it is no higher than what remains of a share.
    place = np.searchsorted(-left.values, np.asarray(shares, dtype=np.float64) - 1 - 1e-12)
    return np.append(left.times, np.nan)[place]


def from_entry(outcome: Outcome) -> Outcome:
    """Count durations from entry; rows of a subject that touch become one.

    Examples
    --------
    >>> cut = Outcome(np.array([1.0, 4.0, 2.0]), np.array([0, 1, 0]), (1,),
    ...               entry=np.array([0.5, 1.0, 0.5]), id=np.array([7, 7, 8]))
    >>> from_entry(cut).duration.tolist()
    [3.5, 1.5]
    """
    if outcome.entry is None:
        return outcome
    stays, _ = join_rows(outcome)
    assert stays.entry is not None
    length = stays.duration - stays.entry
    return replace(stays, duration=length, entry=None, id=None, goes_on=None)
