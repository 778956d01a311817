"""Columns of a text file, spelled as the encoding has met them."""

from __future__ import annotations

import pandas as pd

from survtrace.tables.covariates.encoding import Categories, Encoding

TRUTHS = {"true": "True", "false": "False"}


def levels_of(encoding: Encoding) -> dict[str, frozenset[str]]:
    """The levels of each categorical covariate."""
    return {
        covariate.name: frozenset(column.levels)
        for covariate, column in zip(encoding.covariates, encoding.columns, strict=True)
        if isinstance(column, Categories)
    }


def text_columns(encoding: Encoding) -> list[str]:
    """Covariates to be read from a text file in their spelling: levels, and decimal commas."""
    commas = [each.name for each in encoding.covariates if each.decimal != "."]
    return [*levels_of(encoding), *commas]


def as_learned(encoding: Encoding, X: pd.DataFrame) -> pd.DataFrame:
    """Levels that were read as text in the spelling that the encoding has met.

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
            columns[name] = X[name].replace({text: _spelling(text) for text in unknown})
    return X.assign(**columns)


def _spelling(text: str) -> str:
    """A text as it would be spelled had its whole column been read as numbers or truths."""
    try:
        number = float(text)
    except ValueError:
        return TRUTHS.get(text.lower(), text)
    return str(int(number)) if number.is_integer() else str(number)
