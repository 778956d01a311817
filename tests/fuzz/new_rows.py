"""Predict on changed tables: ``python tests/fuzz/new_rows.py --count 1000 --seed 0``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from fuzz.case import Case, are_probabilities, curve_laws, is_finite
from fuzz.fitted import FORMS, fitted
from fuzz.frames import NO_TABLE
from fuzz.run import main
from fuzz.tables import with_cell, with_column, with_form, with_polars_column
from fuzz.values import CELLS, cell_in, pick
from survtrace import SurvTRACE

Rng = np.random.Generator
TIMES = [12.0, 15.0, 24.0, 40.0]
# Changes that make a table one that the fit did not see; a mere other form is none.
NO_TABLE_TO_PREDICT = tuple(name for name in NO_TABLE if name not in ("no rows",))
WORDS = ("sex", "stage")  # covariates whose levels are texts
LACKING = ("a column dropped", "a column renamed", "all renamed", "integer names", "float names")


def with_cells(parts: dict[str, Any], rng: Rng) -> tuple[str, bool]:
    """Put odd values into several columns at once."""
    name = pick(rng, CELLS)
    for column in parts["X"].columns:
        parts["X"] = parts["X"].assign(**{column: cell_in(parts["X"][column], rng, CELLS[name])})
    return f"{name} in every column", False


def with_magnitude(parts: dict[str, Any], rng: Rng) -> tuple[str, bool]:
    """Multiply numbers by much, or move them far away."""
    factor = pick(rng, (1e3, 1e9, 1e15, 1e18, 1e25, 1e100, 1e300, -1.0, 0.0, 1e-300))
    X = parts["X"]
    numbers = X.select_dtypes("number").columns
    name = pick(rng, numbers)
    with np.errstate(all="ignore"):
        parts["X"] = X.assign(**{name: X[name] * factor})
    return f"{name!r} x {factor:g}", factor >= 1e25


CHANGES = (
    *(with_cell, with_cell, with_cell, with_column, with_column, with_polars_column),
    *(with_form, with_form, with_cells, with_magnitude),
)


def _states_hold(answer: tuple[np.ndarray, np.ndarray]) -> str:
    return curve_laws(*answer)


def _rows_sum_to_one(answer: np.ndarray) -> str:
    broken = are_probabilities(answer)
    return broken or ("rows do not sum to 1" if (abs(answer.sum(1) - 1) > 1e-5).any() else "")


def _ordered(answer: tuple[np.ndarray, np.ndarray]) -> str:
    low, high = answer
    return are_probabilities(answer) or ("low above high" if (low > high + 1e-9).any() else "")


METHODS: dict[str, tuple[Callable[[SurvTRACE, Any], Any], Callable[[Any], str]]] = {
    "curves": (
        lambda est, X: (
            est.predict_survival_function(X, TIMES),
            est.predict_cumulative_incidence(X, TIMES),
        ),
        _states_hold,
    ),
    "net incidence": (lambda est, X: est.predict_net_incidence(X, TIMES), are_probabilities),
    "hazard": (lambda est, X: est.predict_cumulative_hazard_function(X, TIMES), is_finite),
    "proba": (lambda est, X: est.predict_proba(X, 20.0), _rows_sum_to_one),
    "predict": (lambda est, X: est.predict(X), are_probabilities),
    "rmst": (lambda est, X: est.predict_rmst(X, 20.0), is_finite),
    "interval": (lambda est, X: est.predict_interval(X, TIMES), _ordered),
    "typicality": (lambda est, X: est.typicality(X), are_probabilities),
    "attention": (lambda est, X: est.attention(X), are_probabilities),
    "frame": (
        lambda est, X: est.predict_survival_function(X, TIMES, as_frame=True),
        are_probabilities,
    ),
    "functions": (
        lambda est, X: [
            f(12.0) for f in est.predict_survival_function(X, [12.0, 20.0], return_array=False)
        ],
        are_probabilities,
    ),
}


def make(rng: Rng) -> Case:
    """Change the table of a fit in one way, and predict."""
    form, method = pick(rng, FORMS), pick(rng, METHODS)
    est, X, _ = fitted(form)
    parts: dict[str, Any] = {"X": X}
    changes = [change for change in CHANGES if form != "an array" or change is not with_column]
    name, refuse = pick(rng, changes)(parts, rng)
    if refuse and name.startswith("integers beyond float as") and name.split("'")[1] in WORDS:
        refuse = False  # a level that the fit did not see, as any other number
    lacking = any(name == f"X: {each}" for each in LACKING) and form != "an array"
    refuse = lacking or (refuse and " as 'new'" not in name and name != "X: no rows")
    ask, check = METHODS[method]
    if form == "late entry" and method == "interval":
        method, (ask, check) = "curves", METHODS["curves"]
    return Case(f"{method}, {form}: {name}", lambda: ask(est, parts["X"]), check, refuse)


if __name__ == "__main__":
    main("predict on changed tables", make)
