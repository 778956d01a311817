"""How much one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from survtrace.errors import SurvtraceError


class LimitError(SurvtraceError):
    """A request asks for more than one request may; ``status`` is its HTTP code."""

    def __init__(self, message: str, status: int = 413) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Limits:
    """Most subjects, bytes, numbers in the answer, seconds, and times of one request."""

    rows: int = 10_000
    bytes: int = 10 * 2**20
    numbers: int = 500_000
    seconds: float = 30.0
    times: int = 1_000

    def check(self, n_subjects: int, n_times: int, n_states: int) -> None:
        """Refuse a request whose answer would be too long.

        Examples
        --------
        >>> Limits(rows=100).check(101, 1, 2)
        Traceback (most recent call last):
        survtrace.app.answers.limits.LimitError: one request takes at most 100 subjects; got 101. \
Send them in parts.
        """
        if n_subjects > self.rows:
            raise LimitError(
                f"one request takes at most {self.rows} subjects; got {n_subjects}. "
                "Send them in parts."
            )
        # Every member has a curve of its own at every time, however few numbers are sent back.
        if n_times > self.times:
            raise LimitError(
                f"one request takes at most {self.times} times; got {n_times}. Ask for fewer: "
                "between two times a curve hardly bends."
            )
        n_numbers = n_subjects * n_times * n_states
        if n_numbers > self.numbers:
            raise LimitError(
                f"one answer holds at most {self.numbers} probabilities; {n_subjects} subjects x "
                f"{n_times} times x {n_states} states are {n_numbers}. Ask for fewer subjects or "
                "times."
            )
