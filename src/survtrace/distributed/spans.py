"""The rows of Parquet files shared out: each of Ray's tasks reads its own span of them."""

from __future__ import annotations

import logging
import pickle
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from survtrace.errors import DataWarning, SurvtraceError, kind_of_warning, warn
from survtrace.tables.files.parquet import count_parquet_rows

MOST_PIECES = 64  # of a span
SPANS_PER_WORKER = 4  # so that a slow task does not keep the others waiting


class Workers(NamedTuple):
    """How many processes share the spans, and what each takes of the cluster."""

    n_workers: int
    cpus: int = 1
    gpus: int = 0

    @property
    def in_all(self) -> tuple[int, int]:
        """CPUs and GPUs of all processes together."""
        return self.n_workers * self.cpus, self.n_workers * self.gpus


def spans_of(path: Path, n_rows: int, n_workers: int) -> list[range]:
    """Consecutive pieces of ``n_rows`` rows, by number, in spans of about one length."""
    n_pieces = -(-count_parquet_rows(path) // n_rows)
    return cut(n_pieces, max(SPANS_PER_WORKER * n_workers, -(-n_pieces // MOST_PIECES)))


def cut(n_pieces: int, n_spans: int) -> list[range]:
    """Numbers in spans of about one length, none empty.

    Examples
    --------
    >>> cut(5, 2), cut(2, 9), cut(0, 3)
    ([range(0, 2), range(2, 5)], [range(0, 1), range(1, 2)], [])
    """
    ends = np.linspace(0, n_pieces, min(n_spans, n_pieces) + 1).astype(int).tolist()
    return [range(first, last) for first, last in pairwise(ends)]


def map_spans(spans: list[range], staff: Workers, work: Any, *told: Any) -> Iterator[Any]:
    """What is said of each span, in order.

    ``work`` is a function of a span, or a class whose objects are one; these are made, with what
    is ``told``, once in each process. What a process warns of is warned of here, each thing once.
    """
    from ray.data import ActorPoolStrategy, from_items

    items = [{"first": span.start, "last": span.stop} for span in spans]
    with _in_order():
        rows = from_items(items, override_num_blocks=len(items)).map(
            Worker,
            fn_constructor_args=(work, *told),
            compute=ActorPoolStrategy(size=min(staff.n_workers, len(spans))),
            num_cpus=staff.cpus,
            num_gpus=staff.gpus,
        )
        warned = set[str]()
        for row in rows.iter_rows():
            result, remarks = pickle.loads(row["result"])
            _warn_once(remarks, warned)
            if isinstance(result, SurvtraceError):
                raise result
            yield result


class Worker:
    """Does the work of one span after the other; errors of ours and warnings are handed on."""

    def __init__(self, work: Any, *told: Any) -> None:
        self.work = work(*told) if isinstance(work, type) else work

    def __call__(self, row: dict[str, Any]) -> dict[str, bytes]:
        """Take a row of Ray's, which says which span it is."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            try:
                result = self.work(range(row["first"], row["last"]))
            except SurvtraceError as error:
                result = error
        remarks = [each.message for each in caught if each.category is DataWarning]
        return {"result": pickle.dumps((result, remarks))}


def _warn_once(remarks: list[Warning], warned: set[str]) -> None:
    for remark in remarks:
        kind = kind_of_warning(re.sub(r"^in \w+s [\d,]+ to [\d,]+: ", "", str(remark)))
        if kind not in warned:
            warned.add(kind)
            warn(remark)


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
