"""How predicted incidence moves with one covariate."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from survtrace.errors import DataError, UnlikePatientsWarning, short
from survtrace.explain.frame import incidence_by, read_cause, read_frame
from survtrace.metrics.inputs import checked_level
from survtrace.tables.covariates.cells import require_plain_cells

GRID = 20


def partial_dependence(
    est: Any,
    X: Any,
    covariate: str,
    *,
    time: float,
    cause: Any = None,
    conditional_after: float | None = None,
    values: Sequence[Any] | None = None,
    level: float = 0.5,
) -> pd.DataFrame:
    """Predict the mean incidence if every subject had the same value of one covariate.

    It describes the estimator, not what would happen if the covariate were changed.

    Parameters
    ----------
    est
        A fitted estimator.
    X
        Subjects to average over; their other covariates stay as they are. Of start-stop rows each
        counts as it stands: pass the rows of a landmark, by `survtrace.landmark`.
    covariate
        Name of its column.
    time
        By which the incidence is asked, counted from the same origin as duration.
    cause
        Label of a cause; by default every cause.
    conditional_after
        A time at which everybody is known to be event-free: the incidence is then that from it on.
    values
        To give to everybody; by default the values that occur (of a numerical covariate with more
        than twenty, twenty between its 2.5 and 97.5 % quantiles), and NaN if some are missing.
    level
        Share of the subjects between ``low`` and ``high``; by default their middle half.

    Returns
    -------
    DataFrame
        Columns ``cause``, ``value`` (NaN is missing), ``incidence`` (mean over subjects), ``low``
        and ``high`` (between which the central subjects lie: how much the other covariates
        matter at this value, not how sure the mean is).

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
    >>> partial_dependence(est, X, "sex", time=12, cause=1)["value"].tolist()
    ['female', 'male']
    """
    outside = (1 - checked_level(level)) / 2
    frame = read_frame(est, X)
    if not isinstance(covariate, str) or covariate not in frame:
        raise DataError(f"covariate must be one of {list(frame)}; got {short(covariate)}.")
    causes = est.causes_ if cause is None else [read_cause(est, cause)]
    grid = _occurring(frame[covariate]) if values is None else _asked(values)
    alike = (frame.assign(**{covariate: value}) for value in grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnlikePatientsWarning)  # nobody has to have these values
        incidence = np.stack(
            [incidence_by(est, all_, time, None, conditional_after) for all_ in alike]
        )
    low, high = np.quantile(incidence, [outside, 1 - outside], axis=1)
    mean = incidence.mean(axis=1)
    columns = {"incidence": mean, "low": low, "high": high}
    of_cause = {label: list(est.causes_).index(label) for label in causes}
    tables = [
        pd.DataFrame({"cause": label, "value": grid, **{n: c[:, k] for n, c in columns.items()}})
        for label, k in of_cause.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _asked(values: Any) -> list[Any]:
    """Return the values to give to everybody, one each."""
    flat = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    with suppress(ValueError):  # numpy knows none of lists of different length, refused as cells
        flat = flat and np.ndim(values) != 0
    grid = list(values) if flat else []
    require_plain_cells(grid, "values")
    if not grid:
        raise DataError(
            f"values must be a list of values of the covariate; got {short(values)}. Leave it out "
            "for those that occur."
        )
    return grid


def _occurring(column: pd.Series) -> list[Any]:
    """Return the values of a column worth asking about, NaN last if some are missing."""
    present = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = [level for level in column.cat.categories if (present == level).any()]
    elif pd.api.types.is_numeric_dtype(column) and present.nunique() > GRID:
        shares = np.linspace(0.025, 0.975, GRID)
        values = list(np.unique(np.quantile(present, shares, method="nearest")))
    else:
        values = list(pd.factorize(present, sort=True)[1])
    return [*values, np.nan] if column.isna().any() else values
