"""Inspect one column: what its values are, and what will be done with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw

from survtrace.errors import DataError
from survtrace.inspection.dictionary import COVARIATE_KINDS, Entry
from survtrace.inspection.distinct import present_texts
from survtrace.inspection.finding import Finding, answer_to_drop, covariate_of
from survtrace.inspection.numeric import inspect_numbers
from survtrace.inspection.texts import are_distinct
from survtrace.inspection.textual import inspect_texts
from survtrace.tables.covariates.columns import TEXTS
from survtrace.tables.covariates.covariates import kind_of
from survtrace.tables.covariates.distinct_values import is_missing


def inspect_column(
    series: nw.Series[Any], entry: Entry, *, categorical: bool, table: str, missing: Iterable[str]
) -> Finding:
    """Find out what a column holds and what will be done with it.

    ``entry`` is that of the data dictionary, ``categorical`` whether the user names the column so;
    ``table`` and ``missing`` are the decimal mark and the missing markers of the whole table.
    """
    markers = (*entry.missing, *missing)
    kind = "categorical" if categorical else entry.kind
    if kind == "covariate" and series.dtype.is_temporal():
        kind = "categorical"
    if kind and kind not in COVARIATE_KINDS:
        roles = {"duration": "the outcome", "event": "the outcome", "ignore": "to be ignored"}
        reason = f"{roles.get(kind, kind)}, says the dictionary"
        n_missing = _n_missing(series)
        return Finding(series.name, "", "", n_missing, "left out", reason, kind, by_user=True)
    try:
        dates_as_levels = kind == "categorical" and series.dtype.is_temporal()
        by_type = "categorical" if dates_as_levels else kind_of(series)
    except DataError as error:
        span = f"{series.min()} to {series.max()}" if series.dtype.is_temporal() else ""
        n_missing, answers = _n_missing(series), (answer_to_drop(series.name),)
        question = str(error)
        return Finding(series.name, "dates", span, n_missing, "question", question, answers=answers)
    if by_type == "numerical" and kind != "categorical":
        return inspect_numbers(series, entry, markers)
    is_text = series.dtype == nw.String or series.dtype in (nw.Object, nw.Unknown)
    if is_text or kind == "numerical":
        return inspect_texts(series, entry, kind, table, markers)
    return _of_categories(series, entry, markers, by_user=bool(kind))


def _n_missing(series: nw.Series[Any]) -> int:
    """Count missing cells; among objects one by one, as pandas cannot compare a signalling NaN."""
    if series.dtype == nw.Object:
        return sum(is_missing(value) for value in series.to_list())
    return series.null_count()


def _of_categories(
    series: nw.Series[Any], entry: Entry, markers: tuple[str, ...], *, by_user: bool
) -> Finding:
    """Keep categories, booleans, or numbers that the user calls categorical, as they are."""
    texts = present_texts(series, markers, usual=())
    covariate = covariate_of(
        series.name, "categorical", entry, missing=(*entry.missing, *texts.markers)
    )
    if series.dtype in TEXTS and not by_user and are_distinct(len(texts.text), texts.n_rows):
        reason = f"identifier: {len(texts.text)} distinct levels in {texts.n_rows:,} rows"
        return Finding(
            series.name, "categories", "", texts.n_missing, "left out", reason, "identifier"
        )
    other = "truth values" if series.dtype == nw.Boolean else "categories"
    read_as = "numbers" if series.dtype.is_numeric() else other
    return Finding(
        series.name,
        read_as,
        texts.describe(),
        texts.n_missing,
        "categorical",
        markers=texts.markers,
        warnings=texts.many_levels() if series.dtype in TEXTS else (),
        covariate=covariate,
        by_user=by_user,
    )
