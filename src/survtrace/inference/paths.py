"""A path in place of a table: a method answers piece by piece, the rows in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from survtrace.errors import DataError
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.files.chunks import read_chunks, warnings_of_rows
from survtrace.tables.files.text_levels import as_learned, text_columns
from survtrace.tables.outcome.roles import is_path, read_roles

Method = TypeVar("Method", bound=Callable[..., Any])


def by_path(answer: Method) -> Method:
    """Let a method that answers for a table of covariates also take the path of one."""

    @wraps(answer)
    def answering(est: Any, X: Any, *args: Any, **settings: Any) -> Any:
        if not is_path(X):
            return answer(est, X, *args, **settings)
        check_is_fitted(est)
        answers, done, told = [], 0, set[str]()
        for piece in _pieces(X, est.encoding_):
            own = _of_rows(settings, done, len(piece))
            with warnings_of_rows(done, len(piece), told):
                answers.append(answer(est, piece, *args, **own))
            done += len(piece)
        _of_rows(settings, 0, done, whole=True)
        return _joined(answers)

    return cast(Method, answering)


def score_by_path(est: Any, path: str | Path, y: Any) -> float:
    """The score of a table in a file, in which ``y`` names event and duration.

    A score is a mean over subjects, so that of the table is that of its pieces, weighted by size.
    """
    roles = read_roles(y)
    named = {"event": roles.event, "duration": roles.duration, "censored": roles.censored}
    total, done, told = 0.0, 0, set[str]()
    for piece in _pieces(path, est.encoding_, [roles.event, roles.duration]):
        with warnings_of_rows(done, len(piece), told):
            total += est.score(piece, named) * len(piece)
        done += len(piece)
    return total / done


def _pieces(
    path: str | Path, encoding: Encoding, more: Sequence[str] = ()
) -> Iterator[pd.DataFrame]:
    """The covariates, and some columns more, of a table with at least one row."""
    columns = list(dict.fromkeys([*encoding.names.tolist(), *more]))
    empty = True
    for piece in filter(len, read_chunks(path, columns, text=text_columns(encoding))):
        empty = False
        yield as_learned(encoding, piece)
    if empty:
        raise DataError(f"{path} has no rows. Pass a table with at least one subject.")


def _of_rows(
    settings: dict[str, Any], first: int, n_rows: int, *, whole: bool = False
) -> dict[str, Any]:
    """The settings of a piece: of a time for each subject, those of its subjects."""
    after: Any = settings.get("conditional_after")
    if np.ndim(after) != 1:
        return settings
    if len(after) < first + n_rows or (whole and len(after) > n_rows):
        raise DataError(
            "conditional_after must be a time, or one for each subject of the file; got "
            f"{len(after)} times for {n_rows if whole else 'more'} subjects."
        )
    return {**settings, "conditional_after": np.asarray(after)[first : first + n_rows]}


def _joined(answers: list[Any]) -> Any:
    """The answers of all pieces as one array, two where there are deviations, or a frame."""
    if isinstance(answers[0], pd.DataFrame):
        return pd.concat(answers, ignore_index=True)
    if isinstance(answers[0], tuple):
        return tuple(np.concatenate(part) for part in zip(*answers, strict=True))
    return np.concatenate(answers)
