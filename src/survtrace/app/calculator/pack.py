"""Describe a saved model as plain values from which the engine of the file computes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from survtrace.app.calculator.arrays import number_text
from survtrace.errors import DataWarning
from survtrace.inference.interval import IntervalScale
from survtrace.portable import PortableSurvTRACE
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import MISSING_TEXTS, Categories, Scale
from survtrace.tables.covariates.missing import MARKERS
from survtrace.tables.typicality.typicality import Typicality

LEVEL = 0.95  # of the intervals on the page


def pack_model(model: PortableSurvTRACE, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Describe what the engine needs beside the network; ``schema`` is what the page needs.

    No row of a table is in it: covariates come by their means, quantiles and levels, and how usual
    a patient is by the curves and tables that `survtrace.tables.typicality` learned.
    """
    encoding = model.encoding_
    typical = {covariate["name"]: covariate["typical"] for covariate in schema["covariates"]}
    return {
        "schema": schema,
        "covariates": [
            _covariate(*pair) for pair in zip(encoding.covariates, encoding.columns, strict=True)
        ],
        "left_out": list(encoding.left_out),
        "missing_texts": list(MARKERS),
        "level_markers": list(MISSING_TEXTS),
        "cuts": model.time_grid_.tolist(),
        "interval": None if model.interval_ is None else _interval(model.interval_),
        "typicality": None if model.typicality_ is None else _typicality(model.typicality_),
        "check": _check(model, typical),
    }


def _check(model: PortableSurvTRACE, subject: dict[str, Any]) -> dict[str, Any]:
    """Predict for a made-up subject; the file compares its own answer with this when it opens."""
    times = model.time_grid_[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        states, _ = model._predictor().curve([subject], "states", times)
    return {"subject": subject, "times": times.tolist(), "states": states[0].tolist()}


def _covariate(covariate: Covariate, column: Scale | Categories) -> dict[str, Any]:
    packed: dict[str, Any] = {"name": covariate.name, "missing": list(covariate.missing)}
    if isinstance(column, Categories):
        return {**packed, "levels": list(column.levels)}
    written = {"decimal": covariate.decimal, "label": covariate.label, "unit": covariate.unit}
    possible = {"least": covariate.low, "most": covariate.high}
    return {**packed, **written, **possible, **vars(column)}


def _interval(scale: IntervalScale) -> dict[str, Any]:
    width = scale.deviations(LEVEL).tolist()
    return {"level": LEVEL, "floor": scale.floor, "factor": scale.factor, "width": width}


def _typicality(learned: Typicality) -> dict[str, Any]:
    scores, pairs, residuals = learned.scores, learned.pairs, learned.residuals
    arrays = {
        "knots": number_text(scores.knots),
        "scores": number_text(scores.scores),
        "rarity": number_text(scores.rarity),
        "bins": number_text(scores.bins, "int32"),
        "edges": number_text(scores.edges),
        "pairs": number_text(pairs.columns.reshape(-1, 2), "int32"),
        # Logarithms of ratios of counts: float32 holds them to the seventh digit.
        "tables": number_text(pairs.tables, "float32"),
        "row": number_text(residuals.row, "int32"),
        "column": number_text(residuals.column, "int32"),
        "centre": number_text(residuals.centre),
        "deviation": number_text(residuals.scale),
        "precision": number_text(residuals.precision),
        "reference": number_text(learned.reference),
    }
    return {"n_subjects": learned.n_subjects, "arrays": arrays}
