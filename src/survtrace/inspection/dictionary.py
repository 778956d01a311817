"""The data dictionary: what the user says about the columns of a table."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from survtrace.errors import SettingError

COVARIATE_KINDS = ("numerical", "categorical", "covariate")  # the last one: use it, as it is
KINDS = (*COVARIATE_KINDS, "ignore", "identifier", "date", "text", "duration", "event")
_SAME = {
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
    """What the user says about one column; an empty field says nothing."""

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
    return {str(name): _read_entry(str(name), said) for name, said in columns.items()}


def require_names(entries: Mapping[str, Entry], columns: Sequence[str]) -> None:
    """Refuse names that are no column of the table but nearly one that nothing is said about."""
    others = [name for name in columns if name not in entries]
    for name, entry in entries.items():
        if name in columns or entry.kind not in ("", *COVARIATE_KINDS):
            continue
        near = get_close_matches(name, others, n=1, cutoff=0.75)
        if near:
            raise SettingError(
                f"the data dictionary names {name!r}, which is no column of the table; did you "
                f"mean {near[0]!r}?"
            )


def write_dictionary(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write entries, each with its ``name``, as the CSV file that `read_dictionary` reads."""
    with open(path, "w", newline="", encoding="utf-8") as file:
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


def _read_entry(name: str, said: Any) -> Entry:
    if isinstance(said, Entry):
        return said
    if isinstance(said, str):
        said = {"kind": said}
    if not isinstance(said, Mapping):
        raise SettingError(
            f"column {name!r} of the data dictionary must be a mapping of fields; got "
            f"{type(said).__name__}. Write for example {EXAMPLE}."
        )
    for field in said:
        if field not in FIELDS:
            near = get_close_matches(str(field), FIELDS, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else "."
            raise SettingError(
                f"column {name!r} of the data dictionary has the unknown field {field!r}{meant} "
                f"Fields are {', '.join(FIELDS)}."
            )
    low, high = (_number(name, field, said.get(field)) for field in ("low", "high"))
    if low is not None and high is not None and low > high:
        raise SettingError(
            f"column {name!r} of the data dictionary has low {low:g} above high {high:g}."
        )
    return Entry(
        _kind(name, said.get("kind")),
        str(said.get("unit") or "").strip(),
        str(said.get("label") or "").strip(),
        _texts(said.get("levels")),
        _texts(said.get("missing")),
        low,
        high,
        _decimal(name, said.get("decimal")),
    )


def _kind(name: str, said: Any) -> str:
    kind = str(said or "").strip().lower()
    kind = _SAME.get(kind, kind)
    if kind and kind not in KINDS:
        near = get_close_matches(kind, KINDS, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        raise SettingError(
            f"column {name!r} of the data dictionary has the unknown kind {said!r}{meant} "
            f"Kinds are {', '.join(KINDS)}."
        )
    return kind


def _decimal(name: str, said: Any) -> str:
    mark = str(said or "").strip()
    if mark not in ("", ".", ","):
        raise SettingError(f"the decimal mark of column {name!r} must be '.' or ','; got {said!r}.")
    return mark


def _number(name: str, field: str, said: Any) -> float | None:
    if said is None or (isinstance(said, str) and not said.strip()):
        return None
    try:
        number = float(str(said).replace(",", "."))
    except ValueError:
        number = float("nan")
    if number != number:
        raise SettingError(
            f"{field} of column {name!r} in the data dictionary must be a number; got {said!r}."
        )
    return number


def _texts(said: Any) -> tuple[str, ...]:
    """Texts of a sequence, or of a text with semicolons between them."""
    if said is None:
        return ()
    if isinstance(said, str):
        said = said.split(BETWEEN)
    elif not isinstance(said, Sequence):
        said = [said]
    texts = (_plain(text) for text in said)
    return tuple(dict.fromkeys(text for text in texts if text))


def _plain(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()
