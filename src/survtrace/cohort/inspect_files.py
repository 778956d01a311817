"""Inspect a cohort in Parquet files by its first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from survtrace.cohort.source import CohortFiles
from survtrace.errors import DataError
from survtrace.inspection.dictionary import read_dictionary
from survtrace.inspection.plan import Plan, plan_columns
from survtrace.tables.covariates.encoding import Categories, Encoding


def plan_files(
    files: CohortFiles,
    zero_duration: str,
    *,
    causes: Sequence[Any] | None = None,
    categorical: Sequence[str | int] | None = None,
    columns: Any = None,
) -> Plan:
    """What will be done with each column of a cohort in files, by its first block of rows."""
    files.covariate_names()
    for block in files.blocks(causes=causes, zero_duration=zero_duration, span=range(1)):
        table = block.table if len(block.kept) == len(block.table) else block.table[block.kept]
        return plan_columns(table, block.outcome, categorical=categorical, columns=columns)
    return plan_columns(
        nw.from_native(files.empty_table()), categorical=categorical, columns=columns
    )


def require_levels(encoding: Encoding, columns: Any) -> None:
    """Refuse levels, found in any row, that the data dictionary does not have."""
    entries = read_dictionary(columns)
    for covariate, column in zip(encoding.covariates, encoding.columns, strict=True):
        known = entries[covariate.name].levels if covariate.name in entries else ()
        if known and isinstance(column, Categories):
            unknown = [level for level in column.levels if level not in known]
            if unknown:
                raise DataError(
                    f"column {covariate.name!r} has the levels {unknown[:5]}, which the data "
                    "dictionary does not have. Correct them, or add them to its levels."
                )
