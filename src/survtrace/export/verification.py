"""Compare an ONNX file with the predictor that it was made from, before anybody uses it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import SavedFileError, keep_warnings
from survtrace.export.encoding_nodes import MISSING_CODE, UNSEEN_CODE, possible_range, token_order
from survtrace.inference.interval import interval_ends
from survtrace.portable import PortableSurvTRACE
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import Categories, Scale

Array = NDArray[np.float64]
N_ROWS, N_TIMES = 64, 12
# A wrong step shows as more, rounding of float32 as less; the ends of a wide interval magnify it.
TOLERANCE, TOLERANCE_OF_ENDS = 1e-5, 1e-4
NEVER_SEEN = "(a level that no table has)"


def verify(content: bytes, model: PortableSurvTRACE, level: float | None) -> tuple[str, float]:
    """Run the file on random subjects; return what ran it, and the largest difference.

    onnxruntime runs it where it is installed, else the reference implementation of onnx.
    """
    rows, inputs = random_subjects(model, np.random.default_rng(0))
    runner, run = open_file(content)
    found = run(inputs)
    expected = expected_outputs(model, rows, inputs["times"], inputs["after"], level)
    apart = {name: _difference(found[name], array) for name, array in expected.items()}
    for name, difference in apart.items():
        allowed = TOLERANCE_OF_ENDS if name.endswith(("_low", "_high")) else TOLERANCE
        if not difference <= allowed:
            raise SavedFileError(
                f"the ONNX file must give what the model gives, to {allowed:g}; run by {runner}, "
                f"{name} differs by {difference:.1e} on {N_ROWS} random subjects. It was not kept. "
                "Please report this with the model's folder and the versions of onnx and "
                "onnxruntime."
            )
    return runner, max(apart.values())


def open_file(content: bytes) -> tuple[str, Callable[[dict[str, Any]], dict[str, Array]]]:
    """Open a file; return by what, and a function from inputs to outputs, by name."""
    if find_spec("onnxruntime") is not None:
        import onnxruntime

        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        runner = f"onnxruntime {onnxruntime.__version__}"
    else:
        import onnx
        from onnx.reference import ReferenceEvaluator

        session = ReferenceEvaluator(onnx.load_from_string(content))
        names, runner = session.output_names, f"the reference of onnx {onnx.__version__}"
    return runner, lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def random_subjects(
    model: PortableSurvTRACE, random: np.random.Generator
) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Draw subjects as raw rows and as the inputs of the file, with times and starts."""
    encoding, raw = model.encoding_, dict[str, list[Any]]()
    inputs: dict[str, list[NDArray[Any]]] = {"numbers": [], "codes": []}
    for j in token_order(encoding).tolist():
        covariate, column = encoding.covariates[j], encoding.columns[j]
        if isinstance(column, Scale):
            numbers = _draw_numbers(covariate, column, random)
            inputs["numbers"].append(numbers)
            raw[covariate.name] = [None if np.isnan(x) else x for x in numbers.tolist()]
        else:
            codes = random.integers(UNSEEN_CODE, len(column.levels), N_ROWS)
            inputs["codes"].append(codes)
            raw[covariate.name] = _texts(codes, column)
    rows = [dict(zip(raw, values, strict=True)) for values in zip(*raw.values(), strict=True)]
    first, last = model.time_grid_[[0, -1]]
    times = np.sort(random.uniform(0.9 * first, 1.1 * last, (N_ROWS, N_TIMES)))
    after = np.where(random.random(N_ROWS) < 0.5, 0.0, random.uniform(first, last, N_ROWS))
    tensors = {name: np.stack(columns, axis=1) for name, columns in inputs.items() if columns}
    return rows, {**tensors, "times": times, "after": after}


def expected_outputs(
    model: PortableSurvTRACE,
    rows: list[dict[str, Any]],
    times: Array,
    after: Array,
    level: float | None,
) -> dict[str, Array]:
    """Compute the outputs by the predictor."""
    predictor, how = model._predictor(), {"after": after}
    with keep_warnings():  # random subjects are unlike anybody
        mean, std = predictor.curve(rows, "states", times, with_std=True, **how)
        found = {"survival": mean[:, 0], "survival_std": std[:, 0]}
        found |= {"incidence": mean[:, 1:], "incidence_std": std[:, 1:]}
        if level is None or model.interval_ is None:
            return found
        low, high = interval_ends(
            predictor, model.interval_, rows, model.time_grid_, times, after, level
        )
    found |= {"survival_low": 1 - high[:, 0], "survival_high": 1 - low[:, 0]}
    return found | {"incidence_low": low[:, 1:], "incidence_high": high[:, 1:]}


def _draw_numbers(covariate: Covariate, column: Scale, random: np.random.Generator) -> Array:
    low, high = np.clip([column.low, column.high], *possible_range(covariate))
    return np.where(random.random(N_ROWS) < 0.1, np.nan, random.uniform(low, high, N_ROWS))


def _texts(codes: NDArray[np.int64], column: Categories) -> list[str | None]:
    silent = {MISSING_CODE: None, UNSEEN_CODE: NEVER_SEEN}
    return [silent[code] if code < 0 else column.levels[code] for code in codes.tolist()]


def _difference(found: Array, expected: Array) -> float:
    """Find the largest difference; two NaN are equal, other shapes are infinitely far apart."""
    if found.shape != expected.shape or (np.isnan(found) != np.isnan(expected)).any():
        return np.inf
    return float(np.nan_to_num(np.abs(found - expected)).max())
