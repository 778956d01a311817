"""Values, columns and arrays that no table should have, and some that only look so."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch

Rng = np.random.Generator


class Thing:
    """An object that is nothing else."""


class Unequal:
    """An object that cannot be compared, converted or shown."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __float__(self) -> float:
        raise RuntimeError("no number")


CELLS: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1e30": 1e30,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "-0.0": -0.0,
    "10**400": 10**400,
    "-10**400": -(10**400),
    "2**53+1": 2**53 + 1,
    "2**63": 2**63,
    "2**64": 2**64,
    "-2**63-1": -(2**63) - 1,
    "complex": 1 + 2j,
    "np.complex64": np.complex64(1j),
    "Decimal": Decimal("1.5"),
    "Decimal NaN": Decimal("NaN"),
    "Decimal sNaN": Decimal("sNaN"),
    "Decimal inf": Decimal("Infinity"),
    "Decimal 1e500": Decimal("1e500"),
    "Fraction": Fraction(1, 3),
    "pd.NA": pd.NA,
    "pd.NaT": pd.NaT,
    "Timestamp": pd.Timestamp("2020-01-01"),
    "Timestamp tz": pd.Timestamp("2020-01-01", tz="UTC"),
    "date": dt.date(2020, 1, 1),
    "datetime": dt.datetime(2020, 1, 1),
    "time": dt.time(12),
    "timedelta": dt.timedelta(days=3),
    "pd.Timedelta": pd.Timedelta(days=3),
    "datetime64": np.datetime64("2020-01-01"),
    "datetime64 NaT": np.datetime64("NaT"),
    "Period": pd.Period("2020-01"),
    "Interval": pd.Interval(0, 1),
    "bytes": b"abc",
    "bytes digits": b"12",
    "bytes latin-1": b"\xe4",
    "bytearray": bytearray(b"abc"),
    "list": [1, 2],
    "empty list": [],
    "dict": {"a": 1},
    "set": {1, 2},
    "frozenset": frozenset({1}),
    "tuple": (1, 2),
    "nested tuple": (1, [2]),
    "object": Thing(),
    "unequal object": Unequal(),
    "function": len,
    "class": int,
    "Ellipsis": ...,
    "range": range(3),
    "array": np.array([1.0, 2.0]),
    "array 0-d": np.array(3.0),
    "array empty": np.array([]),
    "tensor": torch.tensor(3.0),
    "tensor grad": torch.tensor(3.0, requires_grad=True),
    "series": pd.Series([1, 2]),
    "bool": True,
    "np.bool_": np.bool_(True),
    "float16": np.float16(1.5),
    "longdouble": np.longdouble("1e4000"),
    "uint64": np.uint64(2**64 - 1),
    "empty text": "",
    "space": "   ",
    "text": "abc",
    "text nan": "nan",
    "text inf": "inf",
    "text 1e400": "1e400",
    "text number": "12.5",
    "text comma": "12,5",
    "text full-width": "\uff11\uff12",
    "text half": "\u00bd",
    "text underscore": "1_000",
    "text hex": "0x10",
    "text surrogate": "\ud800",
    "text NUL": "a\x00b",
    "text long": "x" * 20_000,
    "text newline": "a\nb",
    "text date": "2020-01-01",
    "text formula": "=1+1",
    "text digits": "9" * 400,
    "text markup": "<script>",
}
# In a column of numbers these say nothing that a number could say.
MEANINGLESS = (
    *("inf", "-inf", "1e30", "1e308", "10**400", "-10**400", "complex", "np.complex64"),
    *("Decimal inf", "Decimal 1e500", "Timestamp", "Timestamp tz", "date", "datetime", "time"),
    *("timedelta", "pd.Timedelta", "datetime64", "Period", "Interval", "bytes", "bytearray"),
    *("bytes latin-1", "list", "empty list", "dict", "set", "frozenset", "tuple"),
    *("nested tuple", "object", "unequal object", "function", "class", "Ellipsis", "range"),
    *("array", "array empty", "series", "longdouble", "text inf", "text 1e400", "text digits"),
)


def cell_in(column: pd.Series, rng: Rng, value: Any, n: int = 1) -> pd.Series:
    """Put a value into some rows of a column."""
    values = [*column.tolist(), None]
    for row in rng.choice(len(column), size=n, replace=False):
        values[row] = value
    cells = np.empty(len(column), dtype=object)
    for row, each in enumerate(values[:-1]):
        cells[row] = each
    return pd.Series(cells, index=column.index, name=column.name, dtype=object)


def _arrow(type_: pa.DataType, make: Callable[[float], Any]) -> Callable[[np.ndarray], Any]:
    return lambda v: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array([make(x) for x in v], type=type_))
    )


# Columns of a type, made of numbers from 0 to 100.
COLUMNS: dict[str, Callable[[np.ndarray], Any]] = {
    "int8": lambda v: v.astype("int8"),
    "uint64 near 2**64": lambda v: v.astype("uint64") + np.uint64(2**64 - 200),
    "int64 beyond 2**53": lambda v: v.astype("int64") + 2**60,
    "float16": lambda v: v.astype("float16"),
    "longdouble": lambda v: v.astype("longdouble"),
    "complex128": lambda v: v + 1j,
    "complex with no imaginary part": lambda v: v + 0j,
    "bool": lambda v: v > 50,
    "Int64 with NA": lambda v: pd.array(np.where(v > 90, None, v.astype(int)), dtype="Int64"),
    "Float64 with NA": lambda v: pd.array(np.where(v > 90, None, v), dtype="Float64"),
    "boolean with NA": lambda v: pd.array(np.where(v > 90, None, v > 50), dtype="boolean"),
    "string": lambda v: pd.array(np.where(v > 50, "a", "b"), dtype="string"),
    "string of numbers": lambda v: pd.array([f"{x:.1f}" for x in v], dtype="string"),
    "category": lambda v: pd.Categorical(np.where(v > 50, "a", "b")),
    "category of numbers": lambda v: pd.Categorical((v // 25).astype(int)),
    "category of floats": lambda v: pd.Categorical(v // 25 / 10),
    "category of intervals": lambda v: pd.cut(v, 4),
    "category of tuples": lambda v: pd.Categorical(
        pd.Series([(int(x > 50), "a") for x in v]).to_numpy()
    ),
    "category of dates": lambda v: pd.Categorical(pd.to_datetime(v.astype(int) % 3, unit="D")),
    "category of bools": lambda v: pd.Categorical(v > 50),
    "category ordered": lambda v: pd.Categorical(np.where(v > 50, "a", "b"), ordered=True),
    "category without levels": lambda v: pd.Categorical([None] * len(v)),
    "sparse": lambda v: pd.arrays.SparseArray(np.where(v > 50, v, 0.0), fill_value=0.0),
    "sparse bool": lambda v: pd.arrays.SparseArray(v > 50),
    "datetime64": lambda v: pd.to_datetime(v.astype(int), unit="D"),
    "datetime64 tz": lambda v: pd.to_datetime(v.astype(int), unit="D", utc=True),
    "timedelta64": lambda v: pd.to_timedelta(v, unit="D"),
    "period": lambda v: pd.PeriodIndex.from_ordinals(v.astype(int), freq="M"),
    "interval": lambda v: pd.IntervalIndex.from_arrays(v, v + 1),
    "bytes S": lambda v: np.array([b"a" if x > 50 else b"b" for x in v]),
    "bytes objects": lambda v: pd.Series([b"a" if x > 50 else b"b" for x in v], dtype=object),
    "lists": lambda v: pd.Series([[x] for x in v]),
    "dicts": lambda v: pd.Series([{"a": x} for x in v]),
    "sets": lambda v: pd.Series([{x} for x in v]),
    "tuples": lambda v: pd.Series([(x, 1) for x in v]),
    "arrays": lambda v: pd.Series([np.array([x, 1]) for x in v]),
    "Decimals": lambda v: pd.Series([Decimal(str(round(x, 2))) for x in v]),
    "Fractions": lambda v: pd.Series([Fraction(int(x), 7) for x in v]),
    "integers beyond float": lambda v: pd.Series([int(x) + 10**400 for x in v], dtype=object),
    "integers beyond 64 bits": lambda v: pd.Series([int(x) + 10**19 * 3 for x in v], dtype=object),
    "mixed bool and text": lambda v: pd.Series([True if x > 50 else "no" for x in v]),
    "mixed number and text": lambda v: pd.Series([x if x > 50 else "low" for x in v]),
    "mixed int and bool": lambda v: pd.Series([True if x > 50 else 2 for x in v], dtype=object),
    "constant": lambda v: np.full(len(v), 7.0),
    "constant with gaps": lambda v: np.where(v > 50, 7.0, np.nan),
    "all missing": lambda v: np.full(len(v), np.nan),
    "all None": lambda v: pd.Series([None] * len(v), dtype=object),
    "all NA": lambda v: pd.array([pd.NA] * len(v), dtype="Int64"),
    "all empty text": lambda v: pd.Series([""] * len(v), dtype=object),
    "one value": lambda v: np.where(np.arange(len(v)) == 3, 1.0, np.nan),
    "all infinite": lambda v: np.full(len(v), np.inf),
    "tiny": lambda v: v * 1e-320,
    "nearly constant": lambda v: 1.0 + v * 1e-17,
    "far from 0": lambda v: 1e15 + v,
    "1e19": lambda v: v * 1e18,
    "one far out": lambda v: np.where(np.arange(len(v)) == 3, 1e19, v),
    "all texts": lambda v: pd.Series([f"level {i}" for i in range(len(v))]),
    "arrow int64": _arrow(pa.int64(), int),
    "arrow int64 beyond 2**53": _arrow(pa.int64(), lambda x: int(x) + 2**60),
    "arrow uint64 beyond 2**63": _arrow(pa.uint64(), lambda x: int(x) + 2**63),
    "arrow double": _arrow(pa.float64(), float),
    "arrow half": _arrow(pa.float16(), np.float16),
    "arrow bool": _arrow(pa.bool_(), lambda x: x > 50),
    "arrow string": _arrow(pa.string(), lambda x: "a" if x > 50 else "b"),
    "arrow decimal": _arrow(pa.decimal128(10, 2), lambda x: Decimal(str(round(x, 2)))),
    "arrow timestamp": _arrow(pa.timestamp("s"), lambda x: dt.datetime(2020, 1, 1 + int(x) % 28)),
    "arrow date": _arrow(pa.date32(), lambda x: dt.date(2020, 1, 1 + int(x) % 28)),
    "arrow duration": _arrow(pa.duration("s"), lambda x: dt.timedelta(seconds=int(x))),
    "arrow list": _arrow(pa.list_(pa.float64()), lambda x: [x]),
    "arrow struct": _arrow(pa.struct([("a", pa.float64())]), lambda x: {"a": x}),
    "arrow binary": _arrow(pa.binary(), lambda x: b"a" if x > 50 else b"b"),
    "arrow null": _arrow(pa.null(), lambda x: None),
    "arrow dictionary": lambda v: pd.Series(
        pd.arrays.ArrowExtensionArray(
            pa.array(["a" if x > 50 else "b" for x in v]).dictionary_encode()
        )
    ),
}
MEANINGLESS_COLUMNS = (
    *("complex128", "complex with no imaginary part", "lists", "dicts", "sets", "arrays"),
    *("integers beyond float", "all infinite", "arrow list", "arrow struct", "tuples"),
)

POLARS_COLUMNS: dict[str, Callable[[np.ndarray], Any]] = {
    "polars Decimal": lambda v: pl.Series([Decimal(str(round(x, 2))) for x in v]),
    "polars Date": lambda v: pl.Series([dt.date(2020, 1, 1 + int(x) % 28) for x in v]),
    "polars Duration": lambda v: pl.Series([dt.timedelta(days=int(x)) for x in v]),
    "polars Time": lambda v: pl.Series([dt.time(int(x) % 24) for x in v]),
    "polars List": lambda v: pl.Series([[x] for x in v]),
    "polars Array": lambda v: pl.Series([[x, x] for x in v], dtype=pl.Array(pl.Float64, 2)),
    "polars Struct": lambda v: pl.Series([{"a": x} for x in v]),
    "polars Binary": lambda v: pl.Series([b"a" if x > 50 else b"b" for x in v]),
    "polars Object": lambda v: pl.Series([Thing() for x in v], dtype=pl.Object),
    "polars Categorical": lambda v: pl.Series(
        ["a" if x > 50 else None for x in v], dtype=pl.Categorical
    ),
    "polars Enum": lambda v: pl.Series(
        ["a" if x > 50 else "b" for x in v], dtype=pl.Enum(["a", "b", "c"])
    ),
    "polars Null": lambda v: pl.Series([None] * len(v)),
    "polars Boolean": lambda v: pl.Series([None if x > 90 else x > 50 for x in v]),
    "polars UInt64": lambda v: pl.Series([int(x) + 2**63 for x in v], dtype=pl.UInt64),
    "polars Int128": lambda v: pl.Series([int(x) + 2**100 for x in v], dtype=pl.Int128),
    "polars NaN and null": lambda v: pl.Series(
        [None if x > 90 else float("nan") if x > 80 else x for x in v]
    ),
}
MEANINGLESS_COLUMNS = (*MEANINGLESS_COLUMNS, "polars List", "polars Array", "polars Struct")


def pick(rng: Rng, options: Any) -> Any:
    """Draw one of some options, of any kind."""
    options = list(options)
    return options[int(rng.integers(len(options)))]
