"""Three subjects to show: of low, middle and high predicted risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.explain import attributions
from survtrace.report.at_landmark import AtLandmark
from survtrace.tables.outcome.outcome import Outcome

Floats = NDArray[np.float64]
PLACES = {"low": 0.1, "middle": 0.5, "high": 0.9}
BACKGROUND, ORDERS = 50, 3


@dataclass(frozen=True, eq=False)
class Patient:
    """A subject without name, row number or outcome.

    Attributes
    ----------
    name, risk
        Which of the three, and the predicted incidence of any cause by `Patients.time`.
    entry
        When its row begins: it is event-free until then, and its curves begin there.
    covariates
        Columns ``covariate``, ``value`` (None if missing) and, where the library shap is there,
        ``share``: what the covariate adds to the predicted incidence of one cause.
    times, incidence, low, high
        Predicted incidence of each cause and the ends of its band, shapes (time,) and three times
        (cause, time). The band is the 95 % interval; where the estimator knows none, two standard
        deviations between members to each side, which are NaN where there is one member.
    """

    name: str
    risk: float
    entry: float
    covariates: pd.DataFrame
    times: Floats
    incidence: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Patients:
    """The three, and what the shares of their covariates refer to.

    Attributes
    ----------
    each
        The subjects, rising in risk.
    time
        The median event time of the training rows; at a landmark, the middle horizon, from it.
    has_intervals
        Whether bands are intervals.
    cause, base
        The cause whose incidence by then the shares explain, and its mean over subjects drawn for
        comparison; None where shap is not installed.
    """

    each: tuple[Patient, ...]
    time: float
    cause: Any
    base: float | None
    has_intervals: bool = False


def choose_patients(
    est: Any,
    X: pd.DataFrame,
    outcome: Outcome,
    cause: Any,
    random_state: int,
    time: float,
) -> Patients:
    """Choose the subjects at the 10, 50 and 90 % quantiles of predicted risk by a time.

    ``est`` is an estimator, or one that is asked `AtLandmark`.
    """
    risk = 1 - est.predict_survival_function(X, [time])[:, 0]
    order = np.argsort(risk, kind="stable")
    rows = [order[int(place * len(order))] for place in PLACES.values()]
    chosen, (start, end) = X.iloc[rows], est.time_grid_[[0, -1]]
    origin = est.landmark if isinstance(est, AtLandmark) else 0.0
    entry, known = np.full(len(rows), max(start, origin)), {}
    if outcome.entry is not None:
        entry = np.clip(outcome.entry[rows], start, 0.99 * end + 0.01 * start)
        known = {"conditional_after": entry}
    times = np.linspace(entry, end, 100, axis=1)
    has_intervals = getattr(est, "interval_", None) is not None
    incidence, low, high = _bands(est, has_intervals, chosen, times - origin, known)
    shares, base = _shares(est, X, chosen, cause, random_state, time)
    tables = [_covariates(chosen.iloc[i], shares, i) for i in range(len(rows))]
    patients = tuple(
        Patient(
            name,
            float(risk[rows[i]]),
            float(entry[i]),
            tables[i],
            times[i],
            incidence[i],
            low[i],
            high[i],
        )
        for i, name in enumerate(PLACES)
    )
    return Patients(patients, time, None if base is None else cause, base, has_intervals)


def _bands(
    est: Any, has_intervals: bool, X: pd.DataFrame, times: Floats, known: dict[str, Any]
) -> tuple[Floats, Floats, Floats]:
    """Predict incidences, and the ends of their bands."""
    incidence, deviation = est.predict_cumulative_incidence(X, times, return_std=True, **known)
    if has_intervals:
        return (incidence, *est.predict_interval(X, times, **known))
    low, high = (np.clip(incidence + side * deviation, 0, 1) for side in (-2, 2))
    return incidence, low, high


def _shares(
    est: Any,
    X: pd.DataFrame,
    chosen: pd.DataFrame,
    cause: Any,
    random_state: int,
    time: float,
) -> tuple[Floats | None, float | None]:
    others = X.sample(min(BACKGROUND, len(X)), random_state=random_state)
    try:
        table = attributions(
            est,
            chosen,
            time=time,
            cause=cause,
            background=others,
            n_permutations=ORDERS,
            random_state=random_state,
        )
    except ImportError:
        return None, None
    return table.to_numpy(), float(table.attrs["base"])


def _covariates(values: pd.Series, shares: Floats | None, row: int) -> pd.DataFrame:
    present = pd.Series([None if pd.isna(value) else value for value in values], dtype=object)
    table = pd.DataFrame({"covariate": list(values.index), "value": present})
    return table if shares is None else table.assign(share=shares[row])
