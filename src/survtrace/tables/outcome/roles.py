"""Read which column of a table is event, duration, entry, id, weight, or to be dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from survtrace.errors import DataError
from survtrace.tables.files.formats import require_columns
from survtrace.tables.outcome.censoring_labels import named_labels
from survtrace.tables.outcome.outcome_columns import DURATION_NAMES, ENTRY_NAMES

EXAMPLE = 'for example {"event": "cause", "duration": "months", "drop": ["patient"]}'
ROLES = ("event", *DURATION_NAMES, *ENTRY_NAMES, "id", "censored", "weight", "drop")


@dataclass(frozen=True)
class Roles:
    """The columns that are no covariates: the outcome, the sample weight, and those to drop.

    ``censored`` names the labels of the event column that mean censored; None for the usual ones.
    ``entry`` and ``id`` are columns of the outcome, where there are any: when observation of a row
    began, counted from the same origin as the duration, and whose row it is.
    """

    event: str
    duration: str
    weight: str | None = None
    drop: tuple[str, ...] = ()
    censored: tuple[Any, ...] | None = None
    entry: str | None = None
    id: str | None = None

    def covariates(self, columns: Sequence[str]) -> list[str]:
        """List all other columns."""
        require_columns(columns, self.named)
        return [name for name in columns if name not in self.named]

    @property
    def named(self) -> list[str]:
        """List the columns that have a role."""
        weight = [] if self.weight is None else [self.weight]
        return [*self.outcome, *weight, *self.drop]

    @property
    def outcome(self) -> dict[str, str]:
        """Map the columns of the outcome to their usual names.

        Examples
        --------
        >>> Roles("cause", "age_at_end", entry="age").outcome
        {'cause': 'event', 'age_at_end': 'duration', 'age': 'entry'}
        """
        roles = ("event", "duration", "entry", "id")
        columns = {role: getattr(self, role) for role in roles}
        return {column: role for role, column in columns.items() if column is not None}


def names_columns(y: Any) -> bool:
    """Check whether an outcome is given by the names of its columns.

    Examples
    --------
    >>> names_columns({"event": "cause", "time": "months"}), names_columns({"event": ["a"]})
    (True, False)
    """
    if isinstance(y, Mapping) and y and all(isinstance(column, str) for column in y.values()):
        return True  # also by roles that there are not, which are refused by their names
    if not isinstance(y, Mapping) or not isinstance(y.get("event"), str):
        return False
    times = (*DURATION_NAMES, *ENTRY_NAMES)
    return all(isinstance(y.get(role, ""), str) for role in (*times, "id"))


def read_roles(y: Any) -> Roles:
    """Read the roles that a mapping gives to columns of a table.

    Examples
    --------
    >>> read_roles({"event": "cause", "time": "months", "censored": "alive"})
    Roles(event='cause', duration='months', weight=None, drop=(), censored=('alive',), \
entry=None, id=None)
    """
    if not isinstance(y, Mapping):
        raise DataError(
            "where X is the path of a file, y must say which of its columns hold event and "
            f"duration; got {type(y).__name__}. Pass a mapping, {EXAMPLE}."
        )
    named = {str(role): _names(column) for role, column in y.items() if role != "censored"}
    times = [role for role in DURATION_NAMES if role in named]
    entries = [role for role in ENTRY_NAMES if role in named]
    unknown = [role for role in named if role not in ROLES]
    if "event" not in named or len(times) != 1 or len(entries) > 1 or unknown:
        raise DataError(
            "y must name the columns of event and duration, and may name entry, id, weight, drop "
            f"and the labels that mean censored; got {list(map(str, y))}. Write {EXAMPLE}."
        )
    columns = {"event": _only(named, "event"), "duration": _only(named, times[0])}
    columns |= {"entry": _only(named, entries[0])} if entries else {}
    columns |= {role: _only(named, role) for role in ("id", "weight") if role in named}
    require_distinct(columns)
    drop, censored = named.get("drop", ()), named_labels(y.get("censored"))
    return Roles(**columns, drop=drop, censored=censored)


def require_distinct(columns: Mapping[str, str]) -> None:
    """Refuse one column in two roles.

    Examples
    --------
    >>> require_distinct({"event": "died", "duration": "days", "entry": "days"})
    Traceback (most recent call last):
    survtrace.errors.DataError: duration and entry must be two columns; got 'days' for both.
    """
    first: dict[str, str] = {}
    for role, column in columns.items():
        if column in first:
            both = f"{first[column]} and {role}"
            raise DataError(f"{both} must be two columns; got {column!r} for both.")
        first[column] = role


def _names(column: Any) -> tuple[str, ...]:
    names = (column,) if isinstance(column, str) else column
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(
            "where X is the path of a file, y must hold names of its columns; got "
            f"{type(column).__name__}. Write {EXAMPLE}."
        )
    return tuple(names)


def _only(named: dict[str, tuple[str, ...]], role: str) -> str:
    if len(named[role]) != 1:
        raise DataError(f"{role} must be one column; got {list(named[role])}. Write {EXAMPLE}.")
    return named[role][0]
