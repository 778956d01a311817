"""Describe the covariates of a fitted estimator: names, kinds, ranges, levels, units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from survtrace.app.answers.limits import Limits
from survtrace.model_card import card_facts
from survtrace.naming import card_events, names_of
from survtrace.tables.covariates.covariate import Kind
from survtrace.tables.covariates.encoding import Scale

if TYPE_CHECKING:
    from survtrace.estimator import SurvTRACE
    from survtrace.portable import PortableSurvTRACE

    Fitted = SurvTRACE | PortableSurvTRACE

TEN_YEARS = {"year": 10.0, "yr": 10.0, "month": 120.0, "week": 520.0, "day": 3650.0}
IN_TABLE = ("Covariates", "Missing values")  # of the card: said of each covariate
WITH_UNIT = re.compile(r"(?P<label>.*\S)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]")


@dataclass
class CovariateSchema:
    """One covariate; ``low`` to ``high`` holds 98 % of the training subjects.

    ``missing`` is the share of training rows without a value; null where the card lacks it.
    """

    name: str
    label: str
    unit: str
    kind: Kind
    typical: float | str | None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    levels: list[str] = field(default_factory=list)
    missing: float | None = None


@dataclass
class TimeSchema:
    """Name and unit of the clock, where the curves begin and end, and the median event time.

    ``now`` is null where everybody was observed from 0 on. Else subjects are asked about from a
    time of their own on, such as their age: ``now`` is that of a typical subject, in steps of
    ``step``, and ``ahead`` how far to look from there.
    """

    unit: str
    name: str
    start: float
    end: float
    median: float
    now: float | None = None
    step: float | None = None
    ahead: float | None = None


@dataclass
class ModelSchema:
    """The model's name, and when and on whom it was fitted; null where its card lacks it."""

    name: str
    fitted_on: str | None
    n_subjects: int | None
    outcomes: list[tuple[str, int]]
    interrupted: bool
    facts: list[tuple[str, str]]
    version: str | None


@dataclass
class LimitsSchema:
    """The limits of one request."""

    rows: int
    bytes: int
    numbers: int
    seconds: float
    times: int


@dataclass
class Schema:
    """All that a form needs."""

    covariates: list[CovariateSchema]
    causes: list[str]
    cause_names: list[str]
    model: ModelSchema
    time: TimeSchema
    members: int
    intervals: bool
    importance: bool
    limits: LimitsSchema


def describe(
    est: Fitted,
    n_members: int,
    limits: Limits,
    *,
    units: Mapping[str, str] | None = None,
    time_unit: str = "",
    name: str = "",
    has_importance: bool = False,
) -> Schema:
    """Describe a fitted estimator; ``units`` and ``time_unit`` overrule those of the fit."""
    names = names_of(est)
    return Schema(
        covariates=covariate_schemas(est, units),
        causes=[str(cause) for cause in est.causes_],
        cause_names=[names.cause(cause) for cause in est.causes_],
        model=model_schema(est, name),
        time=time_schema(est, time_unit),
        members=n_members,
        intervals=est.interval_ is not None,
        importance=has_importance,
        limits=LimitsSchema(**vars(limits)),
    )


def covariate_schemas(est: Fitted, units: Mapping[str, str] | None = None) -> list[CovariateSchema]:
    """Describe the covariates of a fitted estimator, in token order.

    Label and unit come from the estimator's labels such as ``Tumour size (mm)``, which may also
    be the covariate's own name; ``units`` overrules them.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> [age] = [c for c in covariate_schemas(est, {"age": "years"}) if c.name == "age"]
    >>> age.kind, age.unit, age.step
    ('numerical', 'years', 1.0)
    """
    encoding = est.encoding_
    schemas, names = [], names_of(est)
    n_missing, n_rows = names.card.get("n_missing", {}), names.card.get("n_rows")
    for covariate, column in zip(encoding.covariates, encoding.columns, strict=True):
        name, shown = covariate.name, names.covariate(covariate.name)
        found = WITH_UNIT.fullmatch(shown)
        label, unit = (found["label"], found["unit"]) if found else (shown, "")
        unit, kind = (units or {}).get(name, unit), covariate.kind
        typical = column.typical
        schema = CovariateSchema(name=name, label=label, unit=unit, kind=kind, typical=typical)
        if isinstance(column, Scale):
            schema.low, schema.typical, schema.high, schema.step = slider(
                column.low, column.typical, column.high
            )
        else:
            schema.levels = list(column.levels)
        if n_rows and name in n_missing:
            schema.missing = n_missing[name] / n_rows
        if schema.missing == 1:  # nobody had a value: the middle of none is not 0
            schema.typical = None
        schemas.append(schema)
    return schemas


def time_schema(est: Fitted, unit: str = "") -> TimeSchema:
    """Describe the clock of a fitted estimator; ``unit`` overrules that of the fit."""
    names, cuts = names_of(est), est.time_grid_
    schema = TimeSchema(
        unit=unit or names.time_unit,
        name=names.clock,
        start=float(cuts[0]),
        end=float(cuts[-1]),
        median=est.median_event_time_,
    )
    entry: tuple[float, float, float] | None = getattr(est, "entry_", None)
    if entry or getattr(est, "has_start_stop_", False) or names.time_name:
        low, high = math.ceil(schema.start), math.floor(schema.end)
        whole = high - low >= 20  # ages and days are asked for in whole numbers
        ends = (low, high) if whole else (schema.start, schema.end)
        typical = min(max(entry[1] if entry else ends[0], ends[0]), ends[1])
        now = float(round(typical)) if whole else typical
        _, now, _, schema.step = slider(float(ends[0]), now, float(ends[1]))
        schema.now = now if schema.start <= now < schema.end else schema.start
        left = schema.end - schema.now
        schema.ahead = min(TEN_YEARS.get(schema.unit.lower().rstrip("s"), left / 2), left)
        schema.ahead = float(f"{schema.ahead:.3g}")
    return schema


def slider(low: float, typical: float, high: float) -> tuple[float, float, float, float]:
    """Choose ends, start and step of a slider of about a hundred steps, rounded.

    Examples
    --------
    >>> slider(50.0, 63.0, 92.0)
    (50.0, 63.0, 92.0, 1.0)
    >>> slider(0.61, 0.9871, 2.387)
    (0.6, 0.99, 2.4, 0.02)
    """
    if high <= low:
        low, high = typical - 1, typical + 1
    rough = (high - low) / 100
    power = math.floor(math.log10(rough))
    step = next(m for m in (1, 2, 5, 10) if m * 10.0**power >= rough * 0.999) * 10.0**power
    if all(float(value).is_integer() for value in (low, typical, high)):
        step = max(step, 1.0)
    digits = max(0, -math.floor(math.log10(step)))
    first, last = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return round(first, digits), round(typical, digits), round(last, digits), round(step, digits)


def model_schema(est: Fitted, name: str) -> ModelSchema:
    """Describe a fitted estimator by its name and card."""
    names = names_of(est)
    card = names.card
    return ModelSchema(
        name=name,
        fitted_on=str(card["fitted_on"])[:10] if card.get("fitted_on") else None,
        n_subjects=card.get("n_subjects"),
        outcomes=card_events(names),
        interrupted=bool(card.get("interrupted")),
        facts=[(k, v) for k, v in card_facts(est).items() if k not in IN_TABLE],
        version=card.get("survtrace_version"),
    )
