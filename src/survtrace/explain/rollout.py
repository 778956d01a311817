"""Where the network looked: attention by name, rolled up over layers, and over a cohort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.estimator import SurvTRACE
from survtrace.explain.frame import read_frame
from survtrace.inference.rolled_attention import attention_rollout
from survtrace.metrics.inputs import checked_level
from survtrace.rules import check_flags

AT_ONCE = 4096


def attention_table(est: SurvTRACE, X: Any, *, rolled_up: bool = False) -> pd.DataFrame:
    """List attention of each subject by name, one row for each pair of covariates.

    Parameters
    ----------
    est
        A fitted estimator.
    X
        Covariates of the subjects.
    rolled_up
        Roll layers and heads up into one weight for each pair, as `attention_rollout` does.

    Returns
    -------
    DataFrame
        Columns ``subject`` (the row label of X), ``layer`` and ``head`` (from 0; not where rolled
        up), ``from``, ``to`` and ``weight``: how much of what the token of ``from`` takes in comes
        from ``to``. The weights of one ``from`` sum to 1.

    Examples
    --------
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
    >>> table = attention_table(est, X[:5])
    >>> list(table.columns), len(table) == 5 * 3 * 2 * X.shape[1] ** 2
    (['subject', 'layer', 'head', 'from', 'to', 'weight'], True)
    """
    check_flags(rolled_up=rolled_up)
    frame = read_frame(est, X)
    weights: NDArray[Any] = est.attention(frame)
    names = list(est.feature_names_in_)
    axes: dict[str, Any] = {"subject": frame.index}
    if rolled_up:
        weights = attention_rollout(weights)
    else:
        axes |= {"layer": range(weights.shape[1]), "head": range(weights.shape[2])}
    axes |= {"from": names, "to": names}
    pairs = pd.MultiIndex.from_product(list(axes.values()), names=list(axes))
    return pairs.to_frame(index=False).assign(weight=weights.ravel())


def covariate_relevance(est: SurvTRACE, X: Any, *, level: float = 0.95) -> pd.DataFrame:
    """Compute each covariate's share in what the network looked at, over a cohort.

    A subject's relevance of a covariate is its column of the rolled-up attention, averaged over
    rows. Relevances sum to 1; if attention is even, each is ``attrs["even"]``, one over the number
    of covariates, whatever the covariates do. Small differences from it mean little:
    check with `faithfulness` before reading them.

    Parameters
    ----------
    est
        A fitted estimator.
    X
        Covariates of the cohort.
    level
        Share of the subjects between ``low`` and ``high``.

    Returns
    -------
    DataFrame
        Columns ``covariate``, ``relevance`` (mean over subjects), ``low`` and ``high`` (between
        which the central subjects lie), the most relevant first.

    Examples
    --------
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
    >>> float(covariate_relevance(est, X)["relevance"].sum().round(6))
    1.0
    """
    outside = (1 - checked_level(level)) / 2
    frame = read_frame(est, X)
    pieces = (frame[first : first + AT_ONCE] for first in range(0, max(len(frame), 1), AT_ONCE))
    relevance = np.concatenate(
        [attention_rollout(est.attention(piece)).mean(axis=1) for piece in pieces]
    )
    low, high = np.quantile(relevance, [outside, 1 - outside], axis=0)
    columns = {"relevance": relevance.mean(axis=0), "low": low, "high": high}
    table = pd.DataFrame({"covariate": list(est.feature_names_in_), **columns})
    table = table.sort_values("relevance", ascending=False, ignore_index=True)
    table.attrs["even"] = 1 / len(table)
    return table
