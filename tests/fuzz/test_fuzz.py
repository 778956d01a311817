"""A short sample of every fuzzer: a right answer or one of our errors, for each case."""

import warnings

import numpy as np
import pytest

from fuzz import arguments, commands, new_rows, scores, settings, tables
from fuzz.case import BAD, FOREIGN, OWN_ERROR, RIGHT, SILENT, Case, judge
from survtrace import DataError

# Cases of a seed of their own; the long runs of `bad_input.py` have others.
SAMPLES = {tables: 40, new_rows: 60, arguments: 40, scores: 200, settings: 40, commands: 20}


@pytest.mark.parametrize(
    ("fuzzer", "first"),
    [(fuzzer, first) for fuzzer, n in SAMPLES.items() for first in range(0, n, 20)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_bad_input_gets_a_right_answer_or_an_error_of_ours(fuzzer, first):
    for number in range(first, first + 20):
        case = fuzzer.make(np.random.default_rng([2026, number]))
        verdict = judge(case)
        assert verdict.seen not in BAD, f"case {number}, {case.name}: {verdict}"


@pytest.mark.parametrize(
    ("case", "seen"),
    [
        (Case("fine", lambda: 1.0), RIGHT),
        (Case("refused", lambda: _raise(DataError("x must be 1; got 2. Pass 1."))), OWN_ERROR),
        (Case("too short", lambda: _raise(DataError("bad"))), FOREIGN),
        (Case("a traceback", lambda: {}["no key"]), FOREIGN),
        (Case("a warning of numpy", lambda: warnings.warn("x", RuntimeWarning, 2)), FOREIGN),
        (Case("accepted", lambda: 1.0, refuse=True), SILENT),
        (Case("a law broken", lambda: 2.0, lambda answer: "not 1"), SILENT),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else "",
)
def test_the_judge_tells_them_apart(case, seen):
    assert judge(case).seen == seen


def _raise(error):
    raise error
