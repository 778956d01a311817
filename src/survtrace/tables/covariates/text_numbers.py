"""Parse numbers written as text: decimal commas, thousands separators, "<0.6", "12 mg/dl"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.distinct_values import factorise_array
from survtrace.tables.covariates.units import SPACES, UNITS, plain_unit

Decimal = Literal[".", ",", "any", "clear"]
Mark = Literal["", ".", ",", "comma?", "point?"]

BOTH = "both"  # some columns of a table have decimal points, others decimal commas
_APOSTROPHES = "'\u2019"
_NUMBER = re.compile(
    rf"""
    (?P<bound><=|>=|=<|=>|[<>≤≥~≈])?  [{SPACES}]*
    (?P<sign>[+\-\u2212\u2013])?      [{SPACES}]*
    (?P<digits>[0-9](?:[0-9.,{_APOSTROPHES}{SPACES}]*[0-9.,])?|[.,][0-9]+)
    (?P<exponent>[eE][+\-\u2212]?[0-9]+)?
    (?P<more>\+)?                     [{SPACES}]*
    (?P<unit>[^0-9{SPACES}].*)?
    """,
    re.VERBOSE,
)
_PARTED = re.compile(r"0|[1-9]\d{0,2}(\.\d{3})*")
_PLAIN = re.compile(r"[+\-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?")
_GROUPED = re.compile(rf"[0-9]{{1,3}}(?:[{_APOSTROPHES}{SPACES}][0-9]{{3}})+(?:[.,][0-9]*)?")
_POINT_LAST = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*")
_COMMA_LAST = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]*")
_EITHER = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_MANY = {mark: re.compile(rf"[1-9][0-9]{{0,2}}(?:\{mark}[0-9]{{3}}){{2,}}") for mark in ".,"}
_ONE = re.compile(r"[0-9]*[.,][0-9]*")


class TextNumbers(NamedTuple):
    """A column of texts as numbers."""

    numbers: NDArray[np.float64]  # NaN where the value is missing or no number
    unreadable: NDArray[np.bool_]  # neither a number nor missing
    ambiguous: NDArray[np.bool_]  # of these: one of two numbers, as "1,234" may be
    missing: NDArray[np.bool_]  # empty, or a marker of missing values
    decimal: Decimal | None  # "any": both marks, each text unambiguous; None: not known
    changes: dict[str, int]  # rows whose text is no plain number, by kind
    units: dict[str, int]  # rows by the unit behind the number


class _Parsed(NamedTuple):
    """The parts of a text that may be a number."""

    digits: str
    exponent: str
    sign: str
    mark: Mark
    unit: str
    kinds: tuple[str, ...]


def parse_numbers(
    texts: Iterable[Any], decimal: str | None = None, missing: Sequence[str] = (), table: str = ""
) -> TextNumbers:
    """Parse a column of texts, numbers and missing values; one decimal mark holds for all of it.

    "<0.6" and ">200" become the bound, a unit behind the number is dropped, if it is the same in
    all rows. A text such as "1,234" is 1.234 or 1234: other texts of the column decide ("0,5" or
    "1,234.5"), else ``decimal`` ("." or ","), else that of other columns, ``table`` (see
    `common_decimal`); where none does, it is not read. ``missing`` texts mean "not known" in any
    case.

    Examples
    --------
    >>> parse_numbers(["1.234,5", "<0,6", " 12 ", None]).numbers.tolist()
    [1234.5, 0.6, 12.0, nan]
    >>> parse_numbers(["1,234", "5,678"]).ambiguous.tolist()
    [True, True]
    >>> parse_numbers(["1,234", "5,678"], decimal=",").numbers.tolist()
    [1.234, 5.678]
    """
    codes, distinct = factorise_array(np.array([*texts, None], dtype=object)[:-1])
    stripped = [str(text).strip() for text in distinct]
    read = parse_distinct(stripped, decimal, missing, table=table)
    counts = np.bincount(codes[codes >= 0], minlength=len(stripped))
    changes, units = Counter[str](), Counter[str]()
    for text, n in zip(stripped, counts.tolist(), strict=True):
        changes.update(dict.fromkeys(read.kinds.get(text, ()), n))
        if text in read.units:
            units[read.units[text]] += n

    def rows(flags: NDArray[Any], fill: Any) -> NDArray[Any]:
        return np.append(flags, fill)[codes]

    return TextNumbers(
        rows(read.numbers, np.nan),
        rows(read.unreadable, False),
        rows(read.ambiguous, False),
        rows(read.missing, True),
        read.decimal,
        dict(changes),
        dict(units),
    )


class DistinctNumbers(NamedTuple):
    """Distinct texts as numbers (see `TextNumbers`); ``kinds`` and ``units`` by text."""

    numbers: NDArray[np.float64]
    unreadable: NDArray[np.bool_]
    ambiguous: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    decimal: Decimal | None
    kinds: dict[str, tuple[str, ...]]
    units: dict[str, str]


def parse_distinct(
    texts: Sequence[str],
    decimal: str | None = None,
    missing: Sequence[str] = (),
    unit: str = "",
    table: str = "",
) -> DistinctNumbers:
    """Parse distinct texts without spaces around them (see `parse_numbers`).

    ``decimal="clear"`` takes points for decimal marks and does not read "1,234". A ``unit`` that is
    known beforehand need not be usual.
    """
    markers = {"", *(text.strip().casefold() for text in missing)}
    absent = np.array([text.casefold() in markers for text in texts], dtype=bool)
    numbers = np.array([float(text) if _PLAIN.fullmatch(text) else np.nan for text in texts])
    plain = np.isfinite(numbers)
    numbers[absent | ~plain] = np.nan
    others = np.flatnonzero(~plain & ~absent)
    parsed = {i: part for i in others.tolist() if (part := _parse(texts[i])) is not None}
    _drop_unlikely_units(parsed, int((plain & ~absent).sum()), plain_unit(unit) or "")
    marks = Counter[Mark | None](part.mark for part in parsed.values())
    points: list[int] = []
    if "," in marks or "comma?" in marks or decimal == "," or table in (",", BOTH):
        points = [i for i in np.flatnonzero(plain & ~absent).tolist() if "." in texts[i]]
        marks.update(_mark(texts[i].lstrip("+-")) for i in points if "e" not in texts[i].lower())
    chosen = _choose(marks, decimal, table)
    ambiguous = np.zeros(len(texts), dtype=bool)
    kinds, units = {}, {}
    for i, part in parsed.items():
        value = _value(part, chosen)
        numbers[i], ambiguous[i] = (np.nan, True) if value is None else (value, False)
        if value is not None:
            kinds[texts[i]] = _kinds(part, chosen)
        if part.unit:
            units[texts[i]] = part.unit
    if chosen not in (".", "clear"):  # "1.234" is a thousand where decimals have commas
        for i in points:
            if _EITHER.fullmatch(texts[i].lstrip("+-")):
                numbers[i], ambiguous[i] = np.nan, chosen is None or chosen == "any"
                if chosen == ",":
                    numbers[i] = float(texts[i].replace(".", ""))
                    kinds[texts[i]] = ("thousands separator",)
    unreadable = np.isnan(numbers) & ~absent
    return DistinctNumbers(numbers, unreadable, ambiguous, absent, chosen, kinds, units)


def _parse(text: str) -> _Parsed | None:
    """Split a text into its parts; None if it is no number."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    digits = re.sub(rf"[{SPACES}]+$", "", found["digits"])
    kinds = []
    if re.search(rf"[{_APOSTROPHES}{SPACES}]", digits):
        if not _GROUPED.fullmatch(digits):
            return None
        digits = re.sub(rf"[{_APOSTROPHES}{SPACES}]", "", digits)
        kinds.append("thousands separator")
        mark: Mark | None = "," if "," in digits else "." if "." in digits else ""
    else:
        mark = _mark(digits)
    unit = plain_unit(found["unit"] or "")
    if mark is None or unit is None:
        return None
    kinds += ["bound"] if found["bound"] or found["more"] else []
    kinds += ["unit"] if unit else []
    kinds += ["minus sign"] if (found["sign"] or "") in "\u2212\u2013" and found["sign"] else []
    sign = "-" if found["sign"] and found["sign"] != "+" else ""
    exponent = (found["exponent"] or "").replace("\u2212", "-")
    return _Parsed(digits, exponent, sign, mark, unit, tuple(kinds))


def _mark(digits: str) -> Mark | None:
    """Find the decimal mark of digits: none, ".", "," or either; None if they are no number.

    Examples
    --------
    >>> [_mark(digits) for digits in ("12", "0,5", "1.234,5", "1,234", "1,2,3")]
    ['', ',', ',', 'comma?', None]
    """
    marks = [mark for mark in ".," if mark in digits]
    if not marks:
        return ""
    if len(marks) == 2:
        return (
            "." if _POINT_LAST.fullmatch(digits) else "," if _COMMA_LAST.fullmatch(digits) else None
        )
    if _EITHER.fullmatch(digits):
        return "comma?" if marks[0] == "," else "point?"
    if _ONE.fullmatch(digits):
        return marks[0]  # type: ignore[return-value]
    return ("." if marks[0] == "," else ",") if _MANY[marks[0]].fullmatch(digits) else None


def _choose(marks: Counter[Any], decimal: str | None, table: str) -> Decimal | None:
    """Choose the decimal mark of a column: the user's, that of its texts, or of other columns."""
    if decimal in (".", ",", "any", "clear"):
        return decimal  # type: ignore[return-value]
    certain = [mark for mark in (".", ",") if marks[mark]]
    unclear = marks["comma?"] + marks["point?"]
    if len(certain) == 1:
        return certain[0]  # type: ignore[return-value]
    if len(certain) == 2 and not unclear:
        return "any"
    if table in (".", ","):
        return table  # type: ignore[return-value]
    return None if len(certain) == 2 or marks["comma?"] or (unclear and table == BOTH) else "."


def two_readings(text: str) -> str:
    """Format the two numbers that a text can be.

    Examples
    --------
    >>> two_readings("212.618")
    "'212.618' can be 212.618 or 212618"
    """
    return f"{text!r} can be {text.replace(',', '.')} or {re.sub('[.,]', '', text)}"


def parted_thousands(texts: Iterable[Any]) -> str:
    """Find a text whose point may part thousands, beside whole numbers below 1000; "" if none.

    Examples
    --------
    >>> parted_thousands(["386", "1.155"]), parted_thousands(["386", "1.155", "2.5"])
    ('1.155', '')
    """
    written = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    points = [text for text in written if "." in text]
    if not 0 < len(points) < len(written):
        return ""
    return points[0] if all(_PARTED.fullmatch(text) for text in written) else ""


def common_decimal(columns: Iterable[Iterable[Any]]) -> str:
    """Find the decimal mark of columns of texts; BOTH if they differ, "" if none shows one.

    Examples
    --------
    >>> common_decimal([["1,5", "<0,6"], ["f", "m"], ["212.618", "1.204"]])
    ','
    """
    marks = set[str]()
    for column in columns:
        texts = list(dict.fromkeys(str(text).strip() for text in column))
        if not any("," in text or "." in text for text in texts):
            continue
        read = parse_distinct(texts)
        if read.unreadable.sum() > 0.1 * len(texts):
            continue
        parts = (_parse(text) for text in texts)
        marks |= {part.mark for part in parts if part is not None and part.mark in (".", ",")}
    return BOTH if len(marks) > 1 else next(iter(marks), "")


def _value(part: _Parsed, decimal: Decimal | None) -> float | None:
    """Convert to a number; None if it could be one of two."""
    mark: str = part.mark
    if mark in ("comma?", "point?"):
        if decimal == "clear" and mark == "point?":
            decimal = "."
        if decimal not in (".", ","):
            return None
        mark = decimal
    digits = part.digits.replace("." if mark == "," else ",", "")
    if mark in (".", ",") and digits.count(mark) > 1:
        return None
    return float(f"{part.sign}{digits.replace(',', '.')}{part.exponent}")


def _kinds(part: _Parsed, decimal: Decimal | None) -> tuple[str, ...]:
    mark = ("." if decimal == "clear" else decimal) if "?" in part.mark else part.mark
    other = "." if mark == "," else ","
    kinds = list(part.kinds)
    kinds += ["decimal comma"] if mark == "," and "," in part.digits else []
    kinds += ["thousands separator"] if mark and other in part.digits else []
    return tuple(dict.fromkeys(kinds))


def _drop_unlikely_units(parsed: dict[int, _Parsed], n_plain: int, expected: str) -> None:
    """Drop the texts behind whose number there is no likely unit.

    A usual unit always is one; another word if half of the numbers have it; a single letter ("3a"
    is a stage) if all have it.
    """
    counts = Counter(part.unit for part in parsed.values() if part.unit)
    n_numbers = len(parsed) + n_plain
    for i, part in list(parsed.items()):
        unit, n = part.unit, counts[part.unit]
        frequent = n == n_numbers if len(unit) == 1 else 2 * n >= n_numbers
        if unit and not (unit in UNITS or unit == expected or frequent):
            del parsed[i]
