"""Counts of requests for /metrics, in the text form of Prometheus; nothing about a patient."""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROUTES = (
    *("/", "/page", "/health", "/ready", "/metrics", "/openapi.json", "/schema", "/importance"),
    *("/predict", "/attention", "/score", "other"),
)
# Every status that is ever answered with; any other is counted as 500.
STATUSES = (200, 206, 304, 400, 401, 404, 405, 408, 413, 415, 416, 422, 429, 500, 503)
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds
GAUGES = ("connections", "waiting", "memory")


class Metrics:
    """Numbers of all worker processes, in memory that they share; each writes a row of its own."""

    def __init__(self, n_workers: int = 1) -> None:
        self.places = {
            (route, status): place
            for place, (route, status) in enumerate((r, s) for r in ROUTES for s in STATUSES)
        }
        n_counts = len(self.places)
        self.times = n_counts  # for each route: its buckets, those beyond them, and the sum
        self.subjects = self.times + len(ROUTES) * (len(BUCKETS) + 2)
        self.gauges = self.subjects + 1
        shape = (n_workers, self.gauges + len(GAUGES))
        self.memory = mmap.mmap(-1, 8 * shape[0] * shape[1])
        self.numbers = np.frombuffer(self.memory, dtype=np.float64).reshape(shape)
        self.own = self.numbers[0]

    def use_row(self, worker: int) -> None:
        """Choose the row of this process, and empty what one before it left in its gauges."""
        self.own = self.numbers[worker]
        self.own[self.gauges :] = 0.0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        status = status if (route, status) in self.places else 500
        self.own[self.places[route, status]] += 1
        first = self.times + ROUTES.index(route) * (len(BUCKETS) + 2)
        self.own[first + bisect_left(BUCKETS, seconds)] += 1
        self.own[first + len(BUCKETS) + 1] += seconds

    def count_subjects(self, n: int) -> None:
        """Count the subjects of an answer."""
        self.own[self.subjects] += n

    def set_gauges(self, connections: int, waiting: int) -> None:
        """Note how many connections are open and how many questions wait, and the memory."""
        self.own[self.gauges :] = (connections, waiting, resident_bytes())

    def text(self) -> str:
        """Write the sums over all processes.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.count("/health", 200, 0.0002)
        >>> print(metrics.text().splitlines()[2])
        survtrace_requests_total{route="/health",status="200"} 1
        """
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        total = self.numbers.sum(axis=0)
        yield "# HELP survtrace_requests_total Requests answered."
        yield "# TYPE survtrace_requests_total counter"
        for (route, status), place in self.places.items():
            if total[place]:
                labels = f'route="{route}",status="{status}"'
                yield f"survtrace_requests_total{{{labels}}} {total[place]:.0f}"
        yield "# HELP survtrace_request_seconds Seconds from a request's head to its answer."
        yield "# TYPE survtrace_request_seconds histogram"
        for k, route in enumerate(ROUTES):
            first = self.times + k * (len(BUCKETS) + 2)
            counts = total[first : first + len(BUCKETS) + 1].cumsum()
            if counts[-1]:
                for limit, n in zip((*BUCKETS, "+Inf"), counts, strict=True):
                    label = f'route="{route}",le="{limit}"'
                    yield f"survtrace_request_seconds_bucket{{{label}}} {n:.0f}"
                seconds = total[first + len(BUCKETS) + 1]
                yield f'survtrace_request_seconds_sum{{route="{route}"}} {seconds:.6f}'
                yield f'survtrace_request_seconds_count{{route="{route}"}} {counts[-1]:.0f}'
        yield "# HELP survtrace_subjects_total Subjects answered for."
        yield "# TYPE survtrace_subjects_total counter"
        yield f"survtrace_subjects_total {total[self.subjects]:.0f}"
        yield "# HELP survtrace_workers Processes that answer."
        yield "# TYPE survtrace_workers gauge"
        yield f"survtrace_workers {len(self.numbers)}"
        helps = ("Connections that are open.", "Questions that wait.", "Bytes in main memory.")
        names = ("connections", "waiting", "resident_memory_bytes")
        for name, words, value in zip(names, helps, total[self.gauges :], strict=True):
            yield f"# HELP survtrace_{name} {words}"
            yield f"# TYPE survtrace_{name} gauge"
            yield f"survtrace_{name} {value:.0f}"


def route_of(path: str) -> str:
    """Name the route of a path; paths of others, which may hold anything, are "other".

    Examples
    --------
    >>> route_of("/page/app.js"), route_of("/predict"), route_of("/patients/Smith")
    ('/page', '/predict', 'other')
    """
    if path.startswith("/page/"):
        return "/page"
    return path if path in ROUTES else "other"


def resident_bytes() -> int:
    """Return the main memory of this process; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
