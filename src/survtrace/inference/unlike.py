"""Warn of tables with more subjects unlike those learned from than such tables have by chance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, UnlikePatientsWarning, row_name, warn
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.tasks import Run, one_by_one
from survtrace.tables.typicality.typicality import FEWEST_SUBJECTS, UNLIKE, Typicality

MOST_JUDGED = 2**14  # subjects of a table, evenly spread: of a share of .01 they tell .012
SURE = 0.99  # share of tables of patients like those learned from that get no warning


@dataclass
class Tally:
    """Subjects that were judged, how many were unlike, and the most unusual of them."""

    n: int = 0
    n_unlike: int = 0
    lowest: float = 1.0
    where: str = ""
    why: tuple[str, ...] = ()
    n_learned: int = 0

    def warn(self) -> None:
        """Warn if more are unlike than chance gives."""
        if self.n_unlike > most_by_chance(self.n, self.n_learned):
            warn(UnlikePatientsWarning(self._words(), in_command=self._words(in_command=True)))

    def _words(self, *, in_command: bool = False) -> str:
        together = " together" if len(self.why) > 1 else ""
        why = f"by {' and '.join(self.why)}{together}"
        if self.n == 1:
            return (
                "the subject is unlike the patients learned from, "
                f"{why}: its typicality is {self.lowest:.2g}, and its prediction is a guess."
            )
        way_out = "" if in_command else " typicality(X) tells which."
        usual = max(1, round(UNLIKE * self.n))
        return (
            f"{self.n_unlike:,} of {self.n:,} subjects are unlike the patients learned from (a "
            f"typicality below {UNLIKE}; {usual:,} would be no surprise), most of all "
            f"{self.where}, {why}: predictions are a guess for them.{way_out}"
        )


# Where chunks of a file are counted, to warn once of all of them.
_tally: ContextVar[Tally | None] = ContextVar("tally", default=None)


@contextmanager
def counted(tally: Tally) -> Iterator[None]:
    """Count subjects in a tally, and warn of none here."""
    token = _tally.set(tally)
    try:
        yield
    finally:
        _tally.reset(token)


def warn_of_unlike(
    typicality: Typicality, encoded: Encoded, run: Run = one_by_one
) -> NDArray[np.float64]:
    """Judge the subjects of a table, of a large one some; warn if too many are unlike.

    Returns how usual each subject is that was judged.
    """
    step = -(-len(encoded.rows) // MOST_JUDGED)
    judged = Encoded(encoded.rows[::step], encoded.values[::step])
    found = typicality.of(judged, run)
    tally = _tally.get()
    total = Tally() if tally is None else tally
    total.n += len(found)
    total.n_unlike += int(np.count_nonzero(found < UNLIKE))
    total.n_learned = typicality.n_subjects
    lowest = int(np.argmin(found))
    if found[lowest] < min(UNLIKE, total.lowest):
        only = slice(lowest, lowest + 1)
        (total.why,) = typicality.reasons(Encoded(judged.rows[only], judged.values[only]))
        total.lowest, total.where = float(found[lowest]), row_name(lowest * step)
    if tally is None:
        total.warn()
    return found


def require_typicality(typicality: Typicality | None) -> Typicality:
    """Refuse to judge patients where nothing was learned of how usual they are."""
    if typicality is None:
        raise DataError(
            "how usual a patient is was not learned: the estimator was saved by an earlier "
            f"version, or learned from fewer than {FEWEST_SUBJECTS} patients. Fit it again, "
            "on more patients if they were so few."
        )
    return typicality


@lru_cache(maxsize=1024)
def most_by_chance(n: int, n_learned: int) -> int:
    """Count how many of n subjects may be unlike in all but one in a hundred tables.

    The share itself is known as well as that many patients learned from tell it: the number has a
    beta-binomial distribution.

    Examples
    --------
    >>> [most_by_chance(n, 5_000) for n in (1, 10, 1_000)]
    [0, 1, 19]
    """
    a, b = UNLIKE * (n_learned + 1), (1 - UNLIKE) * (n_learned + 1)
    of_none = lgamma(b + n) + lgamma(a + b) - lgamma(a + b + n) - lgamma(b)
    k = np.arange(n)
    steps = np.log((n - k) * (a + k)) - np.log((k + 1) * (b + n - k - 1))
    log_chance = of_none + np.concatenate([[0.0], np.cumsum(steps)])
    # Rounding must not decide for one subject, of whom none is the number that is just enough.
    return int(np.searchsorted(np.cumsum(np.exp(log_chance)) + 1e-9, SURE))
