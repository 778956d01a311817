"""Everything the page on a validation shows, in numbers, frames and sentences."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from survtrace.estimator import SurvTRACE
from survtrace.evaluation import Validation, validate
from survtrace.evaluation.subgroups import group_columns
from survtrace.naming import Names, names_of
from survtrace.report.checklist import Entry, fill_checklist
from survtrace.report.checklist_facts import Known
from survtrace.report.collected import read_cohort, sentences, versions
from survtrace.report.description import CohortSummary, FitSummary, describe, describe_fit
from survtrace.report.formatting import signed
from survtrace.report.overlap import check_rows
from survtrace.report.progress import Tell, say_nothing
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.typicality.typicality import UNLIKE

MOST_PANELS = 6  # causes times horizons that are all drawn; of more, the middle horizon


@dataclass(frozen=True, eq=False)
class ValidationSummary:
    """All parts of the page on a validation.

    Attributes
    ----------
    alerts, remarks
        Sentences that forbid, or qualify, a reading of the scores.
    cohort, validation, fit
        The scored subjects, how the predictions did, and the model as it was made.
    checklist
        An entry for each item of TRIPOD+AI.
    names, about
        Of causes, covariates and times, with the model card; and what was said of the validation.
    updates
        How the model was updated since its fit, from ``updates_``.
    unlike
        The share of rows unlike the patients learned from, by `SurvTRACE.typicality`; None where
        the model cannot tell.
    versions, made
        Of the software; and when.
    """

    alerts: tuple[str, ...]
    remarks: tuple[str, ...]
    cohort: CohortSummary
    validation: Validation
    fit: FitSummary
    checklist: list[Entry]
    names: Names
    about: Mapping[str, str]
    updates: list[dict[str, Any]]
    unlike: float | None
    versions: dict[str, str]
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def middle_horizon(self) -> float:
        """The middle one of the horizons."""
        return self.validation.horizons[len(self.validation.horizons) // 2]

    @property
    def drawn_horizons(self) -> tuple[float, ...]:
        """The horizons of figures and group tables: all, or the middle one of many."""
        horizons = self.validation.horizons
        if len(horizons) * len(self.validation.causes) <= MOST_PANELS:
            return horizons
        return (self.middle_horizon,)


def collect_validation(
    est: SurvTRACE,
    X: Any,
    y: Any,
    *,
    horizons: ArrayLike | None = None,
    by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
    centre: str | ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    landmark: float | None = None,
    about: Mapping[str, str] | None = None,
    tell: Tell = say_nothing,
) -> ValidationSummary:
    """Validate an estimator, and collect what a page shows about it.

    Parameters
    ----------
    est
        A fitted estimator.
    X, y, horizons, by, centre, thresholds, landmark
        As in `survtrace.evaluation.validate`.
    about
        What no table holds of these subjects, by the topics of the setting ``about``.
    tell
        Called with each step in words.

    Examples
    --------
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(600, proportions=(0.4, 0.2), random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> est = est.fit(X[:300], y[:300])
    >>> found = collect_validation(est, X[300:], y[300:], horizons=[36.0])
    >>> len(found.checklist), found.drawn_horizons
    (52, (36.0,))
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        known = set(group_columns(by, centre)) - set(map(str, est.feature_names_in_))
        table = open_table(X)
        covariates = table.drop([name for name in known if name in table.columns]).to_native()
        tell("reading the table")
        frame, outcome = read_cohort(est, covariates, y)
        alerts, remarks = check_rows(est, (frame, outcome), None)
        cohort = describe(est, frame, outcome)
        unlike = _unlike(est, frame)
    with warnings.catch_warnings(record=True) as of_scores:
        warnings.simplefilter("always")
        tell("scoring")
        groups: dict[str, Any] = {"by": by, "centre": centre, "thresholds": thresholds}
        found = validate(est, X, y, horizons=horizons, landmark=landmark, **groups)
    names, said = names_of(est), dict(about or {})
    return ValidationSummary(
        alerts=alerts,
        remarks=(*remarks, *dict.fromkeys([*sentences(caught), *sentences(of_scores)])),
        cohort=cohort,
        validation=found,
        fit=describe_fit(est),
        checklist=fill_checklist(Known(est, names, cohort, found, said)),
        names=names,
        about=said,
        updates=list(getattr(est, "updates_", None) or []),
        unlike=unlike,
        versions=versions(),
    )


def _unlike(est: SurvTRACE, frame: pd.DataFrame) -> float | None:
    if getattr(est, "typicality_", None) is None:
        return None
    return float((est.typicality(frame) < UNLIKE).mean())


def verdicts(summary: ValidationSummary, cause: Any, horizon: float) -> list[str]:
    """Say in plain words how the predictions of a cause by a horizon did."""
    table = summary.validation.scores
    rows = table[(table["cause"] == cause) & (table["horizon"] == horizon)].set_index("score")
    found = [_level(rows.loc["O/E"]), _spread(rows.loc["slope"]), _ranking(rows.loc["AUC"])]
    return [*filter(None, [*found, _usefulness(summary.validation.decisions, cause, horizon)])]


def _level(row: pd.Series[Any]) -> str:
    if pd.isna(row["value"]):
        return ""
    shown = f"(observed/expected {row['value']:.2f}, {row['low']:.2f} to {row['high']:.2f})"
    if row["low"] <= 1 <= row["high"]:
        return f"No clear difference between the events that came and those predicted {shown}."
    more = row["value"] - 1
    many = f"{abs(more):.0%} {'more' if more > 0 else 'fewer'}"
    return f"On average {many} events came than were predicted {shown}."


def _spread(row: pd.Series[Any]) -> str:
    if pd.isna(row["value"]):
        return ""
    value, low, high = (signed(row[name]).removeprefix("+") for name in ("value", "low", "high"))
    shown = f"(slope {value}, {low} to {high})"
    if row["low"] <= 1 <= row["high"]:
        return f"Predictions are neither clearly too extreme nor too moderate {shown}."
    if row["value"] < 1:
        return f"Predictions are too extreme: high ones too high, low ones too low {shown}."
    return f"Predictions are too moderate: high ones too low, low ones too high {shown}."


def _ranking(row: pd.Series[Any]) -> str:
    if pd.isna(row["value"]):
        return ""
    return (
        "Of two subjects, one with the event by then and one without, the first had the higher "
        f"prediction in {100 * row['value']:.0f} of 100 pairs (AUC {row['value']:.2f}, "
        f"{row['low']:.2f} to {row['high']:.2f})."
    )


def _usefulness(decisions: pd.DataFrame, cause: Any, horizon: float) -> str:
    here = decisions[(decisions["cause"] == cause) & (decisions["horizon"] == horizon)]
    if here.empty:
        return ""
    wide = here.pivot_table("value", "threshold", "strategy", dropna=False)
    other = wide[["treat all", "treat none"]].max(axis=1)
    better = wide.index[wide["model"] > other]
    if not len(better):
        return "At no threshold examined does deciding by it beat treating all or nobody."
    where = f"{better.min():g}"
    if len(better) > 1:  # there may be others between
        where = f"the lowest {where}, the highest {better.max():g}"
    low = here[here["strategy"] == "model"].set_index("threshold")["low"]
    clear = int((low > other).sum()) or "none"
    return (
        f"Deciding by it beats treating all or nobody at {len(better)} of {len(wide)} thresholds "
        f"examined ({where}); its interval lies above both at {clear} of them."
    )
