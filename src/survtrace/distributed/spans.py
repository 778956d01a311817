"""Share out the rows of Parquet files: each of Ray's tasks reads a span of their chunks."""

from __future__ import annotations

import logging
import pickle
import re
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from survtrace.errors import DataWarning, SurvtraceError, kind_of_warning, warn
from survtrace.tables.files.parquet import count_parquet_rows

MOST_CHUNKS = 64  # of a span
SPANS_PER_WORKER = 4  # so that a slow task does not keep the others waiting


class Workers(NamedTuple):
    """How many processes share the spans, and what each takes of the cluster."""

    n_workers: int
    cpus: int = 1
    gpus: int = 0


def spans_of(path: Path, n_rows: int, n_workers: int) -> list[range]:
    """Number chunks of ``n_rows`` rows, and cut the numbers into spans of about one length."""
    n_chunks = -(-count_parquet_rows(path) // n_rows)
    return cut(n_chunks, max(SPANS_PER_WORKER * n_workers, -(-n_chunks // MOST_CHUNKS)))


def cut(n_chunks: int, n_spans: int) -> list[range]:
    """Cut numbers into spans of about one length, none empty.

    Examples
    --------
    >>> cut(5, 2), cut(2, 9), cut(0, 3)
    ([range(0, 2), range(2, 5)], [range(0, 1), range(1, 2)], [])
    """
    ends = np.linspace(0, n_chunks, min(n_spans, n_chunks) + 1).astype(int).tolist()
    return [range(first, last) for first, last in pairwise(ends)]


def map_spans(spans: list[range], workers: Workers, work: Any, *arguments: Any) -> Iterator[Any]:
    """Do the work of each span in other processes; give the results in order.

    ``work`` is a function of a span, or a class whose objects are one; these are made, of the
    ``arguments``, once in each process. Warnings of a process are given here, each once.
    """
    if isinstance(work, type):
        answers = _by_actors(spans, workers, work, *arguments)
    else:
        answers = _by_tasks(spans, workers, work)
    warned = set[str]()
    for answer in answers:
        result, messages = pickle.loads(answer)
        for message in messages:
            kind = kind_of_warning(re.sub(r"^in \w+s [\d,]+ to [\d,]+: ", "", str(message)))
            if kind not in warned:
                warned.add(kind)
                warn(message)
        if isinstance(result, SurvtraceError):
            raise result
        yield result


def _by_tasks(spans: list[range], workers: Workers, work: Any) -> Iterator[bytes]:
    """Do a function's work in processes that Ray keeps: the next call finds all imported."""
    import ray

    task, worker = ray.remote(Worker.__call__), ray.put(Worker(work))
    task = task.options(num_cpus=workers.cpus, num_gpus=workers.gpus)
    rows = iter(_as_rows(spans))
    begun = deque(task.remote(worker, row) for row in islice(rows, 2 * workers.n_workers))
    while begun:
        yield ray.get(begun.popleft())["result"]
        begun.extend(task.remote(worker, row) for row in islice(rows, 1))


def _by_actors(spans: list[range], workers: Workers, work: Any, *arguments: Any) -> Iterator[bytes]:
    """Do the work of a class in processes of its own, which end with it."""
    from ray.data import ActorPoolStrategy, from_items

    with _in_order():
        rows = from_items(_as_rows(spans), override_num_blocks=len(spans)).map(
            Worker,
            fn_constructor_args=(work, *arguments),
            compute=ActorPoolStrategy(size=min(workers.n_workers, len(spans))),
            num_cpus=workers.cpus,
            num_gpus=workers.gpus,
        )
        for row in rows.iter_rows():
            yield row["result"]


def _as_rows(spans: list[range]) -> list[dict[str, int]]:
    """Return each span as a row of Ray's."""
    return [{"first": span.start, "last": span.stop} for span in spans]


class Worker:
    """Do the work of one span after the other; hand on warnings and errors of this package."""

    def __init__(self, work: Any, *arguments: Any) -> None:
        self.work = work(*arguments) if isinstance(work, type) else work

    def __call__(self, row: dict[str, Any]) -> dict[str, bytes]:
        """Take a row of Ray's, which says which span it is."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            try:
                result = self.work(range(row["first"], row["last"]))
            except SurvtraceError as error:
                result = error
        messages = [each.message for each in caught if each.category is DataWarning]
        return {"result": pickle.dumps((result, messages))}


@contextmanager
def _in_order() -> Iterator[None]:
    """Let Ray Data keep the order of rows, and say little; afterwards it is as it was."""
    from ray.data import DataContext

    context, logger = DataContext.get_current(), logging.getLogger("ray.data")
    options = context.execution_options
    before = options.preserve_order, context.enable_progress_bars, logger.level
    options.preserve_order, context.enable_progress_bars = True, False
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        options.preserve_order, context.enable_progress_bars = before[:2]
        logger.setLevel(before[2])
