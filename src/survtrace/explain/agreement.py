"""Whether attention may be read as importance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata

from survtrace.errors import DataError
from survtrace.metrics.inputs import checked_level
from survtrace.naming import capital


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How far attention agrees with permutation importance; its text is for reading.

    Attributes
    ----------
    table
        Columns ``cause``, ``correlation`` (Spearman's, over covariates), ``low`` and ``high``.
    n_covariates
        How many covariates were ranked.
    least, most
        The smallest and the largest relevance; all are ``1 / n_covariates`` if attention is even.
    level
        Of the intervals.
    """

    table: pd.DataFrame
    n_covariates: int
    least: float
    most: float
    level: float

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self, cause_names: Mapping[Any, str] | None = None) -> list[str]:
        """Say how even attention is, and of each cause whether it may be read as importance."""
        least, most, even = 100 * self.least, 100 * self.most, 100 / self.n_covariates
        share = (
            f"Attention gives each of {self.n_covariates} covariates between {least:.1f} and "
            f"{most:.1f} % of its weight; even would be {even:.1f} %."
        )
        names = cause_names or {label: f"cause {label}" for label in self.table["cause"]}
        rows = self.table.itertuples()
        return [share, *(f"{capital(names[row.cause])}: {self._verdict(row)}" for row in rows)]

    def _verdict(self, row: Any) -> str:
        if np.isnan(row.correlation):
            return "attention or importance has no order to compare."
        if row.low > 0:
            verdict = "attention ranks covariates much as their importance does"
        elif row.high < 0:
            verdict = "attention ranks covariates against their importance; do not rely on it"
        else:
            verdict = "attention does not tell which covariates matter; rely on their importance"
        return (
            f"{verdict} (rank correlation {row.correlation:.2f}, "
            f"{100 * self.level:g} % interval {row.low:.2f} to {row.high:.2f})."
        )


def faithfulness(
    relevance: pd.DataFrame, importance: pd.DataFrame, *, level: float = 0.95
) -> Faithfulness:
    """Correlate ranks of attention and permutation importance, for each cause.

    The interval is Bonett and Wright's, which takes the covariates as a sample: with few of them
    it is wide, as it should be.

    Parameters
    ----------
    relevance
        From `covariate_relevance`.
    importance
        From `permutation_importance`, on the same covariates.
    level
        Of the interval.

    References
    ----------
    Bonett D. G., Wright T. A. (2000). Sample size requirements for estimating Pearson, Kendall
    and Spearman correlations. Psychometrika 65:23-28.

    Examples
    --------
    >>> looked = pd.DataFrame({"covariate": list("abcde"), "relevance": [0.3, 0.2, 0.2, 0.2, 0.1]})
    >>> used = pd.DataFrame({"cause": 1, "covariate": list("abcde"),
    ...                      "importance": [0.2, 0.0, 0.1, 0.0, 0.0]})
    >>> print(faithfulness(looked, used))             # doctest: +NORMALIZE_WHITESPACE
    Attention gives each of 5 covariates between 10.0 and 30.0 % of its weight; even would be
    20.0 %.
    Cause 1: attention does not tell which covariates matter; rely on their importance
    (rank correlation 0.75, 95 % interval -0.53 to 0.99).
    """
    looked_at = relevance.set_index("covariate")["relevance"]
    rows = []
    for cause, table in importance.groupby("cause", sort=False):
        used = table.set_index("covariate")["importance"]
        if set(used.index) != set(looked_at.index) or len(used) != len(looked_at):
            raise DataError(
                "relevance and importance must be of the same covariates; got "
                f"{sorted(looked_at.index)} and, for cause {cause}, {sorted(used.index)}. Compute "
                "both from one estimator."
            )
        rows.append((cause, *rank_correlation(looked_at, used[looked_at.index], level)))
    return Faithfulness(
        pd.DataFrame(rows, columns=["cause", "correlation", "low", "high"]),
        len(looked_at),
        float(looked_at.min()),
        float(looked_at.max()),
        level,
    )


def rank_correlation(
    first: ArrayLike, second: ArrayLike, level: float = 0.95
) -> tuple[float, float, float]:
    """Spearman's correlation and its interval; NaN where a side has one value only.

    Fisher's transformation with Bonett and Wright's error. A correlation of 1 is taken for half a
    step less, a step being what swapping two neighbours costs, so that a few covariates in the
    same order prove nothing.

    Examples
    --------
    >>> [round(number, 2) for number in rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])]
    [1.0, -0.69, 1.0]
    """
    reach = float(norm.ppf((1 + checked_level(level)) / 2))
    ranks = rankdata([first, second], axis=1)
    n = ranks.shape[1]
    if (np.ptp(ranks, axis=1) == 0).any():
        return np.nan, np.nan, np.nan
    correlation = float(np.corrcoef(ranks)[0, 1])
    if n < 4:
        return correlation, -1.0, 1.0
    most = 1 - 6 / (n**3 - n)
    inner = np.clip(correlation, -most, most)
    error = np.sqrt((1 + inner**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(inner) + np.array([-reach, reach]) * error)
    return correlation, float(low), float(high)
