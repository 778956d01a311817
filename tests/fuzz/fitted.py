"""Small fitted estimators to ask, fitted once: one cause and two, numbers and categories."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd

from messy.judge import TINY
from messy.table import Cohort
from survtrace import SurvTRACE

SETTINGS = {**TINY, "n_members": 2, "unknown_steps": 0}
FORMS = ("two causes", "one cause", "text causes", "late entry", "an array")


@cache
def fitted(form: str) -> tuple[SurvTRACE, pd.DataFrame, pd.DataFrame]:
    """Fit one of `FORMS`; also give the table and the outcome it was fitted on."""
    cohort = Cohort(0, 120)
    X = cohort.X
    y = pd.DataFrame({"event": cohort.event, "duration": cohort.duration})
    if form == "one cause":
        y = y.assign(event=cohort.one_event)
    elif form == "text causes":
        y = y.assign(event=cohort.words("alive", "relapse", "death"))
    elif form == "late entry":
        y = y.assign(entry=10.0, duration=y["duration"] + 10.0)
    elif form == "an array":
        X = X[["age", "creatinine", "nodes"]].set_axis(["x0", "x1", "x2"], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = X.to_numpy(dtype=np.float64) if form == "an array" else X
        return SurvTRACE(**SETTINGS).fit(given, y), X, y
