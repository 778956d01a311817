"""A table in forms of other libraries, with odd names and labels, or none that could be a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch
from scipy import sparse

Rng = np.random.Generator


def _numbers(X: pd.DataFrame) -> pd.DataFrame:
    return X.select_dtypes("number")


def _named(names: Callable[[list[Any]], list[Any]]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda X: X.set_axis(
        pd.Index(names(list(X.columns)), dtype=object, tupleize_cols=False), axis=1
    )


def _structured(X: pd.DataFrame) -> np.ndarray:
    return _numbers(X).to_records(index=False)


# The same values in another form.
SAME: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda X: X,
    "polars": lambda X: pl.DataFrame({name: X[name].tolist() for name in X}),
    "arrow table": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "narwhals": lambda X: nw.from_native(X),
    "dict of lists": lambda X: {name: X[name].tolist() for name in X},
    "dict of arrays": lambda X: {name: X[name].to_numpy() for name in X},
    "dict of series": lambda X: {name: X[name] for name in X},
    "columns in another order": lambda X: X[list(X.columns)[::-1]],
    "an extra column": lambda X: X.assign(extra=1.0),
    "text index": lambda X: X.set_axis([f"s{i}" for i in range(len(X))]),
    "repeated index": lambda X: X.set_axis([0] * len(X)),
    "NaN index": lambda X: X.set_axis([np.nan] * len(X)),
    "MultiIndex rows": lambda X: X.set_axis(
        pd.MultiIndex.from_arrays([np.arange(len(X)) // 7, np.arange(len(X)) % 7])
    ),
    "dates index": lambda X: X.set_axis(pd.date_range("2020", periods=len(X))),
    "categorical names": lambda X: X.set_axis(pd.CategoricalIndex(X.columns), axis=1),
    "string names": lambda X: X.set_axis(X.columns.astype("string"), axis=1),
    "read-only": lambda X: _read_only(X),
    "fragmented": lambda X: pd.concat([X[[name]] for name in X], axis=1),
    "strided": lambda X: pd.concat([X, X])[::2] if len(X) % 2 == 0 else X[::-1][::-1],
}
# Not the table, or a table with something wrong.
WRONG: dict[str, Callable[[pd.DataFrame], Any]] = {
    "None": lambda X: None,
    "a number": lambda X: 3.5,
    "text": lambda X: "no/such/file.parquet",
    "empty text": lambda X: "",
    "bytes": lambda X: b"abc",
    "an object": lambda X: object(),
    "a class": lambda X: pd.DataFrame,
    "a generator": lambda X: (row for row in X.to_numpy()),
    "an iterator": lambda X: iter(X.to_numpy().tolist()),
    "a set": lambda X: {1, 2, 3},
    "empty list": lambda X: [],
    "empty dict": lambda X: {},
    "list of numbers": lambda X: list(range(len(X))),
    "list of dicts": lambda X: X.to_dict("records"),
    "list of tuples with text": lambda X: list(X.itertuples(index=False)),
    "list of lists of lists": lambda X: [[[1.0]]] * len(X),
    "ragged lists": lambda X: [[1.0] * (i % 3) for i in range(len(X))],
    "dict of scalars": lambda X: dict.fromkeys(X.columns, 1.0),
    "dict of a scalar and lists": lambda X: {
        **{name: X[name].tolist() for name in X},
        X.columns[0]: 1.0,
    },
    "dict of different lengths": lambda X: {
        name: X[name].tolist()[: len(X) - j] for j, name in enumerate(X)
    },
    "dict of 2-D": lambda X: {name: np.zeros((len(X), 2)) for name in X},
    "dict of None": lambda X: dict.fromkeys(X.columns),
    "dict of series of other labels": lambda X: {
        name: X[name].set_axis(range(j, len(X) + j)) for j, name in enumerate(X)
    },
    "dict of tensors that require grad": lambda X: {
        name: torch.ones(len(X), requires_grad=True) for name in X
    },
    "dict of sets": lambda X: {name: {1.0, 2.0} for name in X},
    "dict of text": lambda X: dict.fromkeys(X.columns, "abc"),
    "dict of generators": lambda X: {name: (v for v in X[name]) for name in X},
    "series": lambda X: X.iloc[:, 0],
    "polars series": lambda X: pl.Series(range(len(X))),
    "index": lambda X: X.index,
    "GroupBy": lambda X: X.groupby(X.columns[0]),
    "polars LazyFrame": lambda X: pl.DataFrame({name: X[name].tolist() for name in X}).lazy(),
    "arrow array": lambda X: pa.array([1.0] * len(X)),
    "arrow record batch": lambda X: pa.RecordBatch.from_pandas(X, preserve_index=False),
    "arrow chunked": lambda X: pa.chunked_array([[1.0] * len(X)]),
    "array 0-D": lambda X: np.array(1.0),
    "array 1-D": lambda X: np.zeros(len(X)),
    "array 3-D": lambda X: np.zeros((len(X), 2, 2)),
    "array without columns": lambda X: np.zeros((len(X), 0)),
    "array without rows": lambda X: np.zeros((0, 3)),
    "array of numbers": lambda X: _numbers(X).to_numpy(),
    "array of objects": lambda X: X.to_numpy(dtype=object),
    "array of texts": lambda X: X.to_numpy(dtype=str),
    "array of bytes": lambda X: np.full((len(X), 2), b"a"),
    "array of dates": lambda X: np.zeros((len(X), 2), dtype="datetime64[D]"),
    "array complex": lambda X: _numbers(X).to_numpy() + 1j,
    "array of records": _structured,
    "array of voids": lambda X: np.zeros((len(X), 2), dtype="V4"),
    "masked array": lambda X: np.ma.masked_greater(_numbers(X).to_numpy(dtype=float), 70),
    "array in Fortran order": lambda X: np.asfortranarray(_numbers(X).to_numpy()),
    "big-endian array": lambda X: _numbers(X).to_numpy(dtype=">f8"),
    "tensor": lambda X: torch.tensor(_numbers(X).to_numpy(dtype=float)),
    "tensor float16": lambda X: torch.tensor(_numbers(X).to_numpy(dtype=float)).half(),
    "tensor bfloat16": lambda X: torch.tensor(_numbers(X).to_numpy(dtype=float)).bfloat16(),
    "tensor that requires grad": lambda X: torch.tensor(
        _numbers(X).to_numpy(dtype=float), requires_grad=True
    ),
    "tensor sparse": lambda X: torch.tensor(_numbers(X).to_numpy(dtype=float)).to_sparse(),
    "tensor meta": lambda X: torch.zeros((len(X), 3), device="meta"),
    "tensor complex": lambda X: torch.zeros((len(X), 3), dtype=torch.complex64),
    "tensor conjugate": lambda X: torch.zeros((len(X), 3), dtype=torch.complex64).conj(),
    "sparse matrix": lambda X: sparse.csr_matrix(_numbers(X).to_numpy(dtype=float)),
    "sparse array": lambda X: sparse.coo_array(_numbers(X).to_numpy(dtype=float)),
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[[]],
    "one row": lambda X: X[:1],
    "two rows": lambda X: X[:2],
    "a column dropped": lambda X: X.iloc[:, 1:],
    "a column renamed": lambda X: X.rename(columns={X.columns[0]: "other"}),
    "all renamed": _named(lambda names: [f"c{j}" for j in range(len(names))]),
    "a repeated column": lambda X: pd.concat([X, X.iloc[:, :1]], axis=1),
    "all columns twice": lambda X: pd.concat([X, X], axis=1),
    "names that differ in type only": lambda X: X.assign(**{"0": 1.0}).rename(
        columns={X.columns[0]: 0}
    ),
    "integer names": _named(lambda names: list(range(len(names)))),
    "float names": _named(lambda names: [j + 0.5 for j in range(len(names))]),
    "NaN name": _named(lambda names: [np.nan, *names[1:]]),
    "None name": _named(lambda names: [None, *names[1:]]),
    "None twice": _named(lambda names: [None, None, *names[2:]]),
    "tuple names": _named(lambda names: [("a", name) for name in names]),
    "bytes name": _named(lambda names: [b"a", *names[1:]]),
    "object name": _named(lambda names: [object(), *names[1:]]),
    "date names": _named(lambda names: list(pd.date_range("2020", periods=len(names)))),
    "empty name": _named(lambda names: ["", *names[1:]]),
    "name of spaces": _named(lambda names: ["  ", *names[1:]]),
    "name with a newline": _named(lambda names: ["a\nb", *names[1:]]),
    "name with NUL": _named(lambda names: ["a\x00b", *names[1:]]),
    "name with a surrogate": _named(lambda names: ["\ud800", *names[1:]]),
    "long name": _named(lambda names: ["n" * 5000, *names[1:]]),
    "MultiIndex columns": lambda X: X.set_axis(
        pd.MultiIndex.from_tuples([("a", name) for name in X]), axis=1
    ),
    "three levels of columns": lambda X: X.set_axis(
        pd.MultiIndex.from_tuples([("a", name, 1) for name in X]), axis=1
    ),
    "transposed": lambda X: X.T,
    "all values missing": lambda X: X.mask(np.ones(X.shape, dtype=bool)),
    "all objects": lambda X: X.astype(object),
    "all texts": lambda X: X.astype(str),
    "all categories": lambda X: X.astype("category"),
    "arrow dtypes": lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
    "nullable dtypes": lambda X: X.convert_dtypes(),
    "booleans": lambda X: X.notna(),
    "the dtypes": lambda X: X.dtypes,
    "described": lambda X: X.describe(),
    "a styler": lambda X: X.to_xarray if hasattr(X, "to_xarray") else X.style,
}
# What no reading makes a table of subjects.
NO_TABLE = (
    *("None", "a number", "text", "empty text", "bytes", "an object", "a class", "a generator"),
    *("an iterator", "a set", "empty list", "empty dict", "list of numbers"),
    *("list of lists of lists", "ragged lists", "dict of scalars", "dict of different lengths"),
    *("dict of 2-D", "dict of None", "dict of text", "series", "polars series", "index"),
    *("GroupBy", "arrow array", "arrow chunked", "array 0-D", "array 1-D", "array 3-D"),
    *("array without columns", "array without rows", "array complex", "tensor meta"),
    *("tensor complex", "tensor conjugate", "no rows", "no columns", "array of voids"),
    *("array of dates", "a repeated column", "all columns twice", "dict of sets"),
    *("names that differ in type only", "None twice", "a styler", "the dtypes"),
    "dict of series of other labels",
)


def _read_only(X: pd.DataFrame) -> pd.DataFrame:
    columns = {}
    for name in X:
        values = X[name].to_numpy(copy=True)
        values.flags.writeable = False
        columns[name] = values
    return pd.DataFrame(columns, copy=False)
