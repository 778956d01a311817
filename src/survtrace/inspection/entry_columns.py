"""Find covariates that may rather say when observation of a row began."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Names that are made of a word for the begin and at most a word for time.
_TIME = r"(?:time|age|day|days|month|months|year|years|t|zeit|tag|alter|jahr)?"
_BEGIN = (
    r"(?:start|tstart|begin|beginning|entry|enter|entered|entrytime|left|from|since|enrol|enroll|"
    r"enrol?ment|inclusion|beginn|eintritt|einschluss|von|debut|inicio|entree|intervalstart)"
)
_NAMED = re.compile(rf"{_TIME}(?:of|at)?{_BEGIN}(?:of|at)?{_TIME}", re.IGNORECASE)
N_PAIRS = 10  # rows that follow another of the same subject, to judge by where they begin
N_TIMES = 5  # distinct times, fewer of which are codes: "left" may be 1 for the left side
TOUCH = 0.5  # share of them that begin where the one before ends
N_RISING = 50  # rows to judge by whether a column rises with the duration
RISING = 0.8  # correlation of an age at the begin with that at the end, but of hardly any covariate


class EntryFound(NamedTuple):
    """Why a column may be the entry: how many rows begin where the row before them ended.

    Or how closely it rises with the duration, as an age at enrolment does with that at the end.
    """

    n_touching: int = 0
    n_pairs: int = 0
    rising: float | None = None

    def in_words(self, name: str, duration: str) -> str:
        """Say what was seen, of the columns of these names."""
        if self.rising is not None:
            return (
                f"column {name!r} is always before {duration!r} and rises with it (correlation "
                f"{self.rising:.2f}), as an age at enrolment does with the age at the end"
            )
        if not self.n_pairs:
            return (
                f"column {name!r} is named like the start of a row, and always before {duration!r}"
            )
        return (
            f"columns {name!r} and {duration!r} look like start-stop rows: {self.n_touching} of "
            f"{self.n_pairs} rows that follow another of their subject begin where it ends"
        )


def is_named_like_entry(name: str) -> bool:
    """Check whether the name of a column says that something begins.

    Examples
    --------
    >>> [is_named_like_entry(name) for name in ("start", "t_start", "Age at entry", "start_dose")]
    [True, True, True, False]
    """
    return _NAMED.fullmatch(re.sub(r"[\W_]+", "", name)) is not None


def find_entry(
    name: str,
    values: NDArray[np.float64],
    duration: NDArray[np.float64],
    subject: NDArray[np.int64] | None = None,
) -> EntryFound | None:
    """Judge by name, values and the rows of a subject whether a column may be the entry.

    ``subject`` numbers the subject of each row, where that is known.

    Examples
    --------
    >>> start = np.array([0.0, 2.0, 0.5, 0.0, 1.0, 3.0])
    >>> find_entry("start", start, start + 4)
    EntryFound(n_touching=0, n_pairs=0, rising=None)
    >>> find_entry("dose", start, start + 4) is None
    True
    """
    possible = np.isfinite(values) & (values >= 0) & (values < duration)
    if not len(values) or not possible.all() or not values.any():
        return None
    if subject is not None:
        order = np.lexsort((duration, subject))
        same = np.diff(subject[order]) == 0
        before, after = order[:-1][same], order[1:][same]
        n_touching = int(np.isclose(values[after], duration[before], rtol=1e-9, atol=0).sum())
        if len(after) >= N_PAIRS and n_touching >= TOUCH * len(after):
            return EntryFound(n_touching, len(after))
    if len(np.unique(values)) < N_TIMES:
        return None
    if is_named_like_entry(name):
        return EntryFound()
    if subject is not None or len(values) < N_RISING or not np.std(duration):
        return None
    rising = float(np.corrcoef(values, duration)[0, 1])
    return EntryFound(rising=rising) if RISING < rising < 0.9999 else None  # or it is a copy
