"""Validate predictions as reviewers ask: every score by cause, horizon, group and centre."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, warn
from survtrace.evaluation.learned_rows import warn_of_learned_rows
from survtrace.evaluation.score_table import checked_horizons, default_horizons
from survtrace.evaluation.subgroups import Group, group_columns, read_groups
from survtrace.evaluation.validation_scores import (
    MIN_EVENTS,
    SCALES,
    Asked,
    calibration_rows,
    decision_rows,
    noted,
    score_rows,
    too_small,
)
from survtrace.metrics import calibration_curve
from survtrace.metrics.centre_spread import centre_spread, difference_test
from survtrace.metrics.inputs import read_subjects, read_thresholds
from survtrace.metrics.observed_expected import warn_of_strange_ratio
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.landmarks import after_landmark, read_landmark
from survtrace.tables.outcome.outcome import Outcome, require_same_subjects
from survtrace.tables.outcome.outcome_warnings import warn_of_late_events
from survtrace.tables.outcome.pairing import read_scored

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # of a standard error
HERE = ["cause", "horizon"]
INTERVAL = ["low", "high"]
SCORE = ["score", "value", "standard_error", *INTERVAL, "note"]
DECISION = ["strategy", "threshold", "value", *INTERVAL, "share_treated",
            "gain", "gain_low", "gain_high"]  # fmt: skip
COLUMNS = {  # of each frame
    "counts": [*HERE, "n", "events", "other_events", "censored", "event_free"],
    "scores": [*HERE, *SCORE],
    "calibration": [*HERE, "predicted", "observed", *INTERVAL],
    "tenths": [*HERE, "predicted", "observed", *INTERVAL, "n"],
    "predictions": [*HERE, "from", "to", "n"],
    "decisions": [*HERE, *DECISION],
    "groups": ["column", "group", *HERE, "n", "events", *SCORE],
    "group_calibration": ["column", "group", *HERE, "predicted", "observed", *INTERVAL],
    "group_decisions": ["column", "group", *HERE, *DECISION],
    "differences": ["column", *HERE, "score", "n_groups", "statistic", "p_value"],
    "spread": [*HERE, "score", "n_centres", "mean", *INTERVAL, "tau", "new_low", "new_high",
               "statistic", "p_value"],
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Validation:
    """What `validate` found: plain frames, one row for each cause, horizon and what it is about.

    All intervals (``low``, ``high``) are of 95 %.

    Attributes
    ----------
    causes, horizons, landmark, centre
        What was validated; ``centre`` is the name of that column, or None.
    counts
        ``n`` subjects; by the horizon ``events`` of the cause, ``other_events`` that came first,
        ``censored`` before it, and ``event_free`` at it.
    scores
        ``score``, ``value``, ``standard_error``, ``low``, ``high``, and a ``note`` that says why a
        value is NaN. Scores are ``observed`` (incidence by Aalen-Johansen), ``expected`` (mean
        prediction), ``O/E``, ``intercept`` and ``slope`` of calibration and the p-value of their
        joint test ``calibration p``, ``ICI``, ``E50``, ``E90``, ``Emax`` (distance of the smooth
        calibration curve) and ``ICI by chance`` (of a calibrated prediction), ``C``, ``AUC``,
        ``Brier``, and ``IPA`` (scaled Brier score).
    calibration
        Points of the smooth curve: ``predicted``, ``observed``, ``low``, ``high``.
    tenths
        The same in tenths of the subjects by prediction, with their number ``n``.
    predictions
        How many subjects ``n`` have a prediction ``from`` .. ``to``, for a histogram.
    decisions
        Net benefit ``value`` of each ``strategy`` (``model``, ``treat all``, ``treat none``) at
        each ``threshold``, and the ``share_treated``; of the model also its ``gain`` over the
        better of the other two, with the interval ``gain_low`` .. ``gain_high`` of the difference.
    groups, group_calibration, group_decisions
        The same by group: ``column`` and ``group`` say which. Groups too small to score are
        there, with the reason as ``note``.
    differences
        For each ``column`` and ``score``, the test that all groups are alike (Cochran's Q).
    spread
        For each score over centres: the ``mean`` and its interval, the standard deviation between
        centres ``tau``, and the interval ``new_low`` .. ``new_high`` for a new centre; see
        `CentreSpread`.
    """

    causes: tuple[Any, ...]
    horizons: tuple[float, ...]
    landmark: float | None
    centre: str | None
    counts: pd.DataFrame
    scores: pd.DataFrame
    calibration: pd.DataFrame
    tenths: pd.DataFrame
    predictions: pd.DataFrame
    decisions: pd.DataFrame
    groups: pd.DataFrame
    group_calibration: pd.DataFrame
    group_decisions: pd.DataFrame
    differences: pd.DataFrame
    spread: pd.DataFrame


def validate(
    est: Any,
    X: Any,
    y: Any,
    *,
    horizons: ArrayLike | None = None,
    by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
    centre: str | ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    cuts: Mapping[str, Sequence[float]] | None = None,
    landmark: float | None = None,
) -> Validation:
    """Validate predictions on subjects not learned from: all scores, by group and by centre.

    IPCW weights come from the scored subjects, and in a group from the group, since people leave
    one hospital's study otherwise than another's.

    Parameters
    ----------
    est
        A fitted `SurvTRACE`, or what has its ``causes_`` and ``predict_cumulative_incidence``.
    X, y
        Subjects it has not learned from; on rows that it has there is a `LearnedRowsWarning`.
    horizons
        When; by default the 25, 50 and 75 % quantiles of the scored subjects' event times.
    by
        Columns of X to group by (the estimator need not know them), or values by name. Numbers of
        more than 5 values are cut into thirds, or at ``cuts``. A group is scored for a cause and
        horizon if 10 of it had the event and 10 are known not to have had it.
    centre
        A column of X, or values: each is a centre, between which the spread is found.
    thresholds
        Predictions above which one would treat, for the decision curve; by default 0.01, 0.02,
        ... up to what 1 % of the subjects exceed (in steps of 0.02 if that is above 0.5).
    cuts
        Where to cut numbers, by column: ``{"age": [50, 65]}``.
    landmark
        Predict for those under observation at this time from what is known of them then; horizons
        are counted from it.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(1200, proportions=(0.4, 0.2), random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> found = validate(est.fit(X[:600], y[:600]), X[600:], y[600:], horizons=[36.0], by="sex")
    >>> found.counts["n"].tolist()  # of each cause
    [600, 600]
    >>> scores = found.scores.set_index(["cause", "score"])
    >>> bool(scores.loc[(1, "C"), "low"] < scores.loc[(1, "C"), "value"])
    True
    >>> sorted(found.groups["group"].unique())
    ['female', 'male']
    """
    X, outcome = read_scored(est, X, y)
    if hasattr(est, "card_"):  # a baseline's does not say whom it learned from
        warn_of_learned_rows(est, outcome)
        warn_of_late_events(outcome, est.time_grid_[-1])
    table = open_table(X)
    require_same_subjects(len(table), outcome)
    groups = read_groups(table, by, centre, cuts)
    unknown = set(group_columns(by, centre)) - set(getattr(est, "feature_names_in_", table.columns))
    table = table.drop(list(unknown))
    if landmark is not None:
        landmark = read_landmark(landmark, outcome, "a validation")
        rows, outcome = after_landmark(outcome, landmark)
        table = table[rows.tolist(), :]
        groups = [group._replace(rows=group.rows[rows]) for group in groups]
    read_subjects(outcome, "a validation without a landmark")
    chosen = default_horizons(outcome) if horizons is None else checked_horizons(horizons, outcome)
    chosen = np.unique(chosen)
    known = {} if landmark is None else {"conditional_after": landmark}
    incidence = est.predict_cumulative_incidence(
        table.to_native(), chosen + (landmark or 0.0), **known
    )
    levels = None if thresholds is None else np.unique(read_thresholds(thresholds))
    frames = _frames(outcome, incidence, tuple(est.causes_), chosen, groups, levels)
    _require_some(frames["scores"])
    _warn_of_strange_level(frames["scores"])
    name = centre if centre is None or isinstance(centre, str) else "centre"
    spread = _spread(frames["groups"], name)
    return Validation(
        tuple(est.causes_), tuple(chosen.tolist()), landmark, name, **frames,
        differences=_differences(frames["groups"]), spread=spread,
    )  # fmt: skip


def _frames(
    outcome: Outcome,
    incidence: Floats,
    causes: Sequence[Any],
    horizons: Floats,
    groups: Sequence[Group],
    thresholds: Floats | None,
) -> dict[str, pd.DataFrame]:
    """Return the frames of all subjects and of each group."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in COLUMNS if name not in ("differences", "spread")
    }
    small: list[str] = []
    for asked in _each(outcome, incidence, causes, horizons):
        here = {"cause": asked.cause, "horizon": asked.horizon}
        levels = _default_thresholds(asked.predicted) if thresholds is None else thresholds
        for name, found in _of_all(asked, levels).items():
            rows[name] += [{**here, **row} for row in found]
        for group in groups:
            part = asked.take(group.rows)
            refused = too_small(part)
            small += [f"{group.column} = {group.name}"] if refused else []
            label = {"column": group.column, "group": group.name, **here}
            for name, found in _of_group(part, levels, refused).items():
                rows[name] += [{**label, **row} for row in found]
    _warn_of_small(small)
    return {name: pd.DataFrame(found, columns=COLUMNS[name]) for name, found in rows.items()}


def _require_some(scores: pd.DataFrame) -> None:
    """Refuse what no score can be found of: a page of dashes would look like a result."""
    if scores["value"].isna().all():
        rule, late, way_out = str(scores["note"].iloc[0]).partition(" Score those at risk")
        rule = f"nothing can be scored here: {rule}"
        if not late:
            raise DataError(rule)
        raise DataError(
            f"{rule}{late}{way_out} A validation does so with landmark=s.",
            in_command=f"{rule} Say --landmark TIME.",
        )


def _each(
    outcome: Outcome, incidence: Floats, causes: Sequence[Any], horizons: Floats
) -> Iterator[Asked]:
    for k, cause in enumerate(causes):
        for j, horizon in enumerate(horizons.tolist()):
            yield Asked(outcome, incidence[:, k, j], horizon, cause)


def _of_all(asked: Asked, thresholds: Floats) -> dict[str, list[dict[str, Any]]]:
    """Return rows of the frames that are about all subjects."""
    return {
        "counts": [_counts(asked)],
        "scores": score_rows(asked),
        "calibration": calibration_rows(asked),
        "tenths": _tenths(asked),
        "predictions": _histogram(asked.predicted),
        "decisions": decision_rows(asked, thresholds),
    }


def _of_group(asked: Asked, thresholds: Floats, refused: str) -> dict[str, list[dict[str, Any]]]:
    """Return rows of the frames that are about a group; no curves if it is too small."""
    size = {"n": len(asked.outcome), "events": asked.n_events}
    return {
        "groups": [{**size, **row} for row in score_rows(asked, refused)],
        "group_calibration": [] if refused else calibration_rows(asked),
        "group_decisions": [] if refused else decision_rows(asked, thresholds),
    }


def _counts(asked: Asked) -> dict[str, int]:
    outcome, events = asked.outcome, asked.n_events
    ended = outcome.duration <= asked.horizon
    every, n_ended = int((ended & (outcome.event > 0)).sum()), int(ended.sum())
    return {"n": len(outcome), "events": events, "other_events": every - events,
            "censored": n_ended - every, "event_free": len(outcome) - n_ended}  # fmt: skip


def _tenths(asked: Asked) -> list[dict[str, float]]:
    curve, _ = noted(calibration_curve, asked)  # why there is none is noted with scores
    if curve is None:
        return []
    columns = (curve.predicted, curve.observed, curve.low, curve.high, curve.size)
    names = ("predicted", "observed", "low", "high", "n")
    return [dict(zip(names, group, strict=True)) for group in zip(*columns, strict=True)]


def _histogram(predicted: Floats) -> list[dict[str, float]]:
    counts, edges = np.histogram(predicted, bins=50)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    return [{"from": low, "to": high, "n": n} for low, high, n in ends]


def _default_thresholds(predicted: Floats) -> Floats:
    most = max(float(np.quantile(predicted, 0.99)), 0.05)
    step = 0.01 if most <= 0.5 else 0.02
    return np.round(np.arange(step, min(most, 0.98) + step / 2, step), 2)


def _differences(groups: pd.DataFrame) -> pd.DataFrame:
    """Test each score for a difference between the groups of a column."""
    rows = []
    for (column, cause, horizon, score), found in _by_score(groups, ["column"]):
        tested = difference_test(*_with_error(found), scale=SCALES[score])
        rows.append((column, cause, horizon, score, *tested))
    return pd.DataFrame(rows, columns=COLUMNS["differences"])


def _spread(groups: pd.DataFrame, centre: str | None) -> pd.DataFrame:
    """Summarise each score over the centres."""
    rows = []
    for (cause, horizon, score), found in _by_score(groups[groups["column"] == centre], []):
        summary = centre_spread(*_with_error(found), scale=SCALES[score])
        rows.append({"cause": cause, "horizon": horizon, "score": score, **asdict(summary)})
    return pd.DataFrame(rows, columns=COLUMNS["spread"])


def _by_score(groups: pd.DataFrame, first: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    comparable = groups[groups["score"].isin(list(SCALES))]
    yield from comparable.groupby([*first, *HERE, "score"], sort=False)


def _with_error(found: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Values and standard errors; NaN, to be left out, where no subject's part differs.

    The AUC of equal predictions is .5 in every group, that of a perfect order 1: what another
    sample would give cannot be told.
    """
    value, error = found["value"], found["standard_error"]
    return value, error.where(error > ROUNDING)


def _warn_of_strange_level(scores: pd.DataFrame) -> None:
    """Warn where events of all causes by the last horizon are far from those expected."""
    last = scores[scores["horizon"] == scores["horizon"].max()]
    means = last.groupby("score")["value"].sum(min_count=1)
    if means.get("expected", 0) > 0 and not np.isnan(means["observed"]):
        warn_of_strange_ratio(float(means["observed"] / means["expected"]))


def _warn_of_small(small: Sequence[str]) -> None:
    if small:
        names = list(dict.fromkeys(small))
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        count = "1 group is" if len(names) == 1 else f"{len(names)} groups are"
        warn(
            f"a group is scored if {MIN_EVENTS} of it had the event by the horizon and "
            f"{MIN_EVENTS} are known not to; {count} not scored for some cause and "
            f"horizon: {', '.join(names[:5])}{more}. Join small groups, or choose other horizons.",
            DataWarning,
        )
