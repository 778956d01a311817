"""Predictions from file to file, in chunks: memory does not grow with the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, DataWarning, row_name, short, warn
from survtrace.estimator import SurvTRACE
from survtrace.files import require_apart
from survtrace.inference.paths import answer_chunks, read_rows
from survtrace.inference.times import numbers_or_nan, read_times
from survtrace.naming import prediction_frame, state_names
from survtrace.rules import read_path
from survtrace.tables.files.chunks import N_ROWS, write_chunks
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_files import STANDARD
from survtrace.tables.files.text_levels import as_learned


def predict_file(
    est: SurvTRACE,
    table: str | Path,
    out: str | Path,
    times: ArrayLike,
    *,
    keep: Sequence[str] = (),
    causes: bool = True,
    std: bool = False,
    after: float | str | None = None,
    from_after: bool = False,
    typicality: bool = False,
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
        When to predict, counted from the same origin as the durations of the fit.
    keep
        Columns of the table to copy in front, such as identifiers.
    causes
        Also the incidence of each cause.
    std
        Also the standard deviations between members; missing if there is only one.
    after
        A time at which the subject of each row is known to be event-free, or the column that has
        one for each (its age now, say): what is predicted is what happens from then on.
    from_after
        Whether ``times`` count from there: 10 is then ten years from now, in a column such as
        ``survival_+10``.
    typicality
        Also how usual each subject is among those learned from, as the last column.
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
    path = read_path("out", out)
    if str(path) != STANDARD:
        require_apart(path, read_path("the table", table))
    more = [after] if isinstance(after, str) else []
    rows = read_rows(table, est.encoding_, more, verbatim=keep, reading=reading, n_rows=n_rows)
    question: dict[str, Any] = {"times": times, "keep": keep, "causes": causes, "std": std}
    question |= {"after": after, "from_after": from_after, "typicality": typicality}
    return write_answers(est, rows, path, question, advance=advance)


def write_answers(
    est: SurvTRACE,
    chunks: Iterable[pd.DataFrame],
    out: str | Path,
    question: Mapping[str, Any],
    *,
    first: int = 0,
    advance: Callable[[int], None] = lambda n_rows: None,
) -> int:
    """Answer for chunks of a table, the first row being number ``first``; return their rows."""
    done = 0
    with write_chunks(out) as write:
        for rows in answer_chunks(chunks, lambda chunk, _: answer(est, chunk, **question), first):
            write(rows)
            done += len(rows)
            advance(len(rows))
    return done


def answer(
    est: SurvTRACE,
    rows: pd.DataFrame,
    times: ArrayLike,
    *,
    keep: Sequence[str] = (),
    causes: bool = True,
    std: bool = False,
    after: float | str | None = None,
    from_after: bool = False,
    typicality: bool = False,
) -> pd.DataFrame:
    """Return the probabilities of some rows as columns, behind the columns to keep."""
    X = as_learned(est.encoding_, rows[est.encoding_.names.tolist()])
    distinct = np.array(list(dict.fromkeys(_flat(times).tolist())))
    starts = _starts(rows, after)
    asked = distinct
    if from_after and starts is not None:
        asked = distinct + (starts[:, None] if np.ndim(starts) else starts)
    elif starts is not None:
        _warn_of_past(distinct, starts, after)
    points, _ = read_times(asked, est.time_grid_, "constant", starts)
    kind, labels = ("states", est.causes_) if causes else ("survival", [])
    mean, deviation = est._predictor().curve(X, kind, points, after=starts, with_std=std)
    names = state_names(distinct, labels, mark="+" if from_after else "")
    predicted = prediction_frame(X, names, mean, deviation)
    if typicality:
        predicted["typicality"] = est.typicality(X)
    return pd.concat([rows[[*keep]], predicted], axis=1)


def _flat(times: ArrayLike) -> NDArray[np.float64]:
    """Read times that name columns: the same for all subjects."""
    values = np.atleast_1d(numbers_or_nan(times))
    if values.ndim > 1:
        raise DataError(
            "times must be a flat sequence of numbers of zero or more, since columns are named by "
            f"them; got {short(times)}. Pass for example times=[12, 60]."
        )
    return values


def _warn_of_past(times: NDArray[np.float64], starts: Any, after: float | str | None) -> None:
    """Warn of rows that are asked about a time at which they are known to be event-free."""
    past = np.atleast_1d(starts) >= times.min()
    if past.any():
        warn(
            f"{past.sum()} of {len(past)} rows are asked about {times.min():g}, which is not later "
            f"than their {after!r}, when they are known to be event-free: survival is 1 there.",
            DataWarning,
        )


def _starts(rows: pd.DataFrame, after: float | str | None) -> NDArray[np.float64] | None:
    """Tell when the subject of each row is known to be event-free, from a column or for all."""
    if not isinstance(after, str):
        return None if after is None else np.asarray(after, dtype=np.float64)
    starts: NDArray[np.float64] = pd.to_numeric(rows[after], errors="coerce").to_numpy(np.float64)
    bad = ~(np.isfinite(starts) & (starts >= 0))
    if bad.any():
        raise DataError(
            f"column {after!r} must have a time of zero or more in every row; {bad.sum()} of "
            f"{len(bad)} have none (first: {row_name(np.flatnonzero(bad)[0])}). Correct or drop "
            "these rows."
        )
    return starts
