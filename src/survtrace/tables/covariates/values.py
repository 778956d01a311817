"""Turn the raw values of one covariate into numbers or levels, by the rules of its fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning, row_name, warn
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.distinct_values import factorise
from survtrace.tables.covariates.missing import MARKERS, is_plain_number
from survtrace.tables.covariates.text_numbers import parse_distinct
from survtrace.tables.covariates.units import same_unit

MOST_BITS = 4096  # of a whole number that is written in digits; Python refuses more than 4,300


class Levels(NamedTuple):
    """A categorical column: each subject's index into a list of distinct texts, -1 if missing."""

    codes: NDArray[np.int64]
    text: list[str]


Column = NDArray[np.float64] | Levels


def checked_numbers(
    values: NDArray[np.float64], covariate: Covariate, first_row: int = 0
) -> NDArray[np.float64]:
    """Make the marks of missing values NaN; refuse what is infinite or said to be impossible.

    Examples
    --------
    >>> age = Covariate("age", "numerical", missing=("999",))
    >>> checked_numbers(np.array([61.0, 999.0]), age)
    array([61., nan])
    """
    if markers := [float(text) for text in covariate.missing if is_plain_number(text)]:
        values = np.where(np.isin(values, markers), np.nan, values)  # 999 may mean "not known"
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"numerical covariates must be finite; column {covariate.name!r} has "
            f"{infinite.sum()} infinite values (first: "
            f"{row_name(first_row + np.flatnonzero(infinite)[0])}). "
            "Replace infinity by a missing value or a bound."
        )
    _require_possible(values, covariate, first_row)
    return values


def _require_possible(values: NDArray[np.float64], covariate: Covariate, first_row: int) -> None:
    """Refuse numbers that the data dictionary says to be impossible."""
    if covariate.low is None and covariate.high is None:
        return
    low = -np.inf if covariate.low is None else covariate.low
    high = np.inf if covariate.high is None else covariate.high
    bad = (values < low) | (values > high)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"column {covariate.name!r} must lie between {low:g} and {high:g}, as the data "
            f"dictionary says; {bad.sum()} of {len(bad)} values do not (first: "
            f"{row_name(first_row + first)}, {values[first]:g}). Correct them, or leave them "
            "empty."
        )


def numbers_in_text(
    codes: NDArray[np.intp], distinct: Sequence[Any], covariate: Covariate, first_row: int = 0
) -> NDArray[np.float64]:
    """Parse a column of texts, with the covariate's decimal mark, markers and unit.

    ``codes`` give each row its place among the distinct values, -1 where it is missing.

    Examples
    --------
    >>> crp = Covariate("crp", "numerical", decimal=",", in_text=True)
    >>> numbers_in_text(np.array([1, 0, -1]), ["1,5", "<0,6"], crp)
    array([0.6, 1.5, nan])
    """
    texts = [(text_of(level) or "").strip() for level in distinct]
    strict = covariate.decimal == "." and not covariate.thousands
    decimal = "clear" if strict else covariate.decimal
    read = parse_distinct(texts, decimal, [*MARKERS, *covariate.missing], covariate.unit)
    unreadable = np.append(read.unreadable, False)[codes]
    if unreadable.any():
        first = int(np.flatnonzero(unreadable)[0])
        text = texts[codes[first]][:40]
        why = "could be one of two numbers" if read.ambiguous[codes[first]] else "is no number"
        seen = (
            f"column {covariate.name!r} is numerical; {unreadable.sum()} of {len(codes)} values "
            f"are not to be read as numbers (first: {row_name(first_row + first)}, {text!r} {why})."
        )
        raise DataError(
            f"{seen} Convert them, make them missing, or name the column in categorical= when "
            "fitting.",
            in_command=f"{seen} Correct them, or leave them empty.",
        )
    expected = same_unit(covariate.unit)
    other = next((text for text, unit in read.units.items() if same_unit(unit) != expected), None)
    if expected and other is not None:
        raise DataError(
            f"column {covariate.name!r} is in {covariate.unit!r}; {other!r} is in another unit. "
            "Convert the values to one unit."
        )
    if read.kinds and not covariate.in_text:
        kinds = sorted({kind for some in read.kinds.values() for kind in some})
        n_changed = np.isin(codes, [i for i, text in enumerate(texts) if text in read.kinds]).sum()
        warn(
            f"column {covariate.name!r} holds numbers written as text, which it did not in fit: "
            f"{', '.join(kinds)}, in {n_changed} of {len(codes)} values. They are read as numbers.",
            DataWarning,
        )
    return np.append(read.numbers, np.nan)[codes]


def merge_equal(codes: NDArray[np.intp], texts: list[str | None]) -> Levels:
    """Give one code to equal texts, and -1 to None."""
    if None in texts or len(set(texts)) < len(texts):
        of_text, distinct = factorise([*texts, None])
        codes, texts = of_text[codes], distinct
    return Levels(codes.astype(np.int64, copy=False), cast("list[str]", texts))


def read_levels(
    codes: NDArray[np.intp], distinct: Sequence[Any], covariate: Covariate, first_row: int = 0
) -> Levels:
    """Read a categorical column as text levels in order of appearance; 1, 1.0, "1" are one level.

    Spaces around a text do not count; an empty text is missing; an infinite number is refused.
    """
    texts = _normalised([text_of(level) for level in distinct], covariate)
    infinite = [
        code
        for code, level in enumerate(distinct)
        if isinstance(level, float | np.floating) and np.isinf(level) and texts[code] is not None
    ]
    if infinite:
        rows = np.flatnonzero(np.isin(codes, infinite))
        raise DataError(
            f"categories must be texts or finite numbers; column {covariate.name!r} has "
            f"{len(rows)} infinite values (first: {row_name(first_row + rows[0])}). "
            "Replace infinity by a missing value, or by the name of a category."
        )
    return merge_equal(codes, texts)


def _normalised(texts: list[str | None], covariate: Covariate) -> list[str | None]:
    """Strip texts and replace each by the level it equals but for case; None where missing."""
    markers = {"", *(text.strip().casefold() for text in covariate.missing)}
    levels = {plain_text(level): level for level in reversed(covariate.levels)}
    levels |= {level: level for level in covariate.levels}
    normalised: list[str | None] = []
    for text in texts:
        stripped = "" if text is None else text.strip()
        level = levels.get(stripped) or levels.get(plain_text(stripped), stripped)
        normalised.append(None if stripped.casefold() in markers else level)
    return normalised


def plain_text(text: str) -> str:
    """Reduce a text to lower case and single spaces, to compare ways of writing a level.

    Examples
    --------
    >>> plain_text(" Never  Smoker ") == plain_text("never smoker")
    True
    """
    return " ".join(text.casefold().split())


def text_of(level: Any) -> str | None:
    """Write a value as the text of a level: whole numbers without a point; None for NaN."""
    if isinstance(level, float):
        if np.isnan(level):  # some frames tell "not a number" from "missing"; we do not
            return None
        level = int(level) if level.is_integer() else level
    if isinstance(level, int) and level.bit_length() > MOST_BITS:
        return hex(level)
    return str(level)
