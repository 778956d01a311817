"""One covariate: its name and kind, how its values are written, and finding it by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from survtrace.errors import DataError, DataWarning, warn
from survtrace.rules import near_name

Kind = Literal["numerical", "categorical"]


@dataclass(frozen=True)
class Covariate:
    """A column: its name, its kind, and how its values are written and to be shown."""

    name: str
    kind: Kind
    decimal: str = "."  # mark of numbers in text: "." or ","; "any" if each text is unambiguous
    thousands: bool = False  # "1,234" is 1234, where the decimal mark is a point; else refused
    missing: tuple[str, ...] = ()  # texts and numbers that mean "not known"
    unit: str = ""
    label: str = ""  # to show in place of the name
    low: float | None = None  # the smallest and largest number that are possible
    high: float | None = None
    in_text: bool = False  # the numbers of the training rows were written as text
    levels: tuple[str, ...] = ()  # a text that differs in case or spaces only is one of them

    @property
    def shown(self) -> str:
        """Format label and unit, for people.

        Examples
        --------
        >>> Covariate("bmi", "numerical", label="Body mass index", unit="kg/m2").shown
        'Body mass index (kg/m2)'
        """
        label = self.label or self.name
        return f"{label} ({self.unit})" if self.unit else label

    def as_dict(self) -> dict[str, Any]:
        """Return what differs from a plain column, as plain values for a file."""
        values = {field: getattr(self, field.name) for field in fields(self)[2:]}
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field, value in values.items()
            if value != field.default
        }

    @classmethod
    def from_dict(cls, name: str, kind: Kind, plain: Mapping[str, Any]) -> Covariate:
        """Make the covariate that `as_dict` described."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()
        }
        return cls(name, kind, **values)


def learned_names(
    columns: Iterable[Any], covariates: Sequence[Covariate], left_out: Sequence[str] = ()
) -> list[Any]:
    """Find the columns that were learned among those of a table, in token order.

    Extra columns are warned of, unless the fit left them out, too; missing ones are refused.

    Examples
    --------
    >>> learned_names(["sex", "age"], [Covariate("age", "numerical")], left_out=["sex"])
    ['age']
    """
    names = [covariate.name for covariate in covariates]
    seen = {str(name): name for name in columns}
    missing = [name for name in names if name not in seen]
    if missing or (len(seen) != len(names) and are_positions(seen) and are_positions(names)):
        raise DataError(
            f"X must have the {len(names)} columns seen in fit; missing: {missing}"
            f"{nearest(missing, [name for name in seen if name not in names])}. "
            f"X has {len(seen)} features {list(seen)}, but SurvTRACE is expecting {len(names)} "
            "features as input. Add or rename them."
        )
    extra = [name for name in seen if name not in names and name not in left_out]
    if extra:
        warn(f"columns not seen in fit are ignored: {extra}.", DataWarning)
    return [seen[name] for name in names]


def require_unicode(names: Iterable[Any]) -> None:
    r"""Refuse names that hold half a character, which no file and no frame of pandas 3 can hold.

    Examples
    --------
    >>> require_unicode(["age", chr(0xD800)])
    Traceback (most recent call last):
    survtrace.errors.DataError: column names must be whole characters; got '\ud800'. Rename it.
    """
    for name in names:
        try:
            str(name).encode()
        except UnicodeEncodeError:
            message = f"column names must be whole characters; got {str(name)!r}. Rename it."
            raise DataError(message) from None


def require_distinct_names(names: Sequence[str], file: str = "", row: str = "") -> None:
    """Refuse names that occur more than once; those of a file stand in its first row."""
    repeated = sorted(name for name, n in Counter(names).items() if n > 1)
    if repeated:
        where, way_out = (f" in {file}", f" in its first {row}") if file else ("", "")
        raise DataError(
            f"column names must differ; {repeated} occur more than once{where}. Rename "
            f"them{way_out}."
        )


def nearest(missing: Sequence[str], present: Sequence[str]) -> str:
    """Suggest, in brackets, names of a table for names it does not have.

    Examples
    --------
    >>> nearest(["age", "sex"], ["Age", "months"])
    " (is 'Age' meant to be 'age'?)"
    """
    near = {name: near_name(name, present) for name in missing}
    pairs = [f"is {there!r} meant to be {name!r}?" for name, there in near.items() if there]
    return f" ({' '.join(pairs)})" if pairs else ""


def are_positions(names: Iterable[str]) -> bool:
    """Check whether the names are those that `open_table` gives to the columns of an array."""
    return all(name == f"x{j}" for j, name in enumerate(names))
