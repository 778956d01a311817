"""Find columns that give the outcome away: copies of it, or values known only after an event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from survtrace.tables.covariates.values import Levels
from survtrace.tables.outcome.outcome import Outcome

N_ENOUGH = 30  # subjects
N_CASES = 10  # with and without the event
MOST_LEVELS = 20
N_POOLED = 100  # subjects to judge by one level of many
SHARE_EQUAL = 0.1  # of the rows in which a column is the duration
SAMPLE = 5_000
UNLIKELY = -np.log(1e-6)
ROUNDING = 1e-9  # of a correlation


class Leak(NamedTuple):
    """Why a column gives the outcome away; certain enough to leave it out, or a suspicion."""

    reason: str
    certain: bool


def find_leak(column: NDArray[np.float64] | Levels, outcome: Outcome) -> Leak | None:
    """Compare a column with the outcome of the same subjects.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> event = rng.integers(0, 2, 200)
    >>> outcome = Outcome(rng.exponential(size=200), event, (1,))
    >>> find_leak(np.where(event == 1, 1.5, np.nan), outcome).reason
    'known only for subjects with an event'
    """
    if len(outcome) < N_ENOUGH:
        return None
    present = column.codes >= 0 if isinstance(column, Levels) else ~np.isnan(column)
    return (
        _of_missingness(present, outcome)
        or _of_late_values(present, outcome)
        or _of_levels(column, present, outcome)
        or (None if isinstance(column, Levels) else _of_duration(column, present, outcome))
    )


def _of_missingness(present: NDArray[np.bool_], outcome: Outcome) -> Leak | None:
    n_present = int(present.sum())
    if n_present in (0, len(present)):
        return None
    had_event = outcome.event > 0
    n_events = int(had_event.sum())
    if min(n_events, len(had_event) - n_events) < N_CASES:
        return None
    rate = n_events / len(had_event)
    if had_event[present].all() and -n_present * np.log(rate) > UNLIKELY:
        return Leak("known only for subjects with an event", certain=True)
    if (present == ~had_event).all():
        return Leak("known only for subjects without an event", certain=True)
    agreement = max((present == had_event).mean(), (present == ~had_event).mean())
    if agreement >= 0.95 and abs(np.corrcoef(present, had_event)[0, 1]) >= 0.9:
        return Leak("known or not almost as the event happened or not", certain=False)
    return None


def _of_late_values(present: NDArray[np.bool_], outcome: Outcome) -> Leak | None:
    """Check whether a value is missing for all who left early: it was taken at a later visit."""
    if outcome.entry is not None or present.all() or not present.any():
        return None
    first = outcome.duration[present].min()
    n_early = int((outcome.duration < first).sum())
    if n_early < N_CASES or -n_early * np.log1p(-present.mean()) <= UNLIKELY:
        return None
    return Leak(f"missing for all {n_early:,} subjects followed for less than {first:g}", False)


def _of_levels(
    column: NDArray[np.float64] | Levels, present: NDArray[np.bool_], outcome: Outcome
) -> Leak | None:
    """Check whether levels (few numbers are levels, too) predict who had an event."""
    # The first of several rows of a subject, at time 0, has no event: there a 0 says nothing.
    pool = len(outcome) >= N_POOLED and not outcome.is_start_stop
    codes = _level_codes(column, present, pool=pool)
    if codes is None:
        return None
    n_codes = len(outcome.causes) + 1
    n_levels = int(codes.max()) + 1
    table = np.bincount(codes * n_codes + outcome.event, minlength=n_levels * n_codes)
    table = table.reshape(n_levels, n_codes)
    totals = table.sum(axis=1)
    if (totals > 0).sum() < 2:
        return None
    for code in range(n_codes):
        cases = int(table[:, code].sum())
        if min(cases, len(codes) - cases) < N_CASES:
            continue
        label = (
            "whether there was an event"
            if code == 0
            else f"who had the event {outcome.causes[code - 1]!r}"
        )
        pure = (table[:, code] == 0) | (table[:, code] == totals)
        if pure.all():
            return Leak(f"says exactly {label}", certain=True)
        share = np.divide(table[:, code], totals, out=np.zeros(len(totals)), where=totals > 0)
        positive = share >= 0.9  # the levels that predict the event
        right = table[positive, code].sum() + (totals - table[:, code])[~positive].sum()
        # The correlation of two booleans: having a level of ``positive``, and the event.
        n, a, both = totals.sum(), totals[positive].sum(), table[positive, code].sum()
        spread = np.sqrt(float(a) * (n - a) * float(cases) * (n - cases))
        correlated = spread > 0 and abs((n * both - a * cases) / spread) > 0.85
        if positive.any() and right >= 0.95 * len(codes) and correlated:
            return Leak(f"says almost exactly {label}", certain=False)
    return None


def _level_codes(
    column: NDArray[np.float64] | Levels, present: NDArray[np.bool_], *, pool: bool
) -> NDArray[np.int64] | None:
    """Code each subject's level, missing as one more; None for many, unless rare ones ``pool``."""
    if isinstance(column, Levels):
        if len(column.text) <= MOST_LEVELS:
            return column.codes + 1
        numbers = column.codes.astype(np.float64)
        return _frequent_codes(numbers, numbers[present]) if pool else None
    some = column[:SAMPLE][present[:SAMPLE]]
    if len(np.unique(some)) > MOST_LEVELS:  # cheaper than of all rows
        return _frequent_codes(column, some) if pool else None
    distinct, codes = np.unique(column[present], return_inverse=True)
    if len(distinct) > MOST_LEVELS:
        return None
    all_codes = np.zeros(len(column), dtype=np.int64)
    all_codes[present] = codes + 1
    return all_codes


def _frequent_codes(
    column: NDArray[np.float64], some: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """Code what is frequent among some of the values, and all else as 0; None if nothing is.

    It may be what stands where nothing happened: 0 days to death, beside many numbers of days.
    """
    distinct, counts = np.unique(some, return_counts=True)
    order = np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1]
    frequent = np.sort(distinct[order[counts[order] >= N_CASES]])
    if not len(frequent):
        return None
    place = np.searchsorted(frequent, column).clip(max=len(frequent) - 1)
    return np.where(column == frequent[place], place + 1, 0)


def _of_duration(
    values: NDArray[np.float64], present: NDArray[np.bool_], outcome: Outcome
) -> Leak | None:
    rows = np.flatnonzero(present)
    if len(rows) < N_ENOUGH:
        return None
    duration = outcome.duration[rows]
    for origin, name in _origins(outcome):
        # With age as the clock, the age at entry is nearly that at the end: known before, no leak.
        by_entry = 0.0
        if outcome.entry is not None:
            by_entry = abs(_correlation(values[rows], (outcome.entry - origin)[rows]))
        times = duration - origin[rows]
        if abs(_correlation(values[rows], times)) > by_entry + ROUNDING:
            leak = _copy(values[rows], times, name)
            if leak is not None:
                return leak
    return _repeats(values[rows], duration)


def _repeats(values: NDArray[np.float64], duration: NDArray[np.float64]) -> Leak | None:
    """Check whether values are the duration in many rows, as the time to a relapse often is.

    By chance they are in as many rows as where each stands beside the duration of another row.
    """
    n_equal = int((values == duration).sum())
    if n_equal < max(N_CASES, SHARE_EQUAL * len(values)):
        return None
    half = len(values) // 2
    by_chance = max(int((np.roll(values, k) == duration).sum()) for k in (1, half))
    if n_equal < 3 * by_chance + N_CASES:
        return None
    return Leak(f"it is the duration in {n_equal:,} of {len(values):,} rows", certain=False)


def _origins(outcome: Outcome) -> Iterator[tuple[NDArray[np.float64], str]]:
    """Yield the times from which a column may count the duration of each row."""
    yield np.zeros(len(outcome)), "the duration"
    if outcome.entry is not None:
        yield outcome.entry, "the time from entry to duration"
    if outcome.id is not None:
        number = np.unique(outcome.id, return_inverse=True)[1]
        yield outcome.first_entries[number], "the time from the first entry to duration"


def _copy(values: NDArray[np.float64], times: NDArray[np.float64], name: str) -> Leak | None:
    """Check whether values are times, perhaps in another unit, or in nearly the same order."""
    step = max(1, len(values) // SAMPLE)
    for every in dict.fromkeys((step, 1)):  # a sample is enough to say no
        by_rank = abs(_correlation(rankdata(values[::every]), rankdata(times[::every])))
        if by_rank < 0.99:
            return None
    if abs(_correlation(values, times)) > 0.9999:
        return Leak(f"a copy of {name}, perhaps in another unit", certain=True)
    return Leak(f"ordered as {name} is (rank correlation {by_rank:.3f})", certain=False)


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Correlate two columns; 0 where one of them is constant."""
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
