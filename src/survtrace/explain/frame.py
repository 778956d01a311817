"""What an explanation may be given: a fitted estimator, a table, and one of its causes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from survtrace.errors import DataError
from survtrace.rules import find_cause
from survtrace.tables.covariates.covariates import open_table


def require_fitted(est: Any) -> None:
    """Refuse an estimator that knows no causes yet."""
    if not hasattr(est, "causes_"):
        raise NotFittedError(f"This {type(est).__name__} has no causes_ yet. Call fit first.")


def read_frame(est: Any, X: Any) -> pd.DataFrame:
    """Read X as a pandas frame with the columns the estimator knows, in its order."""
    require_fitted(est)
    table = open_table(X)
    whole = table.to_native()
    if not isinstance(whole, pd.DataFrame):
        whole = pd.DataFrame(table.to_dict(as_series=False))
    names = list(getattr(est, "feature_names_in_", whole.columns))
    missing = [name for name in names if name not in whole]
    if missing:
        raise DataError(
            f"X must have the {len(names)} columns seen in fit; missing: {missing}. Add or rename "
            "them."
        )
    return whole[names]


def read_cause(est: Any, cause: Any) -> Any:
    """Return a label of the estimator's causes; None stands for the only one there is."""
    if cause is None and len(est.causes_) == 1:
        return est.causes_[0]
    find_cause(cause, est.causes_)
    return cause


def incidence_by(
    est: Any, X: pd.DataFrame, time: float, cause: Any, after: float | None
) -> NDArray[np.float64]:
    """Predict incidence by a time, (subject,) or (subject, cause), perhaps from a start on."""
    start = {} if after is None else {"conditional_after": after}  # others do not know the word
    found: NDArray[np.float64] = est.predict_cumulative_incidence(X, [time], cause, **start)
    return found[..., 0]
