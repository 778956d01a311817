"""One column: what its values look like, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from survtrace.data.columns import TEXTS, numbers, text_levels
from survtrace.data.covariates import Covariate, Kind, kind_of
from survtrace.data.missing import LEVELS, MARKERS, SENTINELS, is_plain_number
from survtrace.data.text_numbers import DistinctNumbers, parse_distinct
from survtrace.data.units import same_unit
from survtrace.errors import DataError
from survtrace.inspection.dictionary import COVARIATE_KINDS, Entry
from survtrace.inspection.finding import Finding
from survtrace.inspection.texts import (
    N_IDENTIFIER,
    are_dates,
    are_distinct,
    are_sentences,
    is_named_like_a_code,
    is_named_like_an_identifier,
    spellings,
)

N_CODES = 20  # whole numbers in text, if not more distinct ones, are codes
MOST_UNREADABLE = 10  # distinct texts among numbers that are taken for missing
MANY_LEVELS = 50


class Texts(NamedTuple):
    """The distinct texts of a column that are not missing, and how many rows have each."""

    text: list[str]
    counts: NDArray[np.int64]
    n_missing: int
    markers: dict[str, int]

    @property
    def n_rows(self) -> int:
        """Rows that have a text."""
        return int(self.counts.sum())


def inspect_column(
    series: nw.Series[Any], entry: Entry, *, categorical: bool, decimal: str, missing: Iterable[str]
) -> Finding:
    """Find out what a column holds and what will be done with it.

    Parameters
    ----------
    series
        The column.
    entry
        What the data dictionary says about it.
    categorical
        Whether the user has named it categorical.
    decimal, missing
        The decimal mark and the marks of missing values that hold for the whole table, "" and ()
        if nothing was said.
    """
    told = (*entry.missing, *missing)
    kind = "categorical" if categorical else entry.kind
    if kind == "covariate":
        kind = "categorical" if series.dtype.is_temporal() else kind
    if kind and kind not in COVARIATE_KINDS:
        return _set_aside(series, kind)
    try:
        by_type = kind_of(series)
    except DataError as error:
        if kind == "categorical" and series.dtype.is_temporal():
            by_type = "categorical"
        else:
            return Finding(
                series.name, "dates", _span(series), series.null_count(), "question", str(error)
            )
    if by_type == "numerical" and kind != "categorical":
        return _of_numbers(series, entry, told)
    is_text = series.dtype == nw.String or series.dtype in (nw.Object, nw.Unknown)
    if is_text or kind == "numerical":
        return _of_texts(series, entry, kind, entry.decimal or decimal, told)
    return _of_categories(series, entry, told, by_type)


def covariate_of(name: str, kind: Kind, entry: Entry, **written: Any) -> Covariate:
    """A covariate with what the data dictionary says of it."""
    said: dict[str, Any] = {"unit": entry.unit, "label": entry.label}
    if kind == "numerical":
        said |= {"low": entry.low, "high": entry.high}
    else:
        said |= {"levels": entry.levels}
    return Covariate(name, kind, **{**said, **{key: v for key, v in written.items() if v}})


def _set_aside(series: nw.Series[Any], role: str) -> Finding:
    """A column of which the user has said that it is no covariate."""
    words = {"duration": "the outcome", "event": "the outcome", "ignore": "to be ignored"}
    reason = f"{words.get(role, role)}, says the dictionary"
    n_missing = series.null_count()
    return Finding(series.name, "", "", n_missing, "left out", reason, role, asked=True)


def _of_numbers(series: nw.Series[Any], entry: Entry, told: tuple[str, ...]) -> Finding:
    marked = tuple(dict.fromkeys(text for text in told if is_plain_number(text)))
    plain = Covariate(series.name, "numerical")
    try:
        everything = numbers(series.to_frame(), plain)
    except DataError:  # infinite: refused where the values are read
        covariate = covariate_of(series.name, "numerical", entry, missing=marked)
        return Finding(series.name, "numbers", "", 0, "numerical", covariate=covariate)
    present = everything[~np.isnan(everything)]
    is_marker = np.isin(present, [float(text) for text in marked])
    markers = {
        f"{v:g}": int(n)
        for v, n in zip(*np.unique(present[is_marker], return_counts=True), strict=True)
    }
    values = present[~is_marker] if markers else present
    covariate = covariate_of(
        series.name,
        "numerical",
        entry,
        missing=tuple(t for t in marked if f"{float(t):g}" in markers),
    )
    n_missing = len(everything) - len(values)
    content = f"{values.min():g} to {values.max():g}" if len(values) else "nothing"
    finding = Finding(
        series.name,
        "numbers",
        content,
        n_missing,
        "numerical",
        markers=markers,
        covariate=covariate,
        asked=bool(entry.kind),
    )
    if not finding.asked and (why := _numbers_that_name_rows(series.name, values, len(everything))):
        return replace(
            finding, use="left out", reason=why, role="identifier", covariate=None, content=""
        )
    warnings = (*_sentinels(values), *_impossible(values, entry), *_codes(finding, values))
    return replace(finding, warnings=warnings)


def _numbers_that_name_rows(name: str, values: NDArray[np.float64], n_rows: int) -> str:
    """Why whole numbers are identifiers; "" if they are not."""
    if len(values) < max(N_IDENTIFIER, 0.95 * n_rows) or not _are_whole(values):
        return ""
    named = is_named_like_an_identifier(name)
    span = float(values.max() - values.min()) + 1
    if not named and span > 3 * len(values):
        return ""
    n_distinct = len(np.unique(values))
    if named and are_distinct(n_distinct, len(values)):
        return f"identifier: {n_distinct} distinct numbers in {len(values)} rows, and its name"
    if n_distinct < len(values):
        return ""
    steps = np.diff(values)
    if span == len(values) or (steps > 0).all() or (steps < 0).all():
        return f"identifier: {n_distinct} distinct numbers in {len(values)} rows, counted up"
    return ""


def _are_whole(values: NDArray[np.float64]) -> bool:
    return bool(
        (values[:100] == np.floor(values[:100])).all() and (values == np.floor(values)).all()
    )


def _sentinels(values: NDArray[np.float64]) -> tuple[str, ...]:
    """Numbers such as 999 that lie far from all others and may mean "not known"."""
    found = []
    for _ in range(3):
        if len(values) < 10:
            break
        low, high = values.min(), values.max()
        for code, others in ((high, values[values < high]), (low, values[values > low])):
            if code not in SENTINELS or len(others) < 2:
                continue
            gap = min(abs(others.min() - code), abs(others.max() - code))
            far = gap > others.max() - others.min() and others.max() > others.min()
            if far or (code <= -9 and others.min() >= 0):
                n = len(values) - len(others)
                found.append(
                    f"{code:g} ({_rows(n)}) lies far from all others: if it means 'not known', say "
                    f"missing {code:g}"
                )
                values = others
                break
        else:
            break
    return tuple(found)


def _codes(finding: Finding, values: NDArray[np.float64]) -> tuple[str, ...]:
    """Whole numbers whose name says that they stand for something else."""
    if finding.asked or not len(values) or not is_named_like_a_code(finding.name):
        return ()
    return ("numbers that seem to be codes: if so, say categorical",) if _are_whole(values) else ()


def _impossible(values: NDArray[np.float64], entry: Entry) -> tuple[str, ...]:
    low = -np.inf if entry.low is None else entry.low
    high = np.inf if entry.high is None else entry.high
    n = int(((values < low) | (values > high)).sum())
    return (f"{_rows(n)} outside {low:g} to {high:g}",) if n else ()


def _of_categories(
    series: nw.Series[Any], entry: Entry, told: tuple[str, ...], by_type: Kind
) -> Finding:
    """Categories, truth values, or numbers that the user calls categorical: as they are."""
    texts = _present(series, told, usual=())
    covariate = covariate_of(series.name, "categorical", entry, missing=tuple(texts.markers))
    read_as = "truth values" if series.dtype == nw.Boolean else "categories"
    if series.dtype.is_numeric():
        read_as = "numbers"
    return Finding(
        series.name,
        read_as,
        _levels_in_words(texts),
        texts.n_missing,
        "categorical",
        markers=texts.markers,
        warnings=_many_levels(texts) if series.dtype in TEXTS else (),
        covariate=covariate,
        asked=bool(entry.kind),
    )


def _of_texts(
    series: nw.Series[Any], entry: Entry, kind: str, decimal: str, told: tuple[str, ...]
) -> Finding:
    usual = MARKERS if kind == "numerical" else [m for m in MARKERS if m not in LEVELS]
    texts = _present(series, told, [m for m in usual if m not in _lower(entry.levels)])
    finding = Finding(
        series.name,
        "text",
        _levels_in_words(texts),
        texts.n_missing,
        "categorical",
        markers=texts.markers,
        asked=bool(kind),
    )
    if not texts.text:
        empty = covariate_of(series.name, kind_of(series), entry, missing=tuple(texts.markers))
        return replace(finding, content="nothing", use=empty.kind, covariate=empty)
    if kind != "categorical" and not entry.levels:
        if not kind and are_dates(texts.text, texts.counts):
            reason = "dates written as text have no scale of their own"
            return _without_values(finding, "date", reason)
        read = parse_distinct(texts.text, decimal or None, unit=entry.unit)
        found = _of_numbers_in_text(finding, texts, read, entry, kind)
        if found is not None:
            return found
    if not kind and not entry.levels:
        if are_sentences(texts.text, texts.counts):
            reason = f"free text: {len(texts.text)} distinct texts of several words"
            return _without_values(finding, "text", reason)
        if are_distinct(len(texts.text), texts.n_rows):
            reason = f"identifier: {len(texts.text)} distinct texts in {_rows(texts.n_rows)}"
            return _without_values(finding, "identifier", reason)
    return _of_levels(finding, texts, entry)


def _of_numbers_in_text(
    finding: Finding, texts: Texts, read: DistinctNumbers, entry: Entry, kind: str
) -> Finding | None:
    """Numbers written as text; None if the column rather holds levels."""
    readable = ~read.unreadable
    n_numbers = int(texts.counts[readable].sum())
    n_unclear = int(texts.counts[read.ambiguous].sum())
    few = len(texts.text) <= N_CODES and not kind
    if n_unclear and n_numbers + n_unclear >= 0.9 * texts.n_rows:
        example = next(t for t, unclear in zip(texts.text, read.ambiguous, strict=True) if unclear)
        return replace(
            finding,
            use="question",
            reason=f"{example!r} can be {example.replace(',', '.')} or {example.replace(',', '')}: "
            "say which mark its decimals have",
        )
    share = n_numbers / texts.n_rows
    unreadable = [t for t, bad in zip(texts.text, read.unreadable, strict=True) if bad]
    if unreadable and kind != "numerical":
        if few or int(readable.sum()) <= N_CODES or share < 0.5:
            return None
        if share < 0.9 or len(unreadable) > MOST_UNREADABLE:
            n_texts = texts.n_rows - n_numbers
            return replace(
                finding,
                use="question",
                reason=f"numbers in {_rows(n_numbers)}, other texts in {n_texts} "
                f"(such as {unreadable[0]!r}): say whether it is numerical or categorical",
            )
    plain = not read.kinds and not unreadable
    values = read.numbers[readable]
    if plain and not kind:
        if any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in texts.text):
            return None  # "007" is a code
        if few and not texts.markers and _are_whole(values):
            return None
        if (
            _are_whole(values)
            and is_named_like_an_identifier(finding.name)
            and are_distinct(len(values), texts.n_rows)
        ):
            reason = f"identifier: {len(values)} distinct numbers in {_rows(texts.n_rows)}"
            return _without_values(finding, "identifier", reason)
    units = _units(texts, read)
    if len({same_unit(unit) or unit for unit in units}) > 1:
        seen = ", ".join(f"{unit!r} in {n}" for unit, n in units.items())
        return replace(
            finding,
            use="question",
            reason=f"numbers in different units ({seen} rows): convert them",
        )
    markers = {**texts.markers, **_counts(texts, unreadable)}
    missing = tuple(m for m in markers if m.casefold() not in MARKERS)
    covariate = covariate_of(
        finding.name,
        "numerical",
        entry,
        decimal=read.decimal,
        thousands=read.decimal == "." and any("," in text for text in read.kinds),
        missing=missing,
        unit=entry.unit or next(iter(units), ""),
    )
    changes: dict[str, int] = {}
    for text, n in zip(texts.text, texts.counts.tolist(), strict=True):
        for change in read.kinds.get(text, ()):
            changes[change] = changes.get(change, 0) + n
    warnings = (
        *_sentinels(np.repeat(read.numbers, texts.counts)[np.repeat(readable, texts.counts)]),
    )
    return replace(
        finding,
        content=f"{values.min():g} to {values.max():g}",
        n_missing=texts.n_missing + sum(_counts(texts, unreadable).values()),
        use="numerical",
        reason=f"numbers written as text in {_rows(n_numbers)}",
        markers=markers,
        changes=changes,
        warnings=warnings,
        covariate=covariate,
    )


def _of_levels(finding: Finding, texts: Texts, entry: Entry) -> Finding:
    several = spellings(texts.text, texts.counts)
    merged = _counts(texts, [text for others in several.values() for text in others])
    levels = tuple(dict.fromkeys(text.strip() for text in texts.text))
    dropped = {text.strip() for others in several.values() for text in others} - set(several)
    covariate = covariate_of(finding.name, "categorical", entry, missing=tuple(texts.markers))
    warnings: tuple[str, ...] = _many_levels(texts)
    if several and not entry.levels:
        covariate = replace(covariate, levels=tuple(t for t in levels if t not in dropped))
        seen = "; ".join(f"{others} as {level!r}" for level, others in list(several.items())[:3])
        warnings = (f"spellings of one level in {_rows(sum(merged.values()))}: {seen}", *warnings)
    if entry.levels:
        known = _lower(entry.levels)
        unknown = [text for text in texts.text if text.strip().casefold() not in known]
        if unknown:
            n = sum(_counts(texts, unknown).values())
            return replace(
                finding,
                use="question",
                reason=f"levels that the dictionary does not have in {_rows(n)} (such as "
                f"{unknown[0]!r}): correct them, or add them to its levels",
            )
    return replace(finding, warnings=warnings, covariate=covariate)


def _present(series: nw.Series[Any], told: tuple[str, ...], usual: Iterable[str]) -> Texts:
    """The texts that are there, and the markers of missing values among them."""
    found = text_levels(series)
    counts = np.bincount(found.place[found.place >= 0], minlength=len(found.text))
    marks = {"", *_lower(told), *usual}
    is_marker = [text.strip().casefold() in marks for text in found.text]
    markers: dict[str, int] = {}
    for text, n, marker in zip(found.text, counts.tolist(), is_marker, strict=True):
        if marker and text.strip():
            markers[text.strip()] = markers.get(text.strip(), 0) + n
    present = ~np.array(is_marker, dtype=bool) & (counts > 0)
    kept = [text for text, there in zip(found.text, present, strict=True) if there]
    own = counts[present]
    if any(text != text.strip() for text in kept):
        kept, own = _stripped(kept, own)
    return Texts(kept, own, len(found.place) - int(own.sum()), markers)


def _stripped(texts: list[str], counts: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    total: dict[str, int] = {}
    for text, n in zip(texts, counts.tolist(), strict=True):
        total[text.strip()] = total.get(text.strip(), 0) + n
    return list(total), np.array(list(total.values()), dtype=np.int64)


def _counts(texts: Texts, some: list[str]) -> dict[str, int]:
    wanted = set(some)
    pairs = zip(texts.text, texts.counts.tolist(), strict=True)
    return {text: n for text, n in pairs if text in wanted}


def _units(texts: Texts, read: DistinctNumbers) -> dict[str, int]:
    units: dict[str, int] = {}
    for text, n in zip(texts.text, texts.counts.tolist(), strict=True):
        if unit := read.units.get(text):
            units[unit] = units.get(unit, 0) + n
    return units


def _levels_in_words(texts: Texts, most: int = 4) -> str:
    order = np.argsort(-texts.counts, kind="stable")[:most]
    shown = ", ".join(texts.text[number] for number in order)
    more = ", ..." if len(texts.text) > most else ""
    return f"{len(texts.text)} levels: {shown}{more}" if texts.text else "nothing"


def _many_levels(texts: Texts) -> tuple[str, ...]:
    n_levels = len(texts.text)
    if n_levels < MANY_LEVELS or texts.n_rows >= 10 * n_levels:
        return ()
    rare = int((texts.counts <= 2).sum())
    return (f"{n_levels} levels in {_rows(texts.n_rows)}, {rare} of them in one or two",)


def _without_values(finding: Finding, role: str, reason: str) -> Finding:
    """A column that is not used; its values are not shown."""
    return replace(finding, use="left out", role=role, reason=reason, content="", markers={})


def _span(series: nw.Series[Any]) -> str:
    return f"{series.min()} to {series.max()}" if series.dtype.is_temporal() else ""


def _lower(texts: Iterable[str]) -> set[str]:
    return {text.strip().casefold() for text in texts}


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"
