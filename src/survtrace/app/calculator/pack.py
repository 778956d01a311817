"""Describe a saved model as plain values from which the engine of the file computes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from survtrace.app.calculator.arrays import number_text, weight_text
from survtrace.errors import DataWarning
from survtrace.inference.interval import IntervalScale
from survtrace.portable import PortableSurvTRACE
from survtrace.portable.network import Layer, Linear, Network
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import MISSING_TEXTS, Categories, Scale
from survtrace.tables.covariates.missing import MARKERS
from survtrace.tables.typicality.typicality import Typicality

LEVEL = 0.95  # of the intervals on the page


def pack_model(model: PortableSurvTRACE, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Describe what the engine needs; ``schema`` is what the page needs (`/schema`).

    Nothing of a single subject is in it: covariates by their means, quantiles and levels, the
    network by its weights, and how usual a patient is by the curves and tables that
    `survtrace.tables.typicality` learned.
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
        "network": _network(model._predictor().network),
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
    width = scale._deviations(LEVEL).tolist()
    return {"level": LEVEL, "floor": scale.floor, "factor": scale.factor, "width": width}


def _network(network: Network) -> dict[str, Any]:
    n_members, n_causes, _, n_intervals = network.outer.weight.shape
    _, n_rows, width = network.table.shape
    shape = {
        "nMembers": n_members,
        "nCauses": n_causes,
        "nIntervals": n_intervals,
        "nRows": n_rows,
        "width": width,
        "nTokens": network.bias.shape[2],
        "nHeads": network.layers[0].n_heads if network.layers else 1,
    }
    factor = np.broadcast_to(network.factor, (n_members, 1, n_causes, n_intervals))
    arrays = {
        "table": weight_text(network.table),
        "bias": number_text(network.bias, "float32"),
        "layers": [_layer(layer) for layer in network.layers],
        "alignFinal": _linear(network.align_final),
        "alignEmbedded": {"weight": weight_text(network.align_embedded)},
        "inner": None if network.inner is None else _linear(network.inner),
        "outer": _linear(network.outer),
        "factor": number_text(factor),
        "power": number_text(network.power),
    }
    return {"shape": shape, "arrays": arrays}


def _layer(layer: Layer) -> dict[str, Any]:
    return {
        "queryKeyValue": _linear(layer.query_key_value),
        "mix": _linear(layer.mix),
        "expand": _linear(layer.expand),
        "contract": _linear(layer.contract),
    }


def _linear(linear: Linear) -> dict[str, Any]:
    return {"weight": weight_text(linear.weight), "bias": number_text(linear.bias, "float32")}


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
