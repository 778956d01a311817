"""The items of TRIPOD+AI in our own words: what a study on a prediction model should report.

Numbers, headings and what each concerns (D: development, E: evaluation) are those of Collins et
al., "TRIPOD+AI statement", BMJ 2024;385:e078378; the wording there is the authority.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple

SOURCE = "Collins et al., TRIPOD+AI statement, BMJ 2024;385:e078378"


class Item(NamedTuple):
    """An item: its number, its heading, what it concerns, and what it asks, in our words."""

    number: str
    heading: str
    concerns: str
    asks: str


def read_items() -> list[Item]:
    """Read all items, in order.

    Examples
    --------
    >>> items = read_items()
    >>> len(items), len({item.number.rstrip("abcdefg") for item in items})
    (52, 27)
    """
    table = files("survtrace.report").joinpath("templates/tripod.csv")
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return [Item(**row) for row in rows]
