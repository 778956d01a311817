"""What each column of a raw table is, what will be done with it, and why."""

from survtrace.inspection.clean import clean_subjects
from survtrace.inspection.dictionary import Entry, read_dictionary
from survtrace.inspection.finding import Finding
from survtrace.inspection.plan import Plan, plan_columns

__all__ = ["Entry", "Finding", "Plan", "clean_subjects", "plan_columns", "read_dictionary"]
