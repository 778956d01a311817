"""Predictions from Parquet files to Parquet files, by many machines."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from survtrace.distributed.cluster import MANY, cluster, require_workers
from survtrace.distributed.spans import Workers, map_spans, spans_of
from survtrace.errors import DataError, require
from survtrace.estimator import SurvTRACE
from survtrace.files import new_folder
from survtrace.persistence import load
from survtrace.streaming import write_answers
from survtrace.tables.files.chunks import N_ROWS, as_frame
from survtrace.tables.files.formats import readable, require_columns, require_table
from survtrace.tables.files.parquet import is_parquet, parquet_chunks, parquet_schema

MODEL = ".model"


def predict_files(
    model: SurvTRACE | str | Path,
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
    n_rows: int = N_ROWS,
    n_workers: int = 2,
    cpus_per_worker: int = 1,
    use_gpu: bool = False,
) -> int:
    """Predict for every row of Parquet files on a Ray cluster.

    Columns and numbers are those of `survtrace.streaming.predict_file`. Rows keep their order, the
    files of ``out`` being in the order of their names.

    Parameters
    ----------
    model
        A fitted estimator, or the folder of a saved one.
    table
        A Parquet file or a folder of them, which all machines see.
    out
        A new folder for Parquet files, which all machines see. It appears whole at the end.
    times, keep, causes, std, after, from_after, typicality, n_rows
        As in `survtrace.streaming.predict_file`.
    n_workers, cpus_per_worker, use_gpu
        Processes that predict, the CPUs of each, and whether each gets a GPU.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> predict_files("model", "everybody/", "chances/", [12, 60], n_workers=4)  # doctest: +SKIP
    5000000
    """
    require("ray", "distributed", MANY)
    require_workers(n_workers, cpus_per_worker)
    est = model if isinstance(model, SurvTRACE) else load(model)
    more = [after] if isinstance(after, str) else []
    columns = list(dict.fromkeys([*keep, *map(str, est.feature_names_in_), *more]))
    source = _checked(table, columns)
    staff = Workers(n_workers, cpus_per_worker, gpus=1 if use_gpu else 0)
    n_cpus, n_gpus = n_workers * cpus_per_worker, n_workers * staff.gpus
    with cluster(n_cpus, n_gpus), new_folder(_require_new(Path(out))) as home:
        question: dict[str, Any] = {"times": times, "keep": [*keep], "causes": causes, "std": std}
        question |= {"after": after, "from_after": from_after, "typicality": typicality}
        spans = spans_of(source, n_rows, n_workers)
        est.save(home / MODEL)
        arguments = home, source, columns, n_rows, question
        n_answered = sum(map_spans(spans, staff, Answering, *arguments))
        shutil.rmtree(home / MODEL)
    return n_answered


class Answering:
    """A process that loads the estimator and answers for one span of rows after the other."""

    def __init__(
        self, home: Path, source: Path, columns: list[str], n_rows: int, question: dict[str, Any]
    ) -> None:
        self.est = load(home / MODEL)
        self.home, self.source, self.columns = home, source, columns
        self.n_rows, self.question = n_rows, question

    def __call__(self, span: range) -> int:
        """Write the answers of a span to a file; returns the number of rows."""
        batches = parquet_chunks(self.source, self.columns, self.n_rows, span)
        chunks = (as_frame(batch, self.question["keep"]) for batch in batches)
        out, first = self.home / f"{span.start:08d}.parquet", span.start * self.n_rows
        return write_answers(self.est, chunks, out, self.question, first=first)


def _checked(table: str | Path, columns: list[str]) -> Path:
    """Return a path that leads to Parquet files with these columns and at least one row."""
    path = require_table(table).absolute()
    if not is_parquet(path):
        raise DataError(
            f"a cluster reads a Parquet file or a folder of them; got {path.name}. Write the "
            "table as Parquet, or predict in one process."
        )
    with readable(path):
        require_columns(parquet_schema(path).names, columns)
        if not spans_of(path, N_ROWS, 1):
            raise DataError(f"{table} has no rows. Pass a table with at least one subject.")
    return path


def _require_new(path: Path) -> Path:
    """Refuse a path that is taken."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"{path} exists; it is left alone. Pass the path of a new folder.")
    return path
