"""Read JSON that others may have made: no key twice, no absurd depth or length, no odd number."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 32
MOST_VALUES = 2**20  # one takes two bytes of a file, and a hundred of memory
LARGEST = 2**63


def parse(content: bytes) -> Any:
    """Parse JSON, and refuse with ValueError what `json` takes and no file of ours has.

    Examples
    --------
    >>> parse(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' is there twice
    """
    if count_values(content) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_int=_whole,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    _require_shallow(value)
    return value


def count_values(content: bytes) -> int:
    """Count the values of JSON without reading it; marks inside of texts are counted, too.

    Examples
    --------
    >>> count_values(b'{"a": [1, 2], "b": "c, d"}')
    5
    """
    return sum(content.count(mark) for mark in (b",", b"[", b"{"))


def has_numbers_only(value: Any) -> bool:
    """Check that no number in a parsed value is NaN or infinite.

    Examples
    --------
    >>> has_numbers_only(parse(b'{"a": [1, {"b": NaN}]}'))
    False
    """
    if isinstance(value, dict):
        return all(map(has_numbers_only, value.values()))
    if isinstance(value, list):
        return all(map(has_numbers_only, value))
    return not isinstance(value, float) or math.isfinite(value)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:50]!r} is there twice")
        found[key] = value
    return found


def _whole(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > LARGEST:
        raise ValueError(f"the number {text[:20]}... has more than 64 bits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _require_shallow(value: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _require_shallow(item, depth + 1)
