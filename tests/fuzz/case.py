"""One case of bad input: the call, what its answer must obey, and what became of it."""

from __future__ import annotations

import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from survtrace import DataWarning, SurvtraceError
from survtrace.metrics import Score

RIGHT, OWN_ERROR, FOREIGN, SILENT = "right answer", "own error", "foreign", "silent"
VERDICTS = (RIGHT, OWN_ERROR, FOREIGN, SILENT)
BAD = (FOREIGN, SILENT)
UNKNOWN, INFINITE = "NaN", "infinite"
LONGEST = 60  # seconds of a call; a longer one is stopped, and counts as foreign
SOURCE = str(Path(__file__).parents[2] / "src")
# Warnings of ours are for the user; these are those of a library that was given nonsense.
FOREIGN_WARNINGS = (RuntimeWarning, FutureWarning, DeprecationWarning, SyntaxWarning)


@dataclass
class Case:
    """A call with bad input.

    Attributes
    ----------
    name
        What is wrong with the input, in words.
    call
        Makes the answer, or raises.
    check
        Names the law that an answer breaks; "" if it is right.
    refuse
        Whether the input means nothing, so that any answer is wrong.
    unknown_if_said
        Whether numbers may be NaN, which `check` calls `UNKNOWN`, if a warning of ours says so.
    """

    name: str
    call: Callable[[], Any]
    check: Callable[[Any], str] = lambda answer: ""
    refuse: bool = False
    unknown_if_said: bool = False


class Verdict(NamedTuple):
    """What became of a case; ``place`` tells one bug from another."""

    seen: str
    words: str
    place: str = ""


def judge(case: Case) -> Verdict:
    """Make the call, and say what came of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with stopped_after(LONGEST):
                answer = case.call()
            broken = "" if case.refuse else _checked(case, answer)
        except (SurvtraceError, NotFittedError) as error:
            words = str(error)
            unclear = len(words) < 25 or not words.rstrip().endswith((".", "?", ")", "'", "]"))
            seen = FOREIGN if unclear else OWN_ERROR
            return Verdict(seen, f"{type(error).__name__}: {words}", "unclear" if unclear else "")
        except Exception as error:  # a traceback that the user can do nothing with
            return Verdict(FOREIGN, f"{type(error).__name__}: {error}"[:300], _place(error))
    for warning in said:
        if issubclass(warning.category, FOREIGN_WARNINGS):
            text = f"{warning.category.__name__}: {warning.message}"
            return Verdict(FOREIGN, text[:300], f"{warning.filename}:{warning.lineno}")
    words = " | ".join(str(warning.message) for warning in said)
    if case.refuse:
        return Verdict(SILENT, f"accepted. {words}"[:300], f"accepted: {case.name}")
    if broken == UNKNOWN and case.unknown_if_said and _say_unknown(said):
        return Verdict(RIGHT, words)
    if broken:
        place = f"broken: {broken}, {case.name.split(':')[0].split('(')[0]}"
        return Verdict(SILENT, f"{broken}. {words}"[:300], place)
    return Verdict(RIGHT, words)


def _say_unknown(said: list[warnings.WarningMessage]) -> bool:
    """Tell whether a warning of ours says that a number is not known."""
    ours = [str(each.message) for each in said if issubclass(each.category, DataWarning)]
    return any(word in text for text in ours for word in ("NaN", "integral ends"))


def _checked(case: Case, answer: Any) -> str:
    """Check an answer; an error of ours in the check is a broken law, too."""
    try:
        return case.check(answer)
    except SurvtraceError as error:
        return f"fitted, but cannot be asked: {error}"[:200]


def _place(error: Exception) -> str:
    """Name the innermost line of the package that led to an error, or else what it says."""
    frames = list(traceback.extract_tb(error.__traceback__))
    ours = [frame for frame in frames if frame.filename.startswith(SOURCE)]
    if not ours:
        return f"{type(error).__name__}: {error}"[:80]
    return f"{type(error).__name__} {ours[-1].filename.removeprefix(SOURCE)}:{ours[-1].lineno}"


@contextmanager
def stopped_after(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` after some seconds; in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer in {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_finite(answer: Any) -> str:
    """Check that every number of an answer is finite."""
    found = [np.asarray(values, dtype=np.float64) for values in numbers_of(answer)]
    if any(np.isinf(values).any() for values in found):
        return INFINITE
    return is_known(found)


def is_known(answer: Any) -> str:
    """Check that no number of an answer is NaN; infinite ones are for the caller to judge."""
    unknown = any(np.isnan(np.asarray(values, float)).any() for values in numbers_of(answer))
    return UNKNOWN if unknown else ""


def is_same(answer: Any, other: Any, tolerance: float = 1e-9) -> str:
    """Check that two answers have the same numbers, NaN in the same places."""
    for one, two in zip(numbers_of(answer), numbers_of(other), strict=True):
        if not np.allclose(one, two, rtol=tolerance, atol=tolerance, equal_nan=True):
            return "not the answer to the same values in the usual form"
    return ""


def are_probabilities(answer: Any) -> str:
    """Check that every number of an answer lies in [0, 1]."""
    for values in numbers_of(answer):
        if not ((values >= -1e-6) & (values <= 1 + 1e-6)).all():
            return "not within [0, 1]"
    return ""


def numbers_of(answer: Any) -> Iterator[np.ndarray]:
    """Give all numbers of arrays, frames, tuples, dataclasses and mappings."""
    if isinstance(answer, np.ndarray | pd.Series):
        values = np.asarray(answer)
        if values.dtype.kind in "fiub":
            yield values
    elif isinstance(answer, pd.DataFrame):
        for name in range(answer.shape[1]):
            yield from numbers_of(answer.iloc[:, name])
    elif isinstance(answer, Score):
        yield np.array([float(answer), answer.standard_error, *answer.interval()])
    elif isinstance(answer, bool | int | float | np.number):
        yield np.asarray(answer)
    elif isinstance(answer, dict):
        for value in answer.values():
            yield from numbers_of(value)
    elif isinstance(answer, list | tuple):
        for value in answer:
            yield from numbers_of(value)
    elif hasattr(answer, "__dataclass_fields__"):
        yield from numbers_of({name: getattr(answer, name) for name in answer.__dataclass_fields__})


def curves_hold(est: Any, X: Any, times: Any) -> str:
    """Check the laws of a fitted estimator's curves for some subjects."""
    survival = est.predict_survival_function(X, times=times)
    incidence = est.predict_cumulative_incidence(X, times=times)
    return curve_laws(survival, incidence)


def curve_laws(survival: np.ndarray, incidence: np.ndarray) -> str:
    """Check survival (subject, time) and incidences (subject, cause, time) at increasing times."""
    if broken := are_probabilities([survival, incidence]):
        return broken
    if np.abs(survival + incidence.sum(axis=1) - 1).max(initial=0) > 1e-5:
        return "survival and incidences do not sum to 1"
    if (np.diff(survival, axis=-1) > 1e-6).any() or (np.diff(incidence, axis=-1) < -1e-6).any():
        return "curves turn back"
    return ""
