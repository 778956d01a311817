"""Describe inputs and outputs of an ONNX file: a JSON Schema of one patient, draft 2020-12.

Properties are the covariates by name, as rows of a table have them. What JSON Schema has no keyword
for stands in ``x-survtrace``: of a covariate, which column of which input it is, and the codes of
its levels; of the whole, inputs, outputs, causes and times.
"""

from __future__ import annotations

from typing import Any

from survtrace.export.encoding_nodes import MISSING_CODE, UNSEEN_CODE, missing_numbers
from survtrace.export.graph import Graph
from survtrace.naming import names_of
from survtrace.portable import PortableSurvTRACE
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import Categories, Scale

DRAFT = "https://json-schema.org/draft/2020-12/schema"
OURS = "x-survtrace"
REFUSED = (
    "Where an input is refused, all outputs concerned are NaN: an infinite number, one outside "
    "minimum and maximum or beyond 1e20, one more than 1e9 standard deviations from the mean, a "
    "code that is none, a negative or missing time or start."
)
NOT_TOLD = (
    "The file does not warn of numbers outside the usual range, of unseen categories or of "
    "unusual patients (typicality), as survtrace does. Compare numbers with 'usual'."
)


def input_schema(
    model: PortableSurvTRACE, graph: Graph, level: float | None, n_members: int
) -> dict[str, Any]:
    """Describe what the inputs and outputs that a graph has declared mean, in plain values."""
    encoding = model.encoding_
    columns: dict[str, list[str]] = {"numbers": [], "codes": []}
    properties = dict[str, Any]()
    for covariate, column in zip(encoding.covariates, encoding.columns, strict=True):
        if isinstance(column, Scale):
            described = _number(covariate, column, len(columns["numbers"]))
        else:
            described = _category(covariate, column, len(columns["codes"]))
        properties[covariate.name] = described
        columns[described[OURS]["input"]].append(covariate.name)
    return {
        "$schema": DRAFT,
        "title": "One patient",
        "description": "Covariates by name; null where one is not known.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        OURS: {
            "inputs": {each.name: _tensor(each, columns) for each in graph.inputs},
            "outputs": {each.name: _tensor(each, {}) for each in graph.outputs},
            "codes": {"missing": MISSING_CODE, "unseen": UNSEEN_CODE},
            **_outcome(model),
            "members": n_members,
            "level": level,
            "refused": REFUSED,
            "not_told": NOT_TOLD,
        },
    }


def _number(covariate: Covariate, column: Scale, place: int) -> dict[str, Any]:
    limits = {"minimum": covariate.low, "maximum": covariate.high}
    limits = {key: limit for key, limit in limits.items() if limit is not None}
    marks = missing_numbers(covariate)
    allowed: dict[str, Any] = {"type": ["number", "null"], **limits}
    if marks and limits:  # a mark of missing values may lie outside the limits
        allowed = {"anyOf": [{"type": "number", **limits}, {"enum": [*marks, None]}]}
    ours = {
        "input": "numbers",
        "column": place,
        "unit": covariate.unit,
        "usual": [column.low, column.high],
        "typical": column.typical,
        "missing": marks,
    }
    words = f"1 to 99 % of the training rows: {column.low:g} to {column.high:g}"
    return {**_title(covariate, words), **allowed, OURS: ours}


def _category(covariate: Covariate, column: Categories, place: int) -> dict[str, Any]:
    ours = {
        "input": "codes",
        "column": place,
        "codes": {level: code for code, level in enumerate(column.levels)},
        "typical": column.typical,
        "missing": list(covariate.missing),
    }
    words = f"{len(column.levels)} levels, in any case; any other text is a level not seen in fit"
    allowed = {"type": ["string", "null"], "examples": list(column.levels)}
    return {**_title(covariate, words), **allowed, OURS: ours}


def _title(covariate: Covariate, words: str) -> dict[str, str]:
    unit = f" {covariate.unit}" if covariate.unit else ""
    return {"title": covariate.shown, "description": f"{words}{unit}."}


def _tensor(described: Any, columns: dict[str, list[str]]) -> dict[str, Any]:
    """Describe an input or output as the graph has declared it."""
    tensor = described.type.tensor_type
    shape = [axis.dim_param or axis.dim_value for axis in tensor.shape.dim]
    found = {
        "type": "int64" if described.name == "codes" else "float64",
        "shape": shape,
        "description": described.doc_string,
    }
    return found | ({"columns": columns[described.name]} if described.name in columns else {})


def _outcome(model: PortableSurvTRACE) -> dict[str, Any]:
    names, cuts = names_of(model), model.time_grid_
    return {
        "causes": [{"label": each, "name": names.cause(each)} for each in model.causes_],
        "time": {
            "name": names.clock,
            "unit": names.time_unit,
            "start": float(cuts[0]),
            "end": float(cuts[-1]),
            "median_event_time": model.median_event_time_,
        },
        "fitted": {
            key: names.card[key] for key in ("fitted_on", "n_subjects") if key in names.card
        },
    }
