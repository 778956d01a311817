"""Rules that arguments and settings must keep: a test, its words, and the error that says both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from survtrace.errors import DataError, SettingError, short

DATES = (np.datetime64, np.timedelta64)
NO_NUMBERS = (bool, np.timedelta64)  # to Python both are whole numbers


class Rule(NamedTuple):
    """A test of a value, and the description of what passes it."""

    holds: Callable[[Any], bool]
    description: str


def whole(low: int, high: int = 2**31 - 1) -> Rule:
    """Make the rule: a whole number of at least ``low``; none is so large that it overflows."""
    return Rule(
        lambda v: (
            isinstance(v, Integral) and not isinstance(v, NO_NUMBERS) and low <= int(v) <= high
        ),
        f"a whole number of at least {low}" + ("" if high == 2**31 - 1 else f" and at most {high}"),
    )


def between(low: float, high: float, *, above: bool = False, below: bool = False) -> Rule:
    """Make the rule: a number from ``low`` to ``high``; ``above``, ``below`` leave the ends out."""

    def holds(v: Any) -> bool:
        if not isinstance(v, Real) or isinstance(v, NO_NUMBERS):
            return False
        try:
            number = float(v)
        except OverflowError:  # a whole number larger than any float
            return False
        enough = number > low if above else number >= low
        return bool(enough and (number < high if below else number <= high))

    first, last = "above" if above else "from", "and below" if above and below else "to"
    last = "below" if below and not above else last
    return Rule(holds, f"a number {first} {low} {last} {high}")


def one_of(*options: Any) -> Rule:
    """Make the rule: one of a few values, of the same type; numpy's count as Python's.

    Examples
    --------
    >>> one_of(True, False).holds(np.True_), one_of(1, 2).holds(np.int64(2)), one_of(1).holds(True)
    (True, True, False)
    """

    def holds(v: Any) -> bool:
        is_plain = not isinstance(v, np.generic) or isinstance(v, DATES)  # of which one is None
        plain = v if is_plain else v.item()  # searches draw such values
        return any(type(plain) is type(option) and plain == option for option in options)

    return Rule(holds, "one of " + ", ".join(repr(option) for option in options))


def either(*rules: Rule) -> Rule:
    """Make the rule that holds where any of the rules does."""
    description = " or ".join(rule.description for rule in rules)
    return Rule(lambda v: any(rule.holds(v) for rule in rules), description)


def _is_path(value: Any) -> bool:
    """Tell whether a system could have such a file; bytes, which os takes, are no path here."""
    if not isinstance(value, str | os.PathLike):
        return False
    try:
        text = os.fspath(value)
        return isinstance(text, str) and b"\0" not in os.fsencode(text)
    except (TypeError, UnicodeError):  # half of a character, which no name of a file can have
        return False


TEXT = Rule(lambda v: isinstance(v, str), "a text")
PATH = Rule(_is_path, "a path: a text such as 'models/first', or a Path")
FLAG = Rule(lambda v: isinstance(v, bool | np.bool_), "True or False")
SEED = Rule(
    lambda v: v is None or isinstance(v, np.random.RandomState) or whole(0, 2**32 - 1).holds(v),
    f"None, a whole number from 0 to {2**32 - 1}, or a RandomState of numpy",
)
GENERATOR = Rule(
    lambda v: v is None or isinstance(v, np.random.Generator) or whole(0, 2**64 - 1).holds(v),
    "None, a whole number of at least 0, or a Generator of numpy",
)


def check_value(name: str, value: Any, rule: Rule) -> None:
    """Refuse an argument that breaks its rule.

    Examples
    --------
    >>> check_value("n_folds", 1, whole(2))
    Traceback (most recent call last):
    survtrace.errors.SettingError: n_folds must be a whole number of at least 2; got 1.
    """
    if not rule.holds(value):
        raise SettingError(f"{name} must be {rule.description}; got {short(value)}.")


def read_path(name: str, value: Any) -> Path:
    """Make a path of a text or a path; anything else is refused.

    Examples
    --------
    >>> read_path("path", "models/first").name
    'first'
    >>> read_path("path", 3)
    Traceback (most recent call last):
    survtrace.errors.SettingError: path must be a path: a text such as 'models/first', or a Path; \
got 3.
    """
    check_value(name, value, PATH)
    return Path(value)


def check_flags(**flags: Any) -> None:
    """Refuse arguments that are neither True nor False, such as an array.

    Examples
    --------
    >>> check_flags(as_frame="yes")
    Traceback (most recent call last):
    survtrace.errors.SettingError: as_frame must be True or False; got 'yes'.
    """
    for name, value in flags.items():
        check_value(name, value, FLAG)


def random_generator(random_state: Any) -> np.random.Generator:
    """Make numpy's generator of a seed, or take the one that is given.

    Examples
    --------
    >>> random_generator("today")
    Traceback (most recent call last):
    survtrace.errors.SettingError: random_state must be None, a whole number of at least 0, or a \
Generator of numpy; got 'today'.
    """
    check_value("random_state", random_state, GENERATOR)
    return np.random.default_rng(random_state)


def find_label(label: Any, labels: Sequence[Any]) -> int | None:
    """Find the place of a label among others; None if it is none of them.

    Lists and arrays are none: to compare them with a label gives no answer.

    Examples
    --------
    >>> find_label(2, [1, 2]), find_label("2", [1, 2]), find_label([2], [1, 2])
    (1, None, None)
    """
    if not isinstance(label, str | Real) or isinstance(label, bool | np.bool_):
        return None
    return next((place for place, each in enumerate(labels) if each == label), None)


def find_cause(cause: Any, causes: Sequence[Any]) -> int:
    """Find the place of a cause among the labels of all; any other label is refused.

    Examples
    --------
    >>> find_cause("relapse", ["death", "relapse"])
    1
    """
    place = find_label(cause, causes)
    if place is None:
        raise DataError(f"cause must be one of {list(causes)}; got {short(cause)}.")
    return place


def near_name(name: str, present: Iterable[str]) -> str | None:
    """Return the name of those present that is most like another, in any case; None if none is.

    Examples
    --------
    >>> near_name("age", ["AGE", "sex"]), near_name("age", ["sex"])
    ('AGE', None)
    """
    lower = {each.casefold().strip(): each for each in present}
    found = get_close_matches(name.casefold().strip(), lower, n=1, cutoff=0.7)
    return lower[found[0]] if found else None
