"""Do those who have the event earlier get the higher estimate?

All scores here share their rules for ties. Equal estimates count half. Two events of the cause at
the same time are not compared. An event comes before a censoring at the same time, so the pair is
compared. All need n log n steps (Antolini's: times one sweep for each of its times).

Where subjects enter late, a case is compared with those at risk at its event: who enters at that
time or later is not. Weights are those of the chance to be under observation, instead of G.

`concordance_paper` and `concordance_antolini` take start-stop rows: a case's last row is compared
with the row of every other subject that is at risk then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataWarning, warn
from survtrace.metrics.censoring import Part, Ties, read_weights, usable_cases
from survtrace.metrics.inputs import (
    Floats,
    pick_cause,
    read_estimate,
    read_horizon,
    read_outcome,
    read_probabilities,
    read_subjects,
    read_times,
)
from survtrace.metrics.pairs import Integers, PairTotals, jointly_at_risk, pair_totals
from survtrace.metrics.score import Score
from survtrace.tables.outcome.outcome import Outcome


def concordance_paper(
    y: Any,
    estimate: ArrayLike,
    horizon: float | None = None,
    *,
    cause: Any = None,
    y_train: Any = None,
    ties: Ties = "left-limit",
) -> Score:
    """Compute Uno's concordance, the paper's score: other causes count as censored.

    Cases are events of the cause strictly before the horizon, weighted by 1 / G(t-)**2. With
    ``ties="scikit-survival"`` the weight is 1 / G(t)**2: what the paper's authors computed, equal
    to scikit-survival's ``concordance_index_ipcw`` with ``tied_tol=0``.
    Ranking those who died of another cause as if they were still at risk rewards predicting the
    wrong quantity; `concordance_cause_specific` is the score to prefer with several causes.

    NOTE[PAPER eq. 24]: as printed, an event at the horizon is a case, too; the authors computed it
    without.

    Parameters
    ----------
    y, cause, y_train, ties
        As in `brier_score`. Events after the last usable time are no cases, with one warning.
    estimate
        One number for each subject, higher for a higher risk.
    horizon
        Where the score is truncated; by default nowhere.

    Returns
    -------
    Score
        NaN, with a warning, if no pair is comparable.

    Examples
    --------
    >>> y = {"event": [1, 1, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> concordance_paper(y, [0.9, 0.2, 0.4, 0.1])
    0.8
    """
    outcome, limit = read_outcome(y), read_horizon(horizon)
    number = pick_cause(outcome, cause)
    values = read_estimate(estimate, outcome)
    weights = read_weights(y_train, outcome, ties, cause=number)
    cases = (outcome.event == number) & (outcome.duration < limit)
    weights.require_start(outcome.duration[cases].max(initial=0.0), "a concordance")
    cases = usable_cases(cases, outcome.duration, weights.censoring)
    weight = np.where(cases, weights.of_events() ** 2, 0.0)
    key = _ends_later(outcome.duration, outcome.event != number)
    totals = jointly_at_risk(outcome, key, values, weight, np.ones(len(outcome)))
    squared = Part(2 * totals.gaps(totals)[0], outcome.duration, weights.left_limit)
    return _checked(totals.score(weights, squared, id=_subjects(outcome)), limit)


def concordance_cause_specific(
    y: Any,
    estimate: ArrayLike,
    horizon: float | None = None,
    *,
    cause: Any = None,
    y_train: Any = None,
) -> Score:
    """Compute the concordance for competing causes (Wolbers and Gerds, 2014).

    A case, with an event of the cause at t_i up to and including the horizon, is compared with

    - those followed longer, and those censored at t_i, with weight 1 / G(t_i-)**2;
    - those who had an event of another cause at t_j <= t_i, since they never have this one,
      with weight 1 / (G(t_i-) G(t_j-)).

    Where nobody is censored at the time of an event these are the weights of pec's ``cindex``,
    which has 1 / (G(t_i-) G(t_i)) in the first. That is right for those followed beyond t_i alone;
    with those censored then it weighs the first too much against the second. With late entry the
    chance to be under observation takes the place of G, and the first are those at risk at t_i.
    Parameters and result are those of `concordance_paper`, with which it agrees if there is one
    cause and no horizon; here only subjects who left the study count as censored.

    Examples
    --------
    >>> y = {"event": [1, 2, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> concordance_cause_specific(y, [0.9, 0.2, 0.4, 0.1], cause=1)
    0.6
    """
    outcome = read_subjects(y, "the cause-specific concordance")
    limit, number = read_horizon(horizon), pick_cause(outcome, cause)
    values = read_estimate(estimate, outcome)
    weights, duration = read_weights(y_train, outcome), outcome.duration
    censoring = weights.censoring
    cases = (outcome.event == number) & (duration <= limit)
    weights.require_start(duration[cases].max(initial=0.0), "a concordance")
    cases = usable_cases(cases, duration, censoring)
    others = (outcome.event > 0) & ~(outcome.event == number)
    others &= duration <= censoring.last_usable
    just_before = censoring.inverse_before(duration)
    later = jointly_at_risk(
        outcome,
        _ends_later(duration, outcome.event == 0),
        values,
        np.where(cases, just_before**2, 0.0),
        np.ones(len(outcome)),
    )
    never = pair_totals(
        -_ends_later(duration, cases),
        values,
        np.where(cases, just_before, 0.0),
        np.where(others, just_before, 0.0),
    )
    totals = later + never
    of_later, of_never = later.gaps(totals)[0], never.gaps(totals).sum(axis=0)
    just_before_t = Part(2 * of_later + of_never, duration, True)
    return _checked(totals.score(weights, just_before_t), limit)


def concordance_antolini(
    y: Any, incidence: ArrayLike, times: ArrayLike, *, cause: Any = None
) -> Score:
    """Compute Antolini's concordance: at each event, compare incidences at that time.

    Pairs are those of `concordance_paper`, other causes counting as censored, all of equal
    weight. Without equal predictions it equals pycox's ``"antolini"`` (which counts them as
    wrong); without equal durations its ``"adj_antolini"``.

    Parameters
    ----------
    y, incidence, cause
        As in `brier_score`.
    times
        Increasing; between two times the incidence keeps its value, before the first it is 0.

    Examples
    --------
    >>> y = {"event": [1, 1, 0], "duration": [1.0, 2.0, 3.0]}
    >>> concordance_antolini(y, [[0.5, 0.6], [0.2, 0.7], [0.3, 0.4]], times=[1.0, 2.0])
    1.0
    """
    outcome, grid = read_outcome(y), read_times(times, increasing=True)
    number = pick_cause(outcome, cause)
    values = read_probabilities(incidence, outcome, grid, "incidence")
    cases = outcome.event == number
    column = np.searchsorted(grid, outcome.duration, side="right") - 1
    if (cases & (column < 0)).any():
        warn(
            f"{(cases & (column < 0)).sum()} events come before the first of times, {grid[0]:g}; "
            "all predictions are 0 there, so their pairs count half. Begin times with the first "
            "event.",
            DataWarning,
        )
    key, n = _ends_later(outcome.duration, ~cases), len(outcome)
    totals = PairTotals(np.zeros((2, n)), np.zeros((2, n)))
    for place in np.unique(column[cases]):
        estimate, now = values[:, place] if place >= 0 else np.zeros(n), cases & (column == place)
        seen = np.flatnonzero(key >= key[now].min())  # only they can be in a pair with these cases
        weight, ones = now[seen].astype(float), np.ones(len(seen))
        part = jointly_at_risk(outcome.take(seen), key[seen], estimate[seen], weight, ones)
        totals.concordant[:, seen] += part.concordant
        totals.comparable[:, seen] += part.comparable
    return _checked(totals.score(id=_subjects(outcome)), np.inf)


def _subjects(outcome: Outcome) -> Integers | None:
    """Return the subject of each row, if any has several."""
    return outcome.id if outcome.is_start_stop else None


def _ends_later(duration: Floats, last: NDArray[np.bool_]) -> Integers:
    """Number the subjects by duration; of equal ones, those marked ``last`` come after."""
    return 2 * np.unique(duration, return_inverse=True)[1] + last


def _checked(score: Score, horizon: float) -> Score:
    if np.isnan(score):
        until = "" if np.isinf(horizon) else f" up to the horizon {horizon:g}"
        warn(
            f"no pair of subjects can be compared: nobody has a usable event{until} that another "
            "subject outlasts. The concordance is NaN; choose a later horizon.",
            DataWarning,
        )
    return score
