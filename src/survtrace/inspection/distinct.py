"""The distinct texts of a column, and how many rows have each."""

from __future__ import annotations

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
        """Rows that have a text."""
        return int(self.counts.sum())

    def count_of(self, some: Iterable[str]) -> dict[str, int]:
        """Rows of some of the texts."""
        wanted = set(some)
        pairs = zip(self.text, self.counts.tolist(), strict=True)
        return {text: n for text, n in pairs if text in wanted}

    def in_words(self, most: int = 4) -> str:
        """How many levels there are, and the most frequent of them."""
        if not self.text:
            return "nothing"
        order = np.argsort(-self.counts, kind="stable")[:most]
        shown = ", ".join(self.text[number] for number in order)
        more = ", ..." if len(self.text) > most else ""
        return f"{len(self.text)} level{'s' * (len(self.text) > 1)}: {shown}{more}"

    def many_levels(self) -> tuple[str, ...]:
        """A warning where levels are many for so few rows."""
        n_levels = len(self.text)
        if n_levels < MANY_LEVELS or self.n_rows >= 10 * n_levels:
            return ()
        rare = int((self.counts <= 2).sum())
        return (f"{n_levels} levels in {rows(self.n_rows)}, {rare} of them in one or two",)


def present_texts(series: nw.Series[Any], told: tuple[str, ...], usual: Iterable[str]) -> Texts:
    """The texts that are there, and the markers of missing values among them."""
    found = text_levels(series)
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.text))
    marks = {"", *lower(told), *usual}
    is_marker = [text.strip().casefold() in marks for text in found.text]
    markers: dict[str, int] = {}
    for text, n, marker in zip(found.text, counts.tolist(), is_marker, strict=True):
        if marker and text.strip():
            markers[text.strip()] = markers.get(text.strip(), 0) + n
    present = ~np.array(is_marker, dtype=bool) & (counts > 0)
    kept = [text for text, there in zip(found.text, present, strict=True) if there]
    own = counts[present]
    if any(text != text.strip() for text in kept):
        kept, own = _stripped(kept, own)
    return Texts(kept, own, len(found.codes) - int(own.sum()), markers)


def _stripped(texts: list[str], counts: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    total: dict[str, int] = {}
    for text, n in zip(texts, counts.tolist(), strict=True):
        total[text.strip()] = total.get(text.strip(), 0) + n
    return list(total), np.array(list(total.values()), dtype=np.int64)


def lower(texts: Iterable[str]) -> set[str]:
    """Texts without case and surrounding spaces."""
    return {text.strip().casefold() for text in texts}


def rows(n: int) -> str:
    """A number of rows in words."""
    return f"{n:,} row" if n == 1 else f"{n:,} rows"
