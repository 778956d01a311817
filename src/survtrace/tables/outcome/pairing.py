"""Pair covariates and outcome of the same subjects: columns by role, rows by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn.exceptions import NotFittedError

from survtrace.errors import DataError, DataWarning, warn
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.alignment import align_rows
from survtrace.tables.outcome.censoring_labels import ask_about_cause
from survtrace.tables.outcome.outcome import Outcome, read_outcome
from survtrace.tables.outcome.outcome_warnings import warn_of_other_events
from survtrace.tables.outcome.roles import names_columns, read_roles


class Pair(NamedTuple):
    """Covariates, outcome and weights, and the labels and name of the event column."""

    X: Any
    y: Any
    sample_weight: Any = None
    censored: Any = None
    event_name: str | None = None


def pair(X: Any, y: Any, sample_weight: Any = None) -> Pair:
    """Take the columns that ``y`` names out of X, or bring ``y`` into the order of its rows.

    Examples
    --------
    >>> table = {"age": [61, 47], "cause": [0, 1], "months": [9.0, 4.0]}
    >>> found = pair(table, {"event": "cause", "duration": "months"})
    >>> list(found.X.columns), found.y["duration"].tolist()
    (['age'], [9.0, 4.0])
    """
    if isinstance(X, Mapping):
        X = open_table(X).to_native()
    if names_columns(y):
        return _by_roles(X, y, sample_weight)
    return Pair(X, align_rows(X, y, "y"), align_rows(X, sample_weight, "sample_weight"))


def read_scored(est: Any, X: Any, y: Any) -> tuple[Any, Outcome]:
    """Return covariates, and the outcome in the causes of a fitted estimator."""
    if not hasattr(est, "causes_"):
        raise NotFittedError(f"This {type(est).__name__} has no causes_ yet. Call fit first.")
    given = pair(X, y)
    attrs = getattr(given.y, "attrs", {})  # see `split_outcome`
    censored = attrs.get("censored") if given.censored is None else given.censored
    name = given.event_name or attrs.get("event_name")
    if censored is None and name is not None:
        ask_about_cause(name, est.causes_)
    outcome = read_outcome(  # other estimators, such as the baselines, lack the last two
        given.y,
        causes=est.causes_,
        censored=getattr(est, "censored_", ()) if censored is None else censored,
        zero_duration=getattr(est, "zero_duration", "raise"),
    )
    entry = getattr(est, "entry_", None)
    if outcome.entry is None and entry is not None and entry[0] > 0:
        warn(
            "y has no entry, so its subjects count as under observation from 0 on; those learned "
            f"from came at {entry[0]:g} at the earliest. If duration has the same origin, such as "
            "birth, pass entry.",
            DataWarning,
        )
    card = getattr(est, "card_", None)  # which a baseline lacks
    if card and "n_events" in card:
        warn_of_other_events(outcome, card["n_events"], card.get("n_censored", 0))
    return given.X, outcome


def _by_roles(X: Any, y: Mapping[Any, Any], sample_weight: Any) -> Pair:
    roles, table = read_roles(y), open_table(X)
    covariates = table.select(roles.covariates(table.columns)).to_native()
    outcome = table.select(list(roles.outcome)).rename(roles.outcome).to_native()
    weight = align_rows(X, sample_weight, "sample_weight")
    if roles.weight is not None and weight is None:
        weight = table[roles.weight].to_numpy()
    elif roles.weight is not None:
        raise DataError(
            "sample weights must be given once; got sample_weight and the column "
            f"{roles.weight!r} in y. Leave one of them out."
        )
    return Pair(covariates, outcome, weight, roles.censored, roles.event)
