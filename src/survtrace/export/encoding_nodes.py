"""Raw numbers and category codes become rows of the embedding table and values, in ONNX.

Tokens stand in the order of the inputs: first the numerical covariates, then the categorical ones.
The parameters of the network are put into this order (`token_order`, `table_order`), so that a
prediction does not have to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.export.graph import Graph, Value, concatenate
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import MISSING, UNSEEN, Categories, Encoding, Scale
from survtrace.tables.covariates.magnitude import FARTHEST, LARGEST
from survtrace.tables.covariates.missing import is_plain_number

MISSING_CODE, UNSEEN_CODE = -1, -2  # of a categorical covariate; its levels are 0, 1, ...


class EncodedNodes(NamedTuple):
    """Rows and values of each subject's tokens, and whether its covariates may be answered for."""

    rows: Value  # (subject, token)
    values: Value  # (subject, token)
    is_valid: Value  # (subject,)


def token_order(encoding: Encoding) -> NDArray[np.intp]:
    """Return the places of the covariates: numerical ones first."""
    others = np.setdiff1d(np.arange(len(encoding.columns)), encoding.numerical)
    return np.concatenate([encoding.numerical, others])


def table_order(encoding: Encoding) -> NDArray[np.int64]:
    """Return the rows of the embedding table in the order of the tokens and their codes.

    Of a categorical covariate "unseen" comes before "missing", so that codes from -2 on follow
    each other.

    Examples
    --------
    >>> encoding = Encoding.from_dict({"sex": {"levels": ["f", "m"]}})
    >>> table_order(encoding).tolist()
    [1, 0, 2, 3]
    """
    order = list[int]()
    for j in token_order(encoding).tolist():
        column, first = encoding.columns[j], int(encoding.first_rows[j])
        rows = list(range(first, first + column.n_rows))
        if isinstance(column, Categories):
            rows[:2] = [first + UNSEEN, first + MISSING]
        order += rows
    return np.array(order)


def encode_nodes(graph: Graph, encoding: Encoding) -> EncodedNodes:
    """Declare the inputs that the covariates need, and encode them as `Encoding` does."""
    pairs = list(zip(encoding.covariates, encoding.columns, strict=True))
    numbers = [(one, column) for one, column in pairs if isinstance(column, Scale)]
    levels = [column for _, column in pairs if isinstance(column, Categories)]
    parts = []
    if numbers:
        parts.append(_numbers(graph, numbers))
    if levels:
        parts.append(_codes(graph, levels, first_row=2 * len(numbers)))
    rows, values = (concatenate([part[k] for part in parts], 1) for k in (0, 1))
    is_valid = parts[0].is_valid if len(parts) == 1 else parts[0].is_valid & parts[1].is_valid
    return EncodedNodes(rows, values, is_valid)


def _numbers(graph: Graph, columns: list[tuple[Covariate, Scale]]) -> EncodedNodes:
    """Standardise numbers; in float64, as their size may leave no digits to float32."""
    doc = "numerical covariates, NaN where not known"
    x = graph.input("numbers", np.float64, ("subject", len(columns)), doc)
    is_missing = x.apply("IsNaN", dtype=np.bool_)
    if (marks := _marks([covariate for covariate, _ in columns])).size:
        is_missing = is_missing | x.unsqueeze(2).equals(marks).any(axis=2)
    low, high = np.array([possible_range(covariate) for covariate, _ in columns]).T
    mean = np.array([column.mean for _, column in columns])
    # A constant covariate is 0 whatever its value, as a number divided by infinity is.
    deviation = np.array([column.deviation or np.inf for _, column in columns])
    scaled = (x - mean) / deviation
    is_possible = (x >= low) & (x <= high) & (scaled.apply("Abs") <= FARTHEST)
    first_rows = 2 * np.arange(len(columns))
    return EncodedNodes(
        (~is_missing).cast(np.int64) + first_rows,
        is_missing.where(1.0, scaled.cast(np.float32)),
        (is_missing | is_possible).all(axis=1),
    )


def _codes(graph: Graph, columns: list[Categories], first_row: int) -> EncodedNodes:
    doc = "codes of categorical covariates, -1 where not known, -2 if not seen in fit"
    x = graph.input("codes", np.int64, ("subject", len(columns)), doc)
    n_rows = [column.n_rows for column in columns]
    is_code = (x >= UNSEEN_CODE) & (x < [len(column.levels) for column in columns])
    rows = is_code.where(x, MISSING_CODE) + (first_row - UNSEEN_CODE + np.cumsum([0, *n_rows[:-1]]))
    ones = (rows >= 0).cast(np.float32)
    return EncodedNodes(rows, ones, is_code.all(axis=1))


def possible_range(covariate: Covariate) -> tuple[float, float]:
    """Return the smallest and largest number that is answered for."""
    low = -LARGEST if covariate.low is None else max(covariate.low, -LARGEST)
    high = LARGEST if covariate.high is None else min(covariate.high, LARGEST)
    return low, high


def missing_numbers(covariate: Covariate) -> list[float]:
    """Return the numbers that mean "not known", such as 999."""
    return [float(text) for text in covariate.missing if is_plain_number(text)]


def _marks(covariates: list[Covariate]) -> NDArray[np.float64]:
    """Return the marks of missing values, (covariate, mark), filled with NaN: equal to nothing."""
    found = [missing_numbers(covariate) for covariate in covariates]
    marks = np.full((len(found), max(map(len, found))), np.nan)
    for row, some in zip(marks, found, strict=True):
        row[: len(some)] = some
    return marks
