"""A messy table: what a user has, the clean table behind it, and which answers are acceptable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

N_SUBJECTS = 240
EVENT, DURATION = "cause", "months"
RIGHT, WARNED, QUESTION = "right", "warned", "question"


@dataclass(frozen=True)
class Messy:
    """A table as a user has it, and the truth behind it.

    Attributes
    ----------
    raw
        A frame, or the bytes of a file.
    X, event, duration
        The clean table: covariates, events (0 is censored), durations.
    y
        The outcome, where the user passes one; else the frame's own columns are named.
    entry, id
        When observation of each row began and whose row it is, where the clean table says so.
    event_column
        The name of the column of events, in ``raw``.
    roles
        Further entries of the mapping that names the outcome's columns in Python.
    options
        Further options of ``survtrace fit``.
    settings
        Of the estimator.
    new
        Rows to predict for, if not ``raw`` itself; ``clean_new`` is the clean table behind them.
    secrets
        Texts that must not occur in the saved model.
    optional
        Columns that may be covariates or not, if the user is warned.
    loose
        Covariates whose values may be read in several ways if the user is warned; then only their
        kind is compared.
    says
        Regular expressions that the question or the warning must match, all of them.
    ways
        "python", "command": the ways in which a user can come with this table.
    """

    raw: Any
    X: pd.DataFrame
    event: Sequence[Any]
    duration: Sequence[float]
    y: Any = None
    entry: Sequence[float] | None = None
    id: Sequence[Any] | None = None
    event_column: str = EVENT
    roles: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    new: Any = None
    clean_new: pd.DataFrame | None = None
    secrets: Sequence[str] = ()
    optional: Sequence[str] = ()
    loose: Sequence[str] = ()
    says: tuple[str, ...] = ()
    ways: tuple[str, ...] = ("python", "command")


@dataclass(frozen=True)
class Entry:
    """A messy table by name: how it is made, and which answers are acceptable."""

    name: str
    expected: tuple[str, ...]
    make: Callable[[Cohort], Messy]


class Cohort:
    """A clean cohort with two causes, and the random numbers to spoil it with."""

    def __init__(self, seed: int = 0, n: int = N_SUBJECTS) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.n = n
        age = rng.normal(62.0, 9.0, n).clip(30, 92)
        self.X = pd.DataFrame(
            {
                "age": age.round(1),
                "creatinine": rng.lognormal(0.0, 0.35, n).round(2),
                "nodes": rng.poisson(3.0, n),
                "sex": rng.choice(["female", "male"], n),
                "stage": rng.choice(["I", "II", "III"], n),
            }
        )
        hazard = np.exp((age[:, None] - 62) / 15) / np.array([30.0, 60.0])
        latent, censoring = rng.exponential(1 / hazard), rng.uniform(2.0, 60.0, n)
        first = latent.min(axis=1)
        self.event = np.where(first < censoring, latent.argmin(axis=1) + 1, 0)
        self.duration = np.minimum(first, censoring).round(1).clip(0.1)
        self.died = self.event > 0

    @property
    def one_event(self) -> np.ndarray:
        """0 or 1."""
        return self.died.astype(int)

    def frame(self, event: Any = None, duration: Any = None, **columns: Any) -> pd.DataFrame:
        """The clean covariates, changed or added columns, and the outcome."""
        return self.X.assign(
            **columns,
            **{
                DURATION: self.duration if duration is None else duration,
                EVENT: self.event if event is None else event,
            },
        )

    def words(self, *words: str) -> np.ndarray:
        """The events in words: one for 0, one for 1, ..."""
        codes = self.event if len(words) > 2 else self.one_event
        return np.array(words, dtype=object)[codes]

    def of(self, raw: Any, **changes: Any) -> Messy:
        """A messy table whose truth is this cohort, with changes."""
        truth = {"X": self.X, "event": self.event, "duration": self.duration}
        return Messy(raw, **{**truth, **changes})

    def some(self, share: float = 0.1) -> np.ndarray:
        """A random mask of subjects."""
        return self.rng.random(self.n) < share


ENTRIES: list[Entry] = []


def messy(name: str, *expected: str) -> Callable[[Callable[[Cohort], Messy]], Any]:
    """Register a function that makes a messy table of a cohort."""

    def register(make: Callable[[Cohort], Messy]) -> Callable[[Cohort], Messy]:
        ENTRIES.append(Entry(name, expected, make))
        return make

    return register


def as_csv(frame: pd.DataFrame, sep: str = ",", encoding: str = "utf-8", **how: Any) -> bytes:
    """A frame as the bytes of a text file."""
    return frame.to_csv(index=False, sep=sep, **how).encode(encoding)
