"""The estimator as it was made: what it answers about, its settings, how training went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from survtrace.estimator import SurvTRACE


@dataclass(frozen=True, eq=False)
class FitSummary:
    """The estimator as it was made.

    Attributes
    ----------
    causes, covariates, time_grid
        What it answers about, from what, and its cut points.
    settings
        Columns ``setting``, ``value``, ``default`` and ``changed``; the changed ones first.
    history
        Losses of each epoch and member.
    members
        Columns ``member``, ``epochs`` (trained), ``best`` (epoch, from 0), ``loss`` (validation,
        there) and ``improving`` (whether the best was the last epoch allowed).
    seconds
        That training took.
    n_parameters
        Of all members together.
    median_event_time, longest
        Median event time and longest duration of the rows it learned from.
    """

    causes: tuple[Any, ...]
    covariates: tuple[str, ...]
    time_grid: tuple[float, ...]
    settings: pd.DataFrame
    history: pd.DataFrame
    members: pd.DataFrame
    seconds: float
    n_parameters: int
    median_event_time: float
    longest: float


def describe_fit(est: SurvTRACE) -> FitSummary:
    """Read a fitted estimator.

    Examples
    --------
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> settings = describe_fit(est).settings
    >>> settings[settings["changed"]]["setting"].tolist()
    ['max_epochs', 'n_members', 'random_state', 'verbose']
    """
    history = est.history_
    return FitSummary(
        tuple(est.causes_),
        tuple(map(str, est.feature_names_in_)),
        tuple(est.time_grid_.tolist()),
        _settings(est),
        history,
        _members(history, est.max_epochs),
        float(history.drop_duplicates("epoch")["seconds"].sum()),
        sum(parameter.numel() for parameter in est.network_.parameters()),
        est.median_event_time_,
        float(est.censoring_.times[-1]),
    )


def _settings(est: SurvTRACE) -> pd.DataFrame:
    chosen, defaults = est.get_params(), SurvTRACE().get_params()
    rows = [
        (name, value, defaults[name], repr(value) != repr(defaults[name]))
        for name, value in sorted(chosen.items())
    ]
    table = pd.DataFrame(rows, columns=["setting", "value", "default", "changed"], dtype=object)
    table["changed"] = table["changed"].astype(bool)
    return table.sort_values("changed", ascending=False, kind="stable", ignore_index=True)


def _members(history: pd.DataFrame, max_epochs: int) -> pd.DataFrame:
    rows = []
    for member, epochs in history.groupby("member"):
        best = epochs[epochs["improved"]].iloc[-1]
        last = int(best["epoch"]) == max_epochs - 1
        rows.append((member, len(epochs), int(best["epoch"]), best["validation_loss"], last))
    return pd.DataFrame(rows, columns=["member", "epochs", "best", "loss", "improving"])
