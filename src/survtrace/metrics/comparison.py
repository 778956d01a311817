"""Whether one prediction beats another, and how a score varies when subjects are drawn again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

from survtrace.errors import DataError, DataWarning, warn
from survtrace.metrics.inputs import Floats, checked_level, read_numbers, read_outcome
from survtrace.metrics.score import Score
from survtrace.rules import between, check_value, random_generator, whole
from survtrace.tables.outcome.outcome import Outcome

LARGEST = 1e100  # of a difference: its square is finite


@dataclass(frozen=True)
class Comparison:
    """First minus second, with its uncertainty.

    Attributes
    ----------
    difference, standard_error, low, high
        The difference; its error; the ends of its interval.
    p_value
        Two-sided, for no difference.
    """

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float


def compare(first: Score, second: Score, level: float = 0.95) -> Comparison:
    """Compare two scores of the same subjects by their influences.

    Examples
    --------
    >>> from survtrace.metrics import concordance_paper
    >>> y = {"event": [1, 1, 1, 1], "duration": [1.0, 2.0, 3.0, 4.0]}
    >>> first = concordance_paper(y, [0.9, 0.5, 0.3, 0.1])
    >>> second = concordance_paper(y, [0.9, 0.2, 0.3, 0.1])
    >>> round(compare(first, second).difference, 3)
    0.167
    """
    if not isinstance(first, Score) or not isinstance(second, Score):
        kinds = f"{type(first).__name__} and {type(second).__name__}"
        raise DataError(
            f"two scores are compared person by person; got {kinds}, which do not know what each "
            "person adds. Pass what the score functions return, without rounding."
        )
    if len(first.influence) != len(second.influence):
        raise DataError(
            "two scores are compared on the same subjects; the first was computed on "
            f"{len(first.influence)} and the second on {len(second.influence)}. Score both on "
            "one outcome."
        )
    gap = first.minus(second)
    low, high = gap.interval(checked_level(level))
    error = gap.standard_error
    p_value = float(float(gap) == 0) if error == 0 else 2 * norm.sf(abs(gap) / error)
    return Comparison(float(gap), error, low, high, float(p_value))


def corrected_t_test(
    differences: ArrayLike, test_fraction: float, level: float = 0.95
) -> Comparison:
    """Test the mean difference over repeated splits, which share subjects (Nadeau and Bengio).

    Parameters
    ----------
    differences
        Score of one method minus that of another, on each split.
    test_fraction
        Share of the subjects in the test part of a split, between 0 and 1.
    level
        Of the interval.

    Examples
    --------
    >>> round(corrected_t_test([0.02, 0.01, 0.03, 0.02], test_fraction=0.2).p_value, 3)
    0.041
    """
    values = read_numbers(differences, "differences")
    bad = ~(np.abs(values) <= LARGEST)
    if values.ndim != 1 or len(values) < 2 or bad.any():
        raise DataError(
            f"differences must be two or more finite numbers, at most {LARGEST:g} from 0; got "
            f"shape {values.shape} with {bad.sum()} not finite or farther. Pass one difference for "
            "each split."
        )
    check_value("test_fraction", test_fraction, between(0, 1, above=True, below=True))
    mean, freedom = float(values.mean()), len(values) - 1
    inflation = 1 / len(values) + test_fraction / (1 - test_fraction)
    error = float(np.sqrt(inflation * values.var(ddof=1)))
    reach = float(t.ppf((1 + checked_level(level)) / 2, freedom)) * error
    p_value = float(mean == 0) if error == 0 else 2 * t.sf(abs(mean) / error, freedom)
    return Comparison(mean, error, mean - reach, mean + reach, float(p_value))


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
        How often to draw as many subjects with replacement; one comes with all of its rows.
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
    >>> risk = rng.normal(size=100)
    >>> y = {"event": np.ones(100, int), "duration": rng.exponential(np.exp(-risk))}
    >>> result = bootstrap(concordance_paper, y, risk, random_state=0)
    >>> bool(result.low < result.estimate < result.high)
    True
    """
    outcome = read_outcome(y)
    arrays = [_with_rows(each, len(outcome)) for each in predictions]
    estimate = score(outcome, *arrays, **settings)
    check_value("n_resamples", n_resamples, whole(2))
    rng, scores = random_generator(random_state), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # issued for the whole already
        for _ in range(n_resamples):
            rows, resample = _drawn(outcome, rng)
            scores.append(score(resample, *(a[rows] for a in arrays), **settings))
    resamples = np.asarray(scores, dtype=np.float64)
    return Bootstrap(estimate, *_error_and_interval(resamples, checked_level(level)), resamples)


def _drawn(outcome: Outcome, rng: np.random.Generator) -> tuple[NDArray[np.int64], Outcome]:
    """Draw as many subjects with replacement, each with all of its rows."""
    if outcome.id is None or not outcome.is_start_stop:
        rows = rng.integers(len(outcome), size=len(outcome))
        return rows, outcome.take(rows)
    order = np.argsort(outcome.id, kind="stable")
    bounds = np.flatnonzero(np.diff(outcome.id[order], prepend=-1, append=np.iinfo(np.int64).max))
    chosen = rng.integers(len(bounds) - 1, size=len(bounds) - 1)
    n_rows = np.diff(bounds)[chosen]
    new_id = np.repeat(np.arange(len(chosen)), n_rows)  # drawn twice: two subjects
    within = np.arange(len(new_id)) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    rows = order[np.repeat(bounds[:-1][chosen], n_rows) + within]
    return rows, replace(outcome.take(rows), id=new_id)


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
    >>> risk = rng.normal(size=100)
    >>> y = {"event": np.ones(100, int), "duration": rng.exponential(np.exp(-risk))}
    >>> paired_bootstrap(concordance_paper, y, risk, -risk, random_state=0).p_value < 0.05
    True
    """

    def difference(outcome: Outcome, one: Floats, other: Floats, **chosen: Any) -> float:
        return float(score(outcome, one, **chosen)) - float(score(outcome, other, **chosen))

    settings |= {"n_resamples": n_resamples, "level": level, "random_state": random_state}
    result = bootstrap(difference, y, first, second, **settings)
    defined = result.resamples[~np.isnan(result.resamples)]
    beyond = min((defined <= 0).sum(), (defined >= 0).sum())
    p_value = min(1.0, 2 * float(beyond + 1) / (len(defined) + 1))
    ends = float(result.low), float(result.high)
    return Comparison(result.estimate, float(result.standard_error), *ends, p_value)


def _with_rows(prediction: ArrayLike, n_subjects: int) -> NDArray[Any]:
    array = read_numbers(prediction, "a prediction")
    if array.shape[:1] != (n_subjects,):
        raise DataError(
            f"a prediction must have one row for each of the {n_subjects} subjects; got shape "
            f"{array.shape}. Pass everything else by name, for example times=... or horizon=...."
        )
    return array


def _error_and_interval(drawn: Floats, level: float) -> tuple[Any, Any, Any]:
    """Compute spread and percentiles over the resamples in which the score is defined."""
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
