"""Read the data dictionary: the user's description of the columns of a table."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from survtrace.errors import SettingError
from survtrace.files import replacing
from survtrace.rules import near_name

COVARIATE_KINDS = ("numerical", "categorical", "covariate")  # the last one: use it, as it is
KINDS = (*COVARIATE_KINDS, "ignore", "identifier", "date", "text", "duration", "event", "entry")
_SYNONYMS = {
    "ignored": "ignore",
    "use": "covariate",
    "drop": "ignore",
    "id": "identifier",
    "number": "numerical",
    "numeric": "numerical",
    "category": "categorical",
    "dates": "date",
    "free text": "text",
}
FIELDS = ("kind", "unit", "label", "levels", "missing", "low", "high", "decimal")
EXAMPLE = '{"age": {"kind": "numerical", "unit": "years", "low": 0, "high": 120}}'
BETWEEN = ";"  # levels and marks of missing values, in a file


@dataclass(frozen=True)
class Entry:
    """The user's description of one column; an empty field leaves it to the inspection."""

    kind: str = ""
    unit: str = ""
    label: str = ""
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    decimal: str = ""


def read_dictionary(columns: Any) -> dict[str, Entry]:
    """Read a data dictionary: a mapping from names of columns, or the path of a CSV file.

    Examples
    --------
    >>> read_dictionary({"age": {"unit": "years", "low": 0}})["age"].unit
    'years'
    >>> read_dictionary({"age": {"units": "years"}})
    Traceback (most recent call last):
    survtrace.errors.SettingError: column 'age' of the data dictionary has the unknown field \
'units'; did you mean 'unit'? Fields are kind, unit, label, levels, missing, low, high, decimal.
    """
    if columns is None:
        return {}
    if isinstance(columns, str | PathLike):
        columns = _read_file(Path(columns))
    if not isinstance(columns, Mapping):
        raise SettingError(
            "columns must be a mapping from names of columns to what is known of them, or the "
            f"path of a CSV file; got {type(columns).__name__}. Write for example {EXAMPLE}."
        )
    return {str(name): _read_entry(str(name), entry) for name, entry in columns.items()}


def require_names(entries: Mapping[str, Entry], columns: Sequence[str]) -> None:
    """Refuse names that are no column of the table but nearly one without an entry."""
    others = [name for name in columns if name not in entries]
    for name, entry in entries.items():
        if name in columns or entry.kind not in ("", *COVARIATE_KINDS):
            continue
        near = near_name(name, others)
        if near is not None:
            raise SettingError(
                f"the data dictionary names {name!r}, which is no column of the table; did you "
                f"mean {near!r}?"
            )


def write_dictionary(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write entries, each with its ``name``, as the CSV file that `read_dictionary` reads."""
    with replacing(Path(path)) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["name", *FIELDS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read_file(path: Path) -> dict[str, dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"the data dictionary {path} could not be read ({error}).") from None
    first = text.partition("\n")[0]
    rows = csv.DictReader(
        text.splitlines(), delimiter=";" if first.count(";") > first.count(",") else ","
    )
    names = [str(name).strip().lower() for name in rows.fieldnames or ()]
    if "name" not in names:
        raise SettingError(
            f"the data dictionary {path} must have the columns name, {', '.join(FIELDS)}, of which "
            f"only name is needed; got {', '.join(names)}. `survtrace check --write` drafts one."
        )
    rows.fieldnames = names
    entries: dict[str, dict[str, str]] = {}
    for row in rows:
        name = row.pop("name") or ""
        if name in entries:
            raise SettingError(f"the data dictionary {path} names {name!r} twice. Keep one row.")
        entries[name] = {
            field: text for field, text in row.items() if field and (text or "").strip()
        }
    return entries


def _read_entry(name: str, entry: Any) -> Entry:
    if isinstance(entry, Entry):
        return entry
    if isinstance(entry, str):
        entry = {"kind": entry}
    if not isinstance(entry, Mapping):
        raise SettingError(
            f"column {name!r} of the data dictionary must be a mapping of fields; got "
            f"{type(entry).__name__}. Write for example {EXAMPLE}."
        )
    for field in entry:
        if field not in FIELDS:
            raise _unknown(name, "field", field, field, FIELDS)
    low, high = (_number(name, field, entry.get(field)) for field in ("low", "high"))
    if low is not None and high is not None and low > high:
        raise SettingError(
            f"column {name!r} of the data dictionary has low {low:g} above high {high:g}."
        )
    kind = str(entry.get("kind") or "").strip().lower()
    kind = _SYNONYMS.get(kind, kind)
    if kind and kind not in KINDS:
        raise _unknown(name, "kind", entry["kind"], kind, KINDS)
    decimal = str(entry.get("decimal") or "").strip()
    if decimal not in ("", ".", ","):
        raise SettingError(
            f"the decimal mark of column {name!r} must be '.' or ','; got {entry['decimal']!r}."
        )
    return Entry(
        kind,
        str(entry.get("unit") or "").strip(),
        str(entry.get("label") or "").strip(),
        _texts(entry.get("levels")),
        _texts(entry.get("missing")),
        low,
        high,
        decimal,
    )


def _unknown(
    name: str, what: str, given: Any, normalised: Any, allowed: Sequence[str]
) -> SettingError:
    near = near_name(str(normalised), allowed)
    question = f"; did you mean {near!r}?" if near else "."
    return SettingError(
        f"column {name!r} of the data dictionary has the unknown {what} {given!r}{question} "
        f"{what.capitalize()}s are {', '.join(allowed)}."
    )


def _number(name: str, field: str, value: Any) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = float(str(value).replace(",", "."))
    except ValueError:
        number = float("nan")
    if number != number:
        raise SettingError(
            f"{field} of column {name!r} in the data dictionary must be a number; got {value!r}."
        )
    return number


def _texts(value: Any) -> tuple[str, ...]:
    """Convert a sequence, or a text with semicolons, to distinct texts; 1.0 is "1"."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(BETWEEN)
    elif not isinstance(value, Sequence):
        value = [value]
    plain = (int(v) if isinstance(v, float) and v.is_integer() else v for v in value)
    texts = (str(v).strip() for v in plain)
    return tuple(dict.fromkeys(text for text in texts if text))
