"""Tell subjects from others by their content, for folders that keep what was found on them."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

from survtrace.errors import DataWarning
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import read_outcome

LETTERS = ("utf-8", "surrogatepass")


def content_digest(X: Any, y: Any, *settings: Any) -> str:
    """Digest covariates with their names, the outcome, and settings that matter beside them.

    Examples
    --------
    >>> y = {"event": [1, 0], "duration": [3.0, 4.0]}
    >>> first, second = (content_digest({"age": ages}, y) for ages in ([50, 60], [50, 61]))
    >>> first == content_digest({"age": [50, 60]}, y), first == second
    (True, False)
    """
    with warnings.catch_warnings(action="ignore", category=DataWarning):  # the fit warns
        outcome = read_outcome(y, zero_duration=0.0)
    times = [outcome.duration, outcome.event, outcome.entry, outcome.id]
    known = [None if each is None else each.tolist() for each in times]
    digest = hashlib.sha256(repr((known, outcome.causes, settings)).encode(*LETTERS))
    for each in open_table(X).iter_columns():  # one at a time, in the memory of one
        content = repr((each.name, str(each.dtype), each.to_list()))
        digest.update(content.encode(*LETTERS))
    return digest.hexdigest()
