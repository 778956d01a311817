"""Count the distinct texts of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.columns import text_levels

MANY_LEVELS = 50


class Texts(NamedTuple):
    """The distinct texts of a column that are not missing, and how many rows have each."""

    text: list[str]
    counts: NDArray[np.int64]
    n_missing: int
    markers: dict[str, int]

    @property
    def n_rows(self) -> int:
        """Count the rows that have a text."""
        return int(self.counts.sum())

    def count_of(self, some: Iterable[str]) -> dict[str, int]:
        """Count the rows of some of the texts."""
        selected = set(some)
        pairs = zip(self.text, self.counts.tolist(), strict=True)
        return {text: n for text, n in pairs if text in selected}

    def describe(self, most: int = 4) -> str:
        """Format the number of levels, and the most frequent of them."""
        if not self.text:
            return "nothing"
        order = np.argsort(-self.counts, kind="stable")[:most]
        shown = ", ".join(self.text[number] for number in order)
        more = ", ..." if len(self.text) > most else ""
        return f"{len(self.text)} level{'s' * (len(self.text) > 1)}: {shown}{more}"

    def many_levels(self) -> tuple[str, ...]:
        """Return a warning where levels are many for so few rows."""
        n_levels = len(self.text)
        if n_levels < MANY_LEVELS or self.n_rows >= 10 * n_levels:
            return ()
        rare = int((self.counts <= 2).sum())
        return (f"{n_levels} levels in {rows(self.n_rows)}, {rare} of them in one or two",)


def present_texts(series: nw.Series[Any], markers: tuple[str, ...], usual: Iterable[str]) -> Texts:
    """Count the stripped texts of a column, and the markers of missing values among them."""
    found = text_levels(series)
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.text))
    missing = {"", *lower(markers), *usual}
    texts, found_markers = Counter[str](), Counter[str]()
    for text, n in zip(map(str.strip, found.text), counts.tolist(), strict=True):
        if text.casefold() not in missing:
            texts[text] += n
        elif text:
            found_markers[text] += n
    texts = +texts  # a level of a category may have no rows
    n_missing = len(found.codes) - texts.total()
    numbers = np.array(list(texts.values()), dtype=np.int64)
    return Texts(list(texts), numbers, n_missing, dict(found_markers))


def lower(texts: Iterable[str]) -> set[str]:
    """Strip case and surrounding spaces of texts."""
    return {text.strip().casefold() for text in texts}


def rows(n: int) -> str:
    """Format a number of rows."""
    return f"{n:,} row" if n == 1 else f"{n:,} rows"
