"""Predictions from file to file, in pieces: memory does not grow with the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.estimator import SurvTRACE
from survtrace.naming import INCIDENCE, SURVIVAL, column_names, prediction_frame
from survtrace.tables.files.chunks import N_ROWS, read_chunks, warnings_of_rows, write_chunks
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_levels import as_learned, text_columns

Floats = NDArray[np.float64]


def predict_file(
    est: SurvTRACE,
    table: str | Path,
    out: str | Path,
    times: ArrayLike,
    *,
    keep: Sequence[str] = (),
    causes: bool = True,
    std: bool = False,
    reading: Reading | None = None,
    n_rows: int = N_ROWS,
    advance: Callable[[int], None] = lambda n_rows: None,
) -> int:
    """Predict for every row of a table in a file and write the probabilities to another.

    Rows keep their order. Columns are ``survival_<time>``, then ``incidence_<cause>_<time>``; a
    standard deviation stands beside what it belongs to, with ``_std`` behind its name. What is
    written does not depend on ``n_rows``, and appears whole at the end or not at all.

    Parameters
    ----------
    est
        A fitted estimator.
    table
        CSV, TSV (both also .gz), Parquet or Feather; a folder of Parquet files, in the order of
        their names; ``-`` reads CSV from standard input.
    out
        The same kinds of file; ``-`` writes CSV to standard output.
    times
        When to predict.
    keep
        Columns of the table to copy in front, such as identifiers.
    causes
        Also the incidence of each cause.
    std
        Also the standard deviations between members; missing if there is only one.
    reading
        What is known of how the table's file is written.
    n_rows
        Rows held in memory at a time.
    advance
        Told after each piece how many rows it had.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import tempfile
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X.to_csv(f"{folder}/new.csv", index=False)
    ...     n_rows = predict_file(est, f"{folder}/new.csv", f"{folder}/out.csv", times=[12, 60])
    ...     list(pd.read_csv(f"{folder}/out.csv"))[:3]
    ['survival_12', 'survival_60', 'incidence_1_12']
    """
    covariates = [str(name) for name in est.feature_names_in_]
    columns = list(dict.fromkeys([*keep, *covariates]))
    text = text_columns(est.encoding_)
    pieces = read_chunks(table, columns, verbatim=keep, text=text, reading=reading, n_rows=n_rows)
    done, told = 0, set[str]()
    with write_chunks(out) as write:
        for piece in filter(len, pieces):
            with warnings_of_rows(done, len(piece), told):
                answers = answer(est, piece, times, keep=keep, causes=causes, std=std)
            write(answers)
            done += len(piece)
            advance(len(piece))
        if not done:
            raise DataError(f"{table} has no rows. Pass a table with at least one subject.")
    return done


def answer(
    est: SurvTRACE,
    piece: pd.DataFrame,
    times: ArrayLike,
    *,
    keep: Sequence[str] = (),
    causes: bool = True,
    std: bool = False,
) -> pd.DataFrame:
    """The probabilities of some rows as columns, behind the columns to keep."""
    X = as_learned(est.encoding_, piece[[str(name) for name in est.feature_names_in_]])
    asked = np.array(list(dict.fromkeys(np.atleast_1d(times).tolist())), dtype=np.float64)
    frames = [
        prediction_frame(X, column_names(name, asked), mean, deviation)
        for name, mean, deviation in _curves(est, X, asked, causes, std)
    ]
    return pd.concat([piece[[*keep]], *frames], axis=1)


def _curves(
    est: SurvTRACE, X: pd.DataFrame, times: ArrayLike, causes: bool, std: bool
) -> Iterator[tuple[str, Floats, Floats | None]]:
    """Name, mean and deviation of each curve; without deviations, one pass gives them all."""

    def ask(predict: Callable[..., Any]) -> tuple[Floats, Floats | None]:
        answer = predict(X, times, return_std=std)
        return answer if std else (answer, None)

    if not causes:
        yield SURVIVAL, *ask(est.predict_survival_function)
        return
    incidence, spread = ask(est.predict_cumulative_incidence)
    left = np.clip(1 - incidence.sum(axis=1), 0, 1)
    yield SURVIVAL, *(ask(est.predict_survival_function) if std else (left, None))
    for k, cause in enumerate(est.causes_):
        yield f"{INCIDENCE}_{cause}", incidence[:, k], None if spread is None else spread[:, k]
