"""One page on a fitted estimator: collected, drawn, rendered; it opens offline and prints."""

from survtrace.report.collected import Summary, collect
from survtrace.report.page import render, write_report

__all__ = ["Summary", "collect", "render", "write_report"]
