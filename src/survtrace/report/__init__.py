"""Pages on a fitted estimator: collected, drawn, rendered; they open offline and print."""

from survtrace.model_card import card_facts
from survtrace.report.collected import Summary, collect
from survtrace.report.page import render, write_report
from survtrace.report.validated import ValidationSummary, collect_validation
from survtrace.report.validation_page import write_validation

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
