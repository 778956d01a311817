"""Inspect a column of texts: dates, numbers, free text, identifiers, or levels."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from survtrace.errors import Answer, Words
from survtrace.inspection.dictionary import Entry
from survtrace.inspection.distinct import Texts, lower, present_texts, rows
from survtrace.inspection.finding import Finding, answer_to_drop, covariate_of
from survtrace.inspection.numeric import are_whole, find_sentinels
from survtrace.inspection.texts import (
    N_FEW,
    are_dates,
    are_distinct,
    are_sentences,
    is_named_like_a_person,
    is_named_like_an_identifier,
    spellings,
)
from survtrace.tables.covariates.covariates import kind_of
from survtrace.tables.covariates.missing import LEVELS, MARKERS
from survtrace.tables.covariates.text_numbers import (
    DistinctNumbers,
    parse_distinct,
    parted_thousands,
    two_readings,
)
from survtrace.tables.covariates.units import are_units, same_unit
from survtrace.tables.files.formats import DECIMALS

N_CODES = 20  # whole numbers in text, if not more distinct ones, are codes
# What settles a question: fields of the dictionary, and options of the command.
BY_DECIMAL = Words(
    '"decimal": "," (or "."), or "kind": "categorical" or "ignore"',
    in_command="--decimal , (or .), --categorical COLUMN or --drop COLUMN",
)
BY_KIND = Words(
    '"kind": "numerical" (its texts are then missing), "categorical" or "ignore"',
    in_command="--missing TEXT for each text that means 'not known', --categorical COLUMN or "
    "--drop COLUMN",
)
BY_LEAVING_OUT = Words(
    '"kind": "ignore", or "categorical"', in_command="--drop COLUMN or --categorical COLUMN"
)
BY_UNIT = Words(
    '"kind": "numerical" (if all are in one unit), "categorical" or "ignore"',
    in_command="--use COLUMN (if all are in one unit), --categorical COLUMN or --drop COLUMN",
)
BY_LEVELS = Words('"levels": all of them, or "kind": "ignore"', in_command="--drop COLUMN")
SIGNS = ("-", "--", "---", "\u2013", "\u2014")
N_APART, TIMES_APART = 10, 5  # rows, and ratio of medians, of numbers with a unit and without
MOST_UNREADABLE = 10  # distinct texts among numbers that are taken for missing


def inspect_texts(
    series: nw.Series[Any], entry: Entry, kind: str, table: str, missing: tuple[str, ...]
) -> Finding:
    """Find out what a column of texts holds: dates, numbers, free text, identifiers or levels."""
    usual = MARKERS if kind == "numerical" else [m for m in MARKERS if m not in LEVELS]
    usual = [mark for mark in usual if mark not in lower(entry.levels)]
    texts = present_texts(series, missing, usual)
    if any(set(text) == {"+"} for text in texts.text):  # beside "+", a "-" is a negative result
        texts = present_texts(series, missing, [mark for mark in usual if mark not in SIGNS])
    finding = Finding(
        series.name,
        "text",
        texts.describe(),
        texts.n_missing,
        "categorical",
        markers=texts.markers,
        by_user=bool(kind),
    )
    if not texts.text:
        empty = covariate_of(series.name, kind_of(series), entry, missing=tuple(texts.markers))
        return replace(finding, content="nothing", use=empty.kind, covariate=empty)
    if kind != "categorical" and not entry.levels:
        if not kind and are_dates(texts.text, texts.counts):
            reason = "dates written as text have no scale of their own"
            return _without_values(finding, "date", reason)
        if kind == "numerical" or _may_be_numbers(texts.text):
            is_marked = bool(entry.decimal or table)  # what stands before decimals is known
            if not is_marked and (example := parted_thousands(texts.text)):
                return _ask_for_decimals(finding, example)
            read = parse_distinct(texts.text, entry.decimal or None, unit=entry.unit, table=table)
            found = _of_numbers_in_text(finding, texts, read, entry, kind)
            if found is not None:
                return found
    if not kind and not entry.levels:
        if are_units(texts.text):
            reason = (
                f"its texts are units ({_counted(texts)}), so another column seems to have numbers "
                "in different units: convert these, then leave this column out"
            )
            when = f"once all numbers are in one unit, to leave {series.name!r} out"
            return replace(
                _ask_for_one_unit(finding, reason),
                answers=(Answer(when, ("--drop", series.name)),),
            )
        if are_sentences(texts.text, texts.counts):
            reason = f"free text: {len(texts.text)} distinct texts of several words"
            return _without_values(finding, "text", reason)
        if (
            texts.n_rows >= N_FEW
            and len(texts.text) > N_CODES
            and is_named_like_a_person(series.name)
        ):
            reason = f"names of people, by its name: {len(texts.text)} distinct texts"
            return _without_values(finding, "identifier", reason)
        named = is_named_like_an_identifier(series.name) and 2 * len(texts.text) >= texts.n_rows
        if are_distinct(len(texts.text), texts.n_rows) or (named and texts.n_rows >= N_FEW):
            reason = f"identifier: {len(texts.text)} distinct texts in {rows(texts.n_rows)}"
            return _without_values(finding, "identifier", reason)
    return _of_levels(finding, texts, entry)


def _may_be_numbers(texts: list[str], most: int = 1000) -> bool:
    """Check, on a sample, whether at least one in twenty texts can be read as a number."""
    some = texts[:: max(1, len(texts) // most)]
    read = parse_distinct(some)
    return bool((~read.unreadable | read.ambiguous).mean() >= 0.05)


def _of_numbers_in_text(
    finding: Finding, texts: Texts, read: DistinctNumbers, entry: Entry, kind: str
) -> Finding | None:
    """Return the finding for numbers written as text; None if the column rather holds levels."""
    readable = ~read.unreadable
    n_numbers = int(texts.counts[readable].sum())
    n_unclear = int(texts.counts[read.ambiguous].sum())
    few = len(texts.text) <= N_CODES and not kind
    if n_unclear and n_numbers + n_unclear >= 0.9 * texts.n_rows:
        example = next(t for t, unclear in zip(texts.text, read.ambiguous, strict=True) if unclear)
        return _ask_for_decimals(finding, example)
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
                reason=f"numbers in {rows(n_numbers)}, other texts in {n_texts} "
                f"(such as {unreadable[0]!r}): say whether it is numerical or categorical",
                answers=(
                    *_answer_not_known(unreadable),
                    Answer("if its texts are categories", ("--categorical", finding.name)),
                    answer_to_drop(finding.name),
                ),
                settled_by=BY_KIND,
            )
    plain = not read.kinds and not unreadable
    values = read.numbers[readable]
    if plain and not kind:
        if any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in texts.text):
            return None  # "007" is a code
        if few and not texts.markers and are_whole(values):
            return None
        if (
            are_whole(values)
            and is_named_like_an_identifier(finding.name)
            and are_distinct(len(values), texts.n_rows)
        ):
            reason = f"identifier: {len(values)} distinct numbers in {rows(texts.n_rows)}"
            return _without_values(finding, "identifier", reason)
    units = Counter[str]()
    for text, n in zip(texts.text, texts.counts.tolist(), strict=True):
        if unit := read.units.get(text):
            units[unit] += n
    if len({same_unit(unit) or unit for unit in units}) > 1:
        seen = ", ".join(f"{unit!r} in {n}" for unit, n in units.items())
        return _ask_for_one_unit(finding, f"numbers in different units ({seen} rows): convert them")
    if not kind and (seen := _apart_without_unit(texts, read)):
        return replace(
            _ask_for_one_unit(finding, f"{seen}: convert them to one unit"),
            answers=(
                Answer("if all are in one unit", ("--use", finding.name)),
                answer_to_drop(finding.name),
            ),
            settled_by=BY_UNIT,
        )
    read_as_missing = texts.count_of(unreadable)
    markers = {**texts.markers, **read_as_missing}
    missing = (*entry.missing, *(m for m in markers if m.casefold() not in MARKERS))
    covariate = covariate_of(
        finding.name,
        "numerical",
        entry,
        decimal=read.decimal,
        in_text=True,
        thousands=read.decimal == "." and any("," in text for text in read.kinds),
        missing=missing,
        unit=entry.unit or next(iter(units), ""),
    )
    changes, examples = Counter[str](), dict[str, str]()
    for text, n in zip(texts.text, texts.counts.tolist(), strict=True):
        for change in read.kinds.get(text, ()):
            changes[change] += n
            examples.setdefault(change, text)
    every = np.repeat(read.numbers, texts.counts)[np.repeat(readable, texts.counts)]
    return replace(
        finding,
        content=f"{values.min():g} to {values.max():g}",
        n_missing=texts.n_missing + sum(read_as_missing.values()),
        use="numerical",
        reason=f"numbers written as text in {rows(n_numbers)}",
        markers=markers,
        changes=changes,
        examples=examples,
        sentinels=find_sentinels(every),
        covariate=covariate,
    )


def _apart_without_unit(texts: Texts, read: DistinctNumbers) -> str:
    """Say that numbers with a unit lie apart from those without, as "45 %" and 0.45; "" if not."""
    has_unit = np.array([text in read.units for text in texts.text])
    both = []
    for some in (has_unit & ~read.unreadable, ~has_unit & ~read.unreadable):
        values = np.repeat(read.numbers[some], texts.counts[some])
        if len(values) < N_APART:
            return ""
        both.append(np.quantile(values, [0.05, 0.5, 0.95]))
    (low, middle, high), (other_low, other_middle, other_high) = sorted(both, key=lambda q: q[1])
    if high >= other_low or abs(other_middle) < TIMES_APART * abs(middle):
        return ""
    example = next(text for text in texts.text if text in read.units)
    without = (low, high) if both[0][1] > both[1][1] else (other_low, other_high)
    return (
        f"numbers with a unit (such as {example!r}) and without one, which lie apart: those "
        f"without mostly from {without[0]:g} to {without[1]:g}"
    )


def _ask_for_one_unit(finding: Finding, reason: str) -> Finding:
    return replace(
        finding,
        use="question",
        reason=reason,
        answers=(answer_to_drop(finding.name),),
        settled_by=BY_LEAVING_OUT,
    )


def _counted(texts: Texts) -> str:
    return ", ".join(f"{t!r} in {n}" for t, n in zip(texts.text, texts.counts, strict=True))


def _ask_for_decimals(finding: Finding, example: str) -> Finding:
    reason = f"{two_readings(example)}: say which mark its decimals have"
    return replace(finding, use="question", reason=reason, answers=DECIMALS, settled_by=BY_DECIMAL)


def _answer_not_known(texts: list[str]) -> list[Answer]:
    """Make the answer that a few texts among numbers mean "not known"."""
    if len(texts) > MOST_UNREADABLE:
        return []
    listed = ", ".join(repr(text) for text in texts)
    options = tuple(part for text in texts for part in ("--missing", text))
    return [Answer(f"if {listed} mean{'' if len(texts) > 1 else 's'} 'not known'", options)]


def _of_levels(finding: Finding, texts: Texts, entry: Entry) -> Finding:
    several = spellings(texts.text, texts.counts)
    merged = texts.count_of([text for others in several.values() for text in others])
    covariate = covariate_of(
        finding.name, "categorical", entry, missing=(*entry.missing, *texts.markers)
    )
    warnings: tuple[str, ...] = texts.many_levels()
    if several and not entry.levels:
        covariate = replace(covariate, levels=tuple(t for t in texts.text if t not in merged))
        seen = "; ".join(f"{others} as {level!r}" for level, others in list(several.items())[:3])
        warnings = (f"spellings of one level in {rows(sum(merged.values()))}: {seen}", *warnings)
    if entry.levels:
        expected = lower(entry.levels)
        unknown = [text for text in texts.text if text.strip().casefold() not in expected]
        if unknown:
            n = sum(texts.count_of(unknown).values())
            return replace(
                finding,
                use="question",
                reason=f"levels that the dictionary does not have in {rows(n)} (such as "
                f"{unknown[0]!r}): correct them, or add them to its levels",
                settled_by=BY_LEVELS,
            )
    return replace(finding, warnings=warnings, covariate=covariate)


def _without_values(finding: Finding, role: str, reason: str) -> Finding:
    """Leave a column out, and do not show its values."""
    return replace(finding, use="left out", role=role, reason=reason, content="", markers={})
