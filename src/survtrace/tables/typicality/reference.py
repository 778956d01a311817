"""The distribution of a measure among those learned from: which share of them reaches a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
N_KNOTS = 64
FARTHEST = 46.0  # minus the logarithm of the smallest share: one in 10^20
TAIL_KNOTS = np.linspace(0.02, 1, 25) ** 1.5  # evenly would miss where it bends most
SHORTEST_TAIL = 0.1


def learn_shares(values: Array) -> Array:
    """Compute knots of a curve from a value to minus the log share that reaches it, (2, knot).

    It follows the shares that were found down to those of some ten subjects, and from there what
    the next one is expected to have if they are exponentially distributed.

    Examples
    --------
    >>> knots = learn_shares(np.random.default_rng(0).exponential(size=5_000))
    >>> np.exp(-minus_log_share(knots, np.array([0.0, 1.0, 7.0]))).round(4).tolist()
    [1.0, 0.3768, 0.0014]
    """
    values = np.sort(values)
    n = len(values)
    n_tail = max(1, min(8 + n // 200, n // 3))
    start = values[n - 1 - n_tail] if n > n_tail else values[0]
    shares = np.geomspace(1, n_tail / n, N_KNOTS)
    x = np.unique(np.quantile(values, 1 - shares, method="nearest"))
    x = x[x <= start]
    level = -np.log((n - np.searchsorted(values, x, "left")) / n)
    beyond = values[values > start] - start
    mean = max(float(beyond.mean()) if len(beyond) else 0.0, SHORTEST_TAIL)
    k = max(len(beyond), 1)
    # Many may have the last value: those beyond it are fewer.
    x, level = np.append(x, start + 1e-6 * mean), np.append(level, -np.log(k / (n + 1)))
    further = (FARTHEST - level[-1]) * TAIL_KNOTS
    # The mean of k excesses is itself uncertain, which makes the tail of the next one longer.
    tail = x[-1] + mean * k * np.expm1(further / k)
    knots = np.stack([np.append(x, tail), np.append(level, level[-1] + further)])
    return np.pad(knots, ((0, 0), (0, N_KNOTS + 1 + len(further) - knots.shape[1])), "edge")


def minus_log_share(knots: Array, values: Array) -> Array:
    """Look up minus the logarithm of the share that reaches each value."""
    return np.interp(values, *knots)
