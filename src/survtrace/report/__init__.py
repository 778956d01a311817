"""One page on a fitted estimator: collected, drawn, rendered; it opens offline and prints."""

from survtrace.report.page import render, write_report
from survtrace.report.summary import Summary, collect

__all__ = ["Summary", "collect", "render", "write_report"]
