"""Check the tensors of a saved folder: names, types, shapes, finiteness, ranges and order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.typicality.normal_scores import MOST_LEVELS, NO_BIN

INFINITY = float("inf")
N_MEASURES = 5  # of typicality: four, and the largest of them
SMALLEST_SCALE = 1e-9
MAY_LACK = ("network.hazard_power",)
Arrays = Mapping[str, NDArray[Any]]


class Expected(NamedTuple):
    """What an array must be: bounds of its values, and whether they rise along the last axis."""

    dtype: str
    shape: tuple[int, ...]
    low: float = -INFINITY
    high: float = INFINITY
    rises: str = ""  # "", "weakly" or "strictly"


def require(holds: bool, rule: str) -> None:
    """Raise ValueError with a rule that does not hold."""
    if not holds:
        raise ValueError(rule)


def check_tensors(arrays: Arrays, encoding: Encoding, shape: Mapping[str, Any]) -> None:
    """Refuse arrays that are not those of an estimator with this encoding and shape."""
    expected = {**_curve_arrays(arrays, shape["n_intervals"]), **network_arrays(shape)}
    if any(name.startswith("typicality.") for name in arrays):
        expected |= _typicality_arrays(arrays, encoding)
    unknown = sorted(set(arrays) - set(expected))
    require(not unknown, f"tensors: {', '.join(unknown)[:100]} is none of ours")
    for name, rule in expected.items():
        if name in arrays or name not in MAY_LACK:
            require(name in arrays, f"tensors: {name} is missing")
            _check_array(name, arrays[name], rule)


def _check_array(name: str, array: NDArray[Any], expected: Expected) -> None:
    found = f"{array.dtype} of shape {array.shape}"
    wanted = f"{expected.dtype} of shape {expected.shape}"
    matches = array.dtype == expected.dtype and array.shape == expected.shape
    require(matches, f"tensors: {name} must be {wanted}; it is {found}")
    require(bool(np.isfinite(array).all()), f"tensors: {name} must be finite")
    within = array.size == 0 or (array.min() >= expected.low and array.max() <= expected.high)
    require(bool(within), f"tensors: {name} must be from {expected.low:g} to {expected.high:g}")
    if expected.rises:
        steps = np.diff(array, axis=-1)
        rises = (steps > 0).all() if expected.rises == "strictly" else (steps >= 0).all()
        require(bool(rises), f"tensors: {name} must rise")


def _curve_arrays(arrays: Arrays, n_intervals: int) -> dict[str, Expected]:
    """Say what the arrays of times must be."""
    n_scored, n_times = len(arrays["score_times"]), len(arrays["censoring_times"])
    require(n_scored > 0 and n_times > 0, "tensors: times are missing")
    counts = Expected("float64", (n_times,), low=0)
    return {
        "time_grid": Expected("float64", (n_intervals + 1,), low=0, rises="strictly"),
        "score_times": Expected("float64", (n_scored,), low=0, rises="strictly"),
        "censoring_times": Expected("float64", (n_times,), low=0, rises="strictly"),
        "censoring_values": Expected("float64", (n_times,), low=0, high=1),
        **{name: counts for name in ("censoring_at_risk", "censoring_entered") if name in arrays},
    }


def network_arrays(shape: Mapping[str, Any]) -> dict[str, Expected]:
    """Say what the parameters of a network of some shape must be, by their saved names."""
    m, width, hidden = shape["n_members"], shape["width"], shape["hidden"]
    n_tokens, n_causes = shape["n_tokens"], shape["n_causes"]
    n_intervals, head_depth = shape["n_intervals"], shape["head_depth"]
    maps = {"representation.align": (2 * n_tokens * width, hidden)}
    for k in range(shape["depth"]):
        maps[f"encoder.{k}.attention.query_key_value"] = (width, 3 * width)
        maps[f"encoder.{k}.mix"] = (width, width)
        maps[f"encoder.{k}.expand"] = (width, hidden)
        maps[f"encoder.{k}.contract"] = (hidden, width)
    n_out = {f"causes.heads.{k}": n_intervals for k in range(n_causes)}
    for head, n in {**n_out, "mortality": 1, "stay": 1}.items():
        maps[f"{head}.outer"] = (hidden, n)
        if head_depth == 2:
            maps[f"{head}.inner"] = (hidden, hidden)
    shapes: dict[str, tuple[int, ...]] = {"embedding.table": (m, shape["n_rows"], width)}
    if shape.get("token_bias", False):
        shapes["embedding.bias"] = (m, 1, n_tokens, width)
    for name, (n_in, n) in maps.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (m, n_in, n), (m, 1, n)
    return {
        **{f"network.{name}": Expected("float32", size) for name, size in shapes.items()},
        "network.level": Expected("float32", (m, 1, n_causes, n_intervals), low=0),
        "network.hazard_power": Expected("float32", (n_causes,), low=0),
    }


def _typicality_arrays(arrays: Arrays, encoding: Encoding) -> dict[str, Expected]:
    """Say what was learned for typicality; sizes that no covariate fixes are those found."""
    found = {name.removeprefix("typicality."): array for name, array in arrays.items()}
    n_rows, n_tokens = int(encoding.first_rows[-1]), len(encoding.columns)
    n_numbers, n_edges = len(encoding.numerical), len(found["scores.edges"])
    n_pairs, n_dimensions = len(found["pairs.columns"]), len(found["residuals.row"])
    n_bins = max(n_edges + 1, MOST_LEVELS + 1)
    knots = (n_numbers, found["scores.knots"].shape[-1]) if n_numbers else (0,)
    n_knots = found["reference"].shape[-1]
    expected = {
        "scores.knots": Expected("float64", knots, rises="weakly"),
        "scores.scores": Expected("float64", knots, rises="weakly"),
        "scores.rarity": Expected("float64", (n_rows,), low=0),
        "scores.bins": Expected("int64", (n_rows,), low=NO_BIN, high=n_bins - 1),
        "scores.edges": Expected("float64", (n_edges,), rises="weakly"),
        "pairs.columns": Expected("int64", (n_pairs, 2), low=0, high=n_tokens - 1),
        "pairs.tables": Expected("float64", (n_pairs, n_bins + 1, n_bins + 1)),
        "residuals.row": Expected("int64", (n_dimensions,), low=0, high=n_rows - 1),
        "residuals.column": Expected("int64", (n_dimensions,), low=0, high=n_tokens - 1),
        "residuals.centre": Expected("float64", (n_dimensions,), low=0, high=1),
        "residuals.scale": Expected("float64", (n_dimensions,), low=SMALLEST_SCALE),
        "residuals.precision": Expected("float64", (n_dimensions, n_dimensions)),
        "reference": Expected("float64", (N_MEASURES, 2, n_knots), rises="weakly"),
        "n_subjects": Expected("int64", (), low=1),
    }
    diagonal = np.diagonal(found["residuals.precision"])
    require(bool((diagonal > 0).all()), "tensors: residuals.precision must have a diagonal above 0")
    require(n_knots > 0 and (not n_numbers or knots[-1] > 0), "tensors: typicality has no knots")
    return {f"typicality.{name}": rule for name, rule in expected.items()}
