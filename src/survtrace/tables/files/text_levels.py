"""Read columns of a text file with the levels that the encoding has learned."""

from __future__ import annotations

import pandas as pd

from survtrace.tables.covariates.encoding import Categories, Encoding

BOOLEANS = {"true": "True", "false": "False"}


def levels_of(encoding: Encoding) -> dict[str, frozenset[str]]:
    """Return the levels of each categorical covariate."""
    return {
        covariate.name: frozenset(column.levels)
        for covariate, column in zip(encoding.covariates, encoding.columns, strict=True)
        if isinstance(column, Categories)
    }


def text_columns(encoding: Encoding) -> list[str]:
    """Name the covariates to be read from a text file as texts: levels, and decimal commas."""
    commas = [each.name for each in encoding.covariates if each.decimal != "."]
    return [*levels_of(encoding), *commas]


def as_learned(encoding: Encoding, X: pd.DataFrame) -> pd.DataFrame:
    """Replace levels that were read as texts by the texts that the encoding has learned.

    Numbers in text are left for the encoding to read.

    Examples
    --------
    >>> encoding = Encoding.from_dict({"grade": {"levels": ["1", "2"]}})
    >>> X = pd.DataFrame({"grade": ["2.0", "x"]}, dtype="string")
    >>> as_learned(encoding, X)["grade"].tolist()
    ['2', 'x']
    """
    levels = levels_of(encoding)
    columns = {}
    for name in X.columns[[isinstance(dtype, pd.StringDtype) for dtype in X.dtypes]]:
        if name in levels:
            unknown = set(X[name].dropna().unique()) - levels[name]
            columns[name] = X[name].replace({text: _as_converted(text) for text in unknown})
    return X.assign(**columns)


def _as_converted(text: str) -> str:
    """Write a text as it would be had its whole column been read as numbers or booleans."""
    try:
        number = float(text)
    except ValueError:
        return BOOLEANS.get(text.lower(), text)
    return str(int(number)) if number.is_integer() else str(number)
