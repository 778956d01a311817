"""Read the JSON of a request by hand: a tenth of the time of a general validator, same words.

`QUESTION` and `ONE_SUBJECT` describe for /openapi.json what is checked here.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

from survtrace.app.answers.answers import Question
from survtrace.errors import DataError

PLAIN = [{"type": kind} for kind in ("number", "string", "boolean", "null")]
SUBJECT = {"type": "object", "additionalProperties": {"anyOf": PLAIN}}
TIME = {"type": "number", "minimum": 0}
TIMES = {"type": "array", "items": TIME}
QUESTION: dict[str, Any] = {
    "title": "Question",
    "description": "Subjects by the names of their covariates; null, or left out, is unknown.\n\n"
    "With `after`, a time or one for each subject, the curves are those of subjects who are "
    "event-free until then: of a subject of 62 where age is the clock, `after` is 62. `level` is "
    "that of the intervals; null for none.",
    "type": "object",
    "additionalProperties": False,
    "required": ["subjects"],
    "properties": {
        "subjects": {"type": "array", "items": SUBJECT},
        "times": {"anyOf": [TIMES, {"type": "null"}], "default": None},
        "after": {"anyOf": [TIME, TIMES], "default": 0.0},
        "level": {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"type": "null"},
            ],
            "default": 0.95,
        },
    },
}
ONE_SUBJECT: dict[str, Any] = {
    "title": "OneSubject",
    "description": "One subject by the names of its covariates.",
    "type": "object",
    "additionalProperties": False,
    "required": ["subject"],
    "properties": {"subject": SUBJECT},
}
EXAMPLES = {
    "/predict": '{"subjects": [{"age": 61}], "times": [12, 60]}',
    "/attention": '{"subject": {"age": 61}}',
}
LARGEST = int(sys.float_info.max)
JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json(?:\s*;.*)?", re.IGNORECASE)


class FormError(DataError):
    """A request is not of the form that /openapi.json describes; ``status`` is its HTTP code."""

    def __init__(self, where: str, seen: str, status: int = 422) -> None:
        super().__init__(f"{where}: {seen}")
        self.status = status


def refusal_words(error: FormError, path: str) -> str:
    """Say what form a request must have, what was seen, and an example."""
    example = EXAMPLES.get(path, "?times=12&times=60")
    return (
        f"a request must be of the form that /openapi.json describes; {error}. Send for example "
        f"{example}."
    )


def read_question(body: bytes) -> Question:
    """Read the body of /predict.

    Examples
    --------
    >>> read_question(b'{"subjects": [{"age": 61}], "times": [12]}').times
    [12.0]
    >>> read_question(b'{"subjects": [{}], "times": ["12"]}')
    Traceback (most recent call last):
    survtrace.app.service.questions.FormError: body.times.0: Input should be a valid number
    """
    found = _read_object(body, "subjects", ("subjects", "times", "after", "level"))
    subjects = found["subjects"]
    if type(subjects) is not list:
        raise FormError("body.subjects", "Input should be a valid list")
    for place, subject in enumerate(subjects):
        _check_subject(subject, f"body.subjects.{place}")
    times, after, level = found.get("times"), found.get("after", 0.0), found.get("level", 0.95)
    return Question(
        subjects,
        None if times is None else _numbers(times, "body.times"),
        _numbers(after, "body.after") if type(after) is list else _number(after, "body.after"),
        None if level is None else _level(level),
    )


def read_subject(body: bytes) -> dict[str, Any]:
    """Read the body of /attention."""
    subject: dict[str, Any] = _read_object(body, "subject", ("subject",))["subject"]
    _check_subject(subject, "body.subject")
    return subject


def _read_object(body: bytes, required: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Parse a JSON object with one required name and no others than those allowed."""
    if not body:
        raise FormError("body", "Field required")
    try:
        found = json.loads(body, object_pairs_hook=_without_repeats)
    except FormError:
        raise
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        where = error.pos if isinstance(error, json.JSONDecodeError) else error.start
        raise FormError(f"body.{where}", "JSON decode error") from None
    except (RecursionError, ValueError):  # too deep, or a number of thousands of digits
        raise FormError("body", "There was an error parsing the body", 400) from None
    if type(found) is not dict:
        raise FormError("body", "Input should be a valid dictionary")
    if required not in found:
        raise FormError(f"body.{required}", "Field required")
    for name in found:
        if name not in allowed:
            raise FormError(f"body.{name}", "Extra inputs are not permitted")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of the members of an object; of two values for one name neither is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, n in counts.items() if n > 1)
        raise FormError("body", f"the name {twice!r} occurs more than once in an object")
    return found


def _check_subject(subject: Any, where: str) -> None:
    if type(subject) is not dict:
        raise FormError(where, "Input should be a valid dictionary")
    for name, value in subject.items():
        if type(value) is list or type(value) is dict:
            raise FormError(f"{where}.{name}", "a covariate is one value a row, not a list")
        if type(value) is int and abs(value) > LARGEST:  # no float can hold it
            subject[name] = float("inf") if value > 0 else float("-inf")


def _numbers(values: Any, where: str) -> list[float]:
    if type(values) is not list:
        raise FormError(where, "Input should be a valid list")
    return [_number(value, f"{where}.{place}") for place, value in enumerate(values)]


def _number(value: Any, where: str) -> float:
    """Return a number as a float; true and false are none."""
    if type(value) is float:
        return value
    if type(value) is not int:
        raise FormError(where, "Input should be a valid number")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _level(value: Any) -> float:
    level = _number(value, "body.level")
    if not level > 0:
        raise FormError("body.level", "Input should be greater than 0")
    if not level < 1:
        raise FormError("body.level", "Input should be less than 1")
    return level
