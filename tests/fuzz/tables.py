"""Fit on hostile tables: ``python tests/fuzz/tables.py --count 1000 --seed 0``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pandas as pd
import polars as pl
import torch

from fuzz.case import Case, curves_hold
from fuzz.frames import NO_TABLE, SAME, WRONG
from fuzz.run import main
from fuzz.values import (
    CELLS,
    COLUMNS,
    MEANINGLESS,
    MEANINGLESS_COLUMNS,
    POLARS_COLUMNS,
    cell_in,
    pick,
)
from messy.judge import TINY
from messy.table import Cohort
from survtrace import Surv, SurvTRACE

Rng = np.random.Generator
SETTINGS = {**TINY, "intervals": False, "unknown_steps": 0}
Parts = dict[str, Any]  # X, y, sample_weight, eval_set, settings; the keywords of `_fit`


def parts_of(rng: Rng) -> Parts:
    """Draw a clean table with its outcome."""
    cohort = Cohort(int(rng.integers(5)), int(rng.integers(60, 120)))
    event = cohort.event if rng.random() < 0.7 else cohort.one_event
    y = pd.DataFrame({"event": event, "duration": cohort.duration})
    return {"X": cohort.X, "y": y}


def with_cell(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Put an odd value into some cells of a covariate."""
    name, value = pick(rng, parts["X"].columns), pick(rng, CELLS)
    n = pick(rng, (1, 3, 30))
    was_numerical = pd.api.types.is_numeric_dtype(parts["X"][name])
    parts["X"] = parts["X"].assign(**{name: cell_in(parts["X"][name], rng, CELLS[value], n)})
    means_nothing = was_numerical and value in MEANINGLESS and not value.startswith("text")
    return f"{n} x {value} in {name!r}", means_nothing


def with_column(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Put a column of another type into the table."""
    name, kind = pick(rng, [*parts["X"].columns, "new"]), pick(rng, COLUMNS)
    column = COLUMNS[kind](rng.uniform(0, 100, len(parts["X"])))
    parts["X"] = parts["X"].assign(**{name: column})
    return f"{kind} as {name!r}", kind in MEANINGLESS_COLUMNS


def with_polars_column(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Give the table as polars, with a column of one of its types."""
    frame = pl.DataFrame({name: parts["X"][name].tolist() for name in parts["X"]})
    name, kind = pick(rng, [*frame.columns, "new"]), pick(rng, POLARS_COLUMNS)
    column = POLARS_COLUMNS[kind](rng.uniform(0, 100, len(frame)))
    parts["X"] = frame.with_columns(column.alias(name))
    return f"{kind} as {name!r}", kind in MEANINGLESS_COLUMNS


def with_form(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Give X in another form."""
    forms = SAME if rng.random() < 0.3 else WRONG
    name = pick(rng, forms)
    parts["X"] = forms[name](parts["X"])
    return f"X: {name}", name in NO_TABLE


def with_outcome_form(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Give y in another form."""
    y = parts["y"]
    forms: dict[str, Callable[[], Any]] = {
        **{f"as {name}": (lambda make=make: make(y)) for name, make in SAME.items()},
        **{f"as {name}": (lambda make=make: make(y)) for name, make in WRONG.items()},
        "Surv": lambda: Surv.from_arrays(y["event"], y["duration"]),
        "X": lambda: parts["X"],
        "events alone": lambda: y["event"],
        "durations alone": lambda: y["duration"].to_numpy(),
        "a tuple of columns": lambda: (y["event"], y["duration"]),
        "a list of pairs": lambda: list(zip(y["event"], y["duration"], strict=True)),
        "tensors that require grad": lambda: {
            "event": torch.tensor(y["event"].to_numpy()),
            "duration": torch.tensor(y["duration"].to_numpy(), requires_grad=True),
        },
        "half of the rows": lambda: y[: len(y) // 2],
        "one row more": lambda: pd.concat([y, y[:1]], ignore_index=True),
        "names of columns that are not there": lambda: {"event": "died", "duration": "months"},
        "a column name that is no text": lambda: {"event": 3, "duration": None},
        "rows in another order": lambda: y.sample(frac=1, random_state=0),
        "scikit-survival's": lambda: np.array(
            [(bool(e), t) for e, t in zip(y["event"], y["duration"], strict=True)],
            dtype=[("status", bool), ("days", float)],
        ),
        "with duration and time": lambda: y.assign(time=y["duration"]),
        "with a weight": lambda: y.assign(weight=1.0),
    }
    name = pick(rng, forms)
    parts["y"] = forms[name]()
    nothing = {f"as {form}" for form in NO_TABLE if form not in ("dict of sets",)}
    return f"y: {name}", name in nothing or name in ("events alone", "durations alone", "X")


def with_outcome_cell(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Put an odd value into some events or durations."""
    name, value, n = pick(rng, ("event", "duration")), pick(rng, CELLS), pick(rng, (1, 3, 30))
    parts["y"] = parts["y"].assign(**{name: cell_in(parts["y"][name], rng, CELLS[value], n)})
    means_nothing = value in MEANINGLESS and not (name == "event" and value.startswith("text"))
    if name == "event" and value in ("10**400", "1e30", "1e308", "Decimal 1e500", "bytes"):
        means_nothing = False  # bytes of ASCII are a text
    return f"{n} x {value} in {name}", means_nothing


def with_outcome_column(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Make events or durations a column of another type."""
    name, kind = pick(rng, ("event", "duration")), pick(rng, COLUMNS)
    column = COLUMNS[kind](rng.uniform(0, 100, len(parts["y"])))
    parts["y"] = parts["y"].assign(**{name: column})
    refused = {*MEANINGLESS_COLUMNS, "datetime64", "datetime64 tz", "timedelta64", "period"}
    refused |= {"interval", "all missing", "all None", "all NA", "all empty text", "arrow null"}
    return f"{kind} as {name}", kind in refused


def with_outcome_law(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Give durations, events, entries and ids that break a rule, or nearly do."""
    y, n = parts["y"], len(parts["y"])
    forms: dict[str, Callable[[], Any]] = {
        "! negative durations of -1e-7": lambda: y.assign(
            duration=y["duration"].where(y.index > 2, -1e-7)
        ),
        "! negative durations": lambda: y.assign(duration=-y["duration"]),
        "! all censored": lambda: y.assign(event=0),
        "! durations of 0": lambda: y.assign(duration=0.0),
        "! events at 0": lambda: y.assign(duration=np.where(y["event"] > 0, 0.0, y["duration"])),
        "! negative events": lambda: y.assign(event=-y["event"]),
        "! half events": lambda: y.assign(event=y["event"] * 0.5),
        "! all events NaN": lambda: y.assign(event=np.nan),
        "! entry after duration": lambda: y.assign(entry=y["duration"] + 1),
        "! entry at duration": lambda: y.assign(entry=y["duration"]),
        "! negative entry": lambda: y.assign(entry=-1.0),
        "! entry NaN": lambda: y.assign(entry=np.nan),
        "! entry text": lambda: y.assign(entry="early"),
        "! one id for all": lambda: y.assign(id=1),
        "! id NaN": lambda: y.assign(id=np.nan),
        "! id of lists": lambda: y.assign(id=[[i] for i in range(n)]),
        "! ids that overlap": lambda: y.assign(id=np.arange(n) // 2, entry=0.0),
        "entry 0": lambda: y.assign(entry=0.0),
        "entry half": lambda: y.assign(entry=y["duration"] / 2),
        "one id each": lambda: y.assign(id=np.arange(n)),
        "ids of tuples": lambda: y.assign(id=[(i, "a") for i in range(n)]),
        "durations of 1e300": lambda: y.assign(duration=y["duration"] * 1e300),
        "durations of 1e-300": lambda: y.assign(duration=y["duration"] * 1e-300),
        "durations of 5e-324": lambda: y.assign(duration=5e-324),
        "one duration of 1e300": lambda: y.assign(duration=y["duration"].where(y.index > 0, 1e300)),
        "! all durations equal": lambda: y.assign(duration=5.0),
        "two durations": lambda: y.assign(duration=np.where(y["duration"] > 10, 10.0, 5.0)),
        "one event": lambda: y.assign(event=(np.arange(n) == 5).astype(int)),
        "one censored": lambda: y.assign(event=(np.arange(n) != 5).astype(int)),
        "nobody censored": lambda: y.assign(event=1),
        "! nobody censored, two causes": lambda: y.assign(event=1 + np.arange(n) % 2),
        "20 causes": lambda: y.assign(event=np.arange(n) % 21),
        "! a cause for everybody": lambda: y.assign(event=np.arange(n)),
        "causes of 10 and 2": lambda: y.assign(event=np.array([0, 2, 10])[np.arange(n) % 3]),
        "huge codes": lambda: y.assign(event=np.where(y["event"] > 0, 2**62, 0)),
        "booleans": lambda: y.assign(event=y["event"] > 0),
        "events as 1.0": lambda: y.assign(event=y["event"].astype(float)),
        "events as text numbers": lambda: y.assign(event=y["event"].astype(str)),
        "events as 1 and True": lambda: y.assign(
            event=pd.Series([True if e else 0 for e in y["event"]], dtype=object)
        ),
        "integer durations": lambda: y.assign(duration=np.ceil(y["duration"]).astype(int)),
    }
    name = pick(rng, forms)
    parts["y"] = forms[name]()
    if rng.random() < 0.3:
        parts["settings"] = {**parts.get("settings", {}), "zero_duration": "shift"}
        if name in ("! durations of 0", "! events at 0"):
            return f"{name[2:]}, shifted", False
    return f"y: {name.removeprefix('! ')}", name.startswith("! ")


def with_weight(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Pass odd sample weights."""
    n = len(parts["y"]) if hasattr(parts["y"], "__len__") else 60
    ones = np.ones(n)
    forms: dict[str, Any] = {
        "! negative": np.where(np.arange(n) == 3, -1e-9, 1.0),
        "! NaN": np.where(np.arange(n) == 3, np.nan, 1.0),
        "! inf": np.where(np.arange(n) == 3, np.inf, 1.0),
        "! all zero": 0 * ones,
        "! of another length": ones[:-1],
        "! 2-D": ones[:, None],
        "! text": ["a"] * n,
        "! a number": 3.0,
        "! a word": "balanced",
        "! complex": ones + 1j,
        "! dates": np.zeros(n, dtype="datetime64[D]"),
        "! None each": [None] * n,
        "! sum to inf": 1e308 * ones,
        "! objects": [object()] * n,
        "! a dict": {0: 1.0, 1: 2.0},
        "! a tensor with grad and another length": torch.ones(3, requires_grad=True),
        "! masked": np.ma.masked_array(ones, mask=np.arange(n) == 3),
        "a tensor with grad": torch.ones(n, requires_grad=True),
        "a polars series": pl.Series([1.0] * n),
        "nullable": pd.array([1.0] * n, dtype="Float64"),
        "a frame": pd.DataFrame({"w": ones}),
        "tiny": 1e-300 * ones,
        "huge": 1e200 * ones,
        "spread": np.where(np.arange(n) % 2, 1e-30, 1e30),
        "one positive": (np.arange(n) == 3).astype(float),
        "text numbers": ["1.5"] * n,
        "Series of other labels": pd.Series(ones, index=np.arange(n) + 5),
        "booleans": ones > 0,
        "integers": ones.astype(int),
    }
    name = pick(rng, forms)
    parts["sample_weight"] = forms[name]
    return f"weights: {name.removeprefix('! ')}", name.startswith("! ")


def with_evaluation(parts: Parts, rng: Rng) -> tuple[str, bool]:
    """Pass an odd eval_set."""
    X, y = parts["X"], parts["y"]
    forms: dict[str, Any] = {
        "! text": "abc",
        "! a pair of None": (None, None),
        "! three": (X, y, y),
        "! X alone": (X,),
        "! a frame": X,
        "! no rows": (X[:0], y[:0]),
        "! another length": (X[:10], y[:9]),
        "! a column less": (X.iloc[:, 1:], y),
        "! another cause": (X, y.assign(event=7)),
        "! NaN durations": (X, y.assign(duration=np.nan)),
        "! infinite ages": (X.assign(age=np.inf), y),
        "! swapped": (y, X),
        "! numbers": (1, 2),
        "all censored": (X, y.assign(event=0)),
        "a list": [X, y],
        "one row": (X[:1], y[:1]),
        "other levels": (X.assign(sex="other"), y),
        "later than the grid": (X, y.assign(duration=1e6)),
        "an extra column": (X.assign(extra=1.0), y),
        "as arrays": (X, Surv.from_arrays(y["event"], y["duration"])),
    }
    name = pick(rng, forms)
    parts["eval_set"] = forms[name]
    return f"eval_set: {name.removeprefix('! ')}", name.startswith("! ")


CHANGES = (
    *(with_cell, with_cell, with_cell, with_column, with_column, with_polars_column, with_form),
    *(with_form, with_outcome_form, with_outcome_cell, with_outcome_cell, with_outcome_column),
    *(with_outcome_law, with_outcome_law, with_weight, with_evaluation),
)


def make(rng: Rng) -> Case:
    """Spoil a clean table in one way."""
    parts = parts_of(rng)
    name, refuse = pick(rng, CHANGES)(parts, rng)
    settings = parts.pop("settings", {})

    def fit() -> SurvTRACE:
        return SurvTRACE(**{**SETTINGS, **settings}).fit(**parts)

    def check(est: SurvTRACE) -> str:
        grid = est.time_grid_
        times = [0.0, grid[0], *np.linspace(grid[0], grid[-1], 5)[1:]]
        return curves_hold(est, parts["X"], np.maximum.accumulate(times))

    return Case(name, fit, check, refuse)


if __name__ == "__main__":
    main("fit on hostile tables", make)
