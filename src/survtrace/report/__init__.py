"""Pages on a fitted estimator: collected, drawn, rendered; they open offline and print."""

from survtrace.errors import require

for package in ("jinja2", "matplotlib"):  # before the modules below import them
    require(package, "report", "a report needs")

from survtrace.model_card import card_facts  # noqa: E402
from survtrace.report.collected import Summary, collect  # noqa: E402
from survtrace.report.page import render, write_report  # noqa: E402
from survtrace.report.validated import ValidationSummary, collect_validation  # noqa: E402
from survtrace.report.validation_page import write_validation  # noqa: E402

__all__ = [
    "Summary",
    "ValidationSummary",
    "card_facts",
    "collect",
    "collect_validation",
    "render",
    "write_report",
    "write_validation",
]
