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
    times, incidence, deviation
        Predicted incidence of each cause and its standard deviation between members (NaN where
        there is one member), shapes (time,), (cause, time) and (cause, time).
    interval
        Low and high ends of the 95 % interval of the incidence; None where the model has none.
    """

    name: str
    risk: float
    entry: float
    covariates: pd.DataFrame
    times: Floats
    incidence: Floats
    deviation: Floats
    interval: tuple[Floats, Floats] | None


@dataclass(frozen=True, eq=False)
class Patients:
    """The three, and what the shares of their covariates refer to.

    Attributes
    ----------
    each
        The subjects, rising in risk.
    time
        The median event time of the training rows; at a landmark, the middle horizon, from it.
    cause, base
        The cause whose incidence by then the shares explain, and its mean over subjects drawn for
        comparison; None where shap is not installed.
    """

    each: tuple[Patient, ...]
    time: float
    cause: Any
    base: float | None

    @property
    def have_intervals(self) -> bool:
        """Whether bands are intervals of the incidence, else deviations between members."""
        return all(patient.interval is not None for patient in self.each)


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
    incidence, deviation = est.predict_cumulative_incidence(
        chosen, times - origin, return_std=True, **known
    )
    ends = _interval(est, chosen, times, known)
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
            deviation[i],
            None if ends is None else (ends[0][i], ends[1][i]),
        )
        for i, name in enumerate(PLACES)
    )
    return Patients(patients, time, None if base is None else cause, base)


def _interval(
    est: Any, chosen: pd.DataFrame, times: Floats, known: dict[str, Any]
) -> tuple[Floats, Floats] | None:
    if isinstance(est, AtLandmark):
        est, known = est.est, {"conditional_after": est.landmark}
    if getattr(est, "interval_", None) is None:
        return None
    low, high = est.predict_interval(chosen, times, **known)
    return low, high


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
