"""How a score varies when the subjects are drawn again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, SettingError, warn
from survtrace.metrics.comparison import Comparison, checked_level
from survtrace.metrics.inputs import Floats, read_outcome
from survtrace.tables.outcome.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """A score, or one for each time, and how it varies over resampled subjects.

    Attributes
    ----------
    estimate, standard_error, low, high
        The score of all subjects; its error; the ends of its percentile interval.
    resamples
        The score of each resample, along the first axis.
    """

    estimate: Any
    standard_error: Any
    low: Any
    high: Any
    resamples: Floats


def bootstrap(
    score: Callable[..., Any],
    y: Any,
    *predictions: ArrayLike,
    n_resamples: int = 200,
    level: float = 0.95,
    random_state: Any = None,
    **settings: Any,
) -> Bootstrap:
    """Resample subjects to see how a score varies.

    Parameters
    ----------
    score
        Called as ``score(y, *predictions, **settings)``.
    y
        The outcome of the scored subjects.
    *predictions
        Arrays with one row for each subject, resampled with ``y``.
    n_resamples
        How often to draw as many subjects with replacement.
    level
        Of the percentile interval.
    random_state
        Seed or generator.
    **settings
        Passed on: ``times``, ``cause``, ``horizon``, ``y_train``. Without ``y_train`` each
        resample estimates its own censoring survival, whose uncertainty is then included.

    Examples
    --------
    >>> from survtrace.metrics import concordance_paper
    >>> rng = np.random.default_rng(0)
    >>> danger = rng.normal(size=100)
    >>> y = {"event": np.ones(100, int), "duration": rng.exponential(np.exp(-danger))}
    >>> result = bootstrap(concordance_paper, y, danger, random_state=0)
    >>> bool(result.low < result.estimate < result.high)
    True
    """
    outcome = read_outcome(y)
    arrays = [_with_rows(each, len(outcome)) for each in predictions]
    estimate = score(outcome, *arrays, **settings)
    drawn = _resamples(score, outcome, arrays, n_resamples, random_state, settings)
    return Bootstrap(estimate, *_error_and_interval(drawn, checked_level(level)), drawn)


def paired_bootstrap(
    score: Callable[..., Any],
    y: Any,
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_resamples: int = 200,
    level: float = 0.95,
    random_state: Any = None,
    **settings: Any,
) -> Comparison:
    """Compare two predictions for the same subjects by a score, resampling subjects.

    Examples
    --------
    >>> from survtrace.metrics import concordance_paper
    >>> rng = np.random.default_rng(0)
    >>> danger = rng.normal(size=100)
    >>> y = {"event": np.ones(100, int), "duration": rng.exponential(np.exp(-danger))}
    >>> paired_bootstrap(concordance_paper, y, danger, -danger, random_state=0).p_value < 0.05
    True
    """

    def difference(outcome: Outcome, one: Floats, other: Floats, **chosen: Any) -> float:
        return float(score(outcome, one, **chosen)) - float(score(outcome, other, **chosen))

    result = bootstrap(
        difference,
        y,
        first,
        second,
        n_resamples=n_resamples,
        level=level,
        random_state=random_state,
        **settings,
    )
    known = result.resamples[~np.isnan(result.resamples)]
    beyond = min((known <= 0).sum(), (known >= 0).sum())
    p_value = min(1.0, 2 * float(beyond + 1) / (len(known) + 1))
    ends = float(result.low), float(result.high)
    return Comparison(result.estimate, float(result.standard_error), *ends, p_value)


def _with_rows(prediction: ArrayLike, n_subjects: int) -> NDArray[Any]:
    array = np.asarray(prediction)
    if array.shape[:1] != (n_subjects,):
        raise DataError(
            f"a prediction must have one row for each of the {n_subjects} subjects; got shape "
            f"{array.shape}. Pass everything else by name, for example times=... or horizon=...."
        )
    return array


def _resamples(
    score: Callable[..., Any],
    outcome: Outcome,
    arrays: list[NDArray[Any]],
    n_resamples: int,
    random_state: Any,
    settings: dict[str, Any],
) -> Floats:
    """Scores of resamples, without repeating for each the warnings given for the whole."""
    if n_resamples < 2:
        raise SettingError(f"n_resamples must be 2 or more; got {n_resamples}.")
    rng = np.random.default_rng(random_state)
    drawn = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for _ in range(n_resamples):
            rows = rng.integers(len(outcome), size=len(outcome))
            drawn.append(score(outcome.take(rows), *(a[rows] for a in arrays), **settings))
    return np.asarray(drawn, dtype=np.float64)


def _error_and_interval(drawn: Floats, level: float) -> tuple[Any, Any, Any]:
    """Spread and percentiles over the resamples in which the score is defined."""
    undefined = np.isnan(drawn).reshape(len(drawn), -1).any(axis=1).sum()
    if undefined:
        warn(
            f"the score is NaN in {undefined} of {len(drawn)} resamples; the interval is that of "
            "the others. Score more subjects, or up to an earlier time.",
            DataWarning,
        )
    tail = (1 - level) / 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN|Degrees of freedom", RuntimeWarning)
        low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=0)
        return np.nanstd(drawn, axis=0, ddof=1), low, high
