"""Scores on bad outcomes and predictions: ``python tests/fuzz/scores.py --count 1000 --seed 0``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pandas as pd
import torch

from fuzz.arguments import ARRAYS
from fuzz.case import Case, is_finite, is_same
from fuzz.run import main
from fuzz.values import CELLS, cell_in, pick
from survtrace import metrics

Rng = np.random.Generator
N = 60
TIMES = np.array([5.0, 10.0, 20.0])

# How a score is called: which of its arguments are y, curves, one number each, times.
CALLS: dict[str, Callable[..., Any]] = {
    "auc": lambda p: metrics.auc(p["y"], p["curves"], p["times"], cause=p["cause"]),
    "auc_at": lambda p: metrics.auc_at(p["y"], p["column"], p["time"], cause=p["cause"]),
    "brier_score": lambda p: metrics.brier_score(
        p["y"], p["curves"], p["times"], cause=p["cause"], y_train=p["y_train"]
    ),
    "brier_score_at": lambda p: metrics.brier_score_at(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "integrated_brier_score": lambda p: metrics.integrated_brier_score(
        p["y"], p["curves"], p["times"], cause=p["cause"], y_train=p["y_train"]
    ),
    "brier_score_survival": lambda p: metrics.brier_score_survival(p["y"], p["curves"], p["times"]),
    "integrated_brier_score_survival": lambda p: metrics.integrated_brier_score_survival(
        p["y"], p["curves"], p["times"]
    ),
    "scaled_brier_score": lambda p: metrics.scaled_brier_score(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "calibration_curve": lambda p: metrics.calibration_curve(
        p["y"], p["column"], p["time"], cause=p["cause"], groups=p["number"]
    ),
    "mean_incidence": lambda p: metrics.mean_incidence(p["y"], p["column"], p["time"]),
    "aalen_johansen_calibration": lambda p: metrics.aalen_johansen_calibration(
        p["y"], p["curves"], p["times"], cause=p["cause"], min_at_risk=p["share"]
    ),
    "kaplan_meier_calibration": lambda p: metrics.kaplan_meier_calibration(
        p["y"], p["curves"], p["times"], min_at_risk=p["share"]
    ),
    "calibration_errors": lambda p: metrics.calibration_errors(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "calibration_intercept_slope": lambda p: metrics.calibration_intercept_slope(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "smooth_calibration_curve": lambda p: metrics.smooth_calibration_curve(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "censoring_survival": lambda p: metrics.censoring_survival(p["y"], floor=p["share"]),
    "centre_spread": lambda p: metrics.centre_spread(p["values"], p["errors"], level=p["level"]),
    "difference_test": lambda p: metrics.difference_test(p["values"], p["errors"]),
    "corrected_t_test": lambda p: metrics.corrected_t_test(p["values"], p["share"], p["level"]),
    "bootstrap": lambda p: metrics.bootstrap(
        metrics.concordance_paper,
        p["y"],
        p["column"],
        n_resamples=p["number"],
        level=p["level"],
        cause=p["cause"],
        random_state=p["seed"],
    ),
    "concordance_paper": lambda p: metrics.concordance_paper(
        p["y"], p["column"], p["time"], cause=p["cause"], y_train=p["y_train"]
    ),
    "concordance_cause_specific": lambda p: metrics.concordance_cause_specific(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "concordance_antolini": lambda p: metrics.concordance_antolini(
        p["y"], p["curves"], p["times"], cause=p["cause"]
    ),
    "d_calibration": lambda p: metrics.d_calibration(p["y"], p["column"], bins=p["number"]),
    "d_calibration_incidence": lambda p: metrics.d_calibration_incidence(
        p["y"], p["low"], p["column"], p["time"], cause=p["cause"], bins=p["number"]
    ),
    "net_benefit": lambda p: metrics.net_benefit(
        p["y"], p["column"], p["time"], p["thresholds"], cause=p["cause"]
    ),
    "net_benefit_difference": lambda p: metrics.net_benefit_difference(
        p["y"], p["column"], p["low"], p["time"], p["thresholds"], cause=p["cause"]
    ),
    "kaplan_meier": lambda p: metrics.kaplan_meier(p["y"]).at(p["times"]),
    "nelson_aalen": lambda p: metrics.nelson_aalen(p["y"], p["cause"]).at(p["times"]),
    "aalen_johansen": lambda p: metrics.aalen_johansen(p["y"], p["cause"]).at(p["times"]),
    "observed_expected_ratio": lambda p: metrics.observed_expected_ratio(
        p["y"], p["column"], p["time"], cause=p["cause"]
    ),
    "pseudo_values": lambda p: metrics.pseudo_values(p["y"], p["time"], cause=p["cause"]),
}
# The same values in another form, which changes no score.
SAME_OUTCOMES = ("y: tensors", "y: other labels")
SAME_PREDICTIONS = ("objects", "tensor", "text")
PREDICTIONS = ("curves", "column", "low", "values", "errors")


class _Read(dict[str, Any]):
    """Parts that remember which were asked for."""

    def __init__(self, parts: dict[str, Any]) -> None:
        super().__init__(parts)
        self.read = list[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.append(name)
        return super().__getitem__(name)


@cache
def parts_used(score: str) -> tuple[str, ...]:
    """Name the parts that a score is given: to spoil others would try nothing."""
    parts = _Read(parts_of(np.random.default_rng(0)))
    with warnings.catch_warnings(action="ignore"):
        CALLS[score](parts)
    return tuple(dict.fromkeys(parts.read))


def parts_of(rng: Rng) -> dict[str, Any]:
    """Draw an outcome and predictions that any score takes."""
    duration = rng.exponential(15.0, N).round(1) + 0.1
    y = pd.DataFrame({"event": rng.integers(0, 3, N), "duration": duration})
    curves = np.sort(rng.uniform(0.05, 0.95, (N, len(TIMES))), axis=1)
    return {
        "y": y,
        "y_train": None,
        "curves": curves,
        "column": curves[:, 1],
        "low": curves[:, 0] * 0.5,
        "times": TIMES,
        "time": 10.0,
        "cause": 1,
        "number": 4,
        "share": 0.1,
        "level": 0.95,
        "thresholds": [0.1, 0.3],
        "values": rng.normal(size=6),
        "errors": rng.uniform(0.1, 0.3, 6),
        "seed": 0,
    }


def with_outcome(parts: dict[str, Any], rng: Rng) -> str:
    """Spoil the outcome: all of one kind, ties, huge times, one subject, odd cells."""
    y = parts["y"]
    forms: dict[str, Callable[[], Any]] = {
        "all censored": lambda: y.assign(event=0),
        "nobody censored": lambda: y.assign(event=1),
        "one event": lambda: y.assign(event=(np.arange(N) == 3).astype(int)),
        "all at one time": lambda: y.assign(duration=10.0),
        "huge times": lambda: y.assign(duration=y["duration"] * 1e18),
        "times of 1e300": lambda: y.assign(duration=y["duration"] * 1e300),
        "tiny times": lambda: y.assign(duration=y["duration"] * 1e-18),
        "negative": lambda: y.assign(duration=-y["duration"]),
        "slightly negative": lambda: y.assign(duration=y["duration"].where(y.index > 0, -1e-7)),
        "one row": lambda: y[:1],
        "no rows": lambda: y[:0],
        "other length": lambda: y[:-1],
        "other labels": lambda: y.set_axis(np.arange(N) + 100),
        "text": lambda: y.assign(event=np.where(y["event"] > 0, "dead", "alive")),
        "with entry": lambda: y.assign(entry=y["duration"] / 2),
        "entry after": lambda: y.assign(entry=y["duration"] * 2),
        "start-stop": lambda: y.assign(entry=y["duration"] / 2, id=np.arange(N) // 2),
        "None": lambda: None,
        "an array": lambda: y.to_numpy(),
        "a dict of scalars": lambda: {"event": 1, "duration": 2.0},
        "columns twice": lambda: pd.concat([y, y], axis=1),
        "tensors": lambda: {
            "event": torch.tensor(y["event"].to_numpy()),
            "duration": torch.tensor(y["duration"].to_numpy(), requires_grad=True),
        },
    }
    name = pick(rng, [*forms, "cell"])
    if name != "cell":
        parts["y"] = forms[name]()
        return f"y: {name}"
    column, value = pick(rng, ("event", "duration")), pick(rng, CELLS)
    parts["y"] = y.assign(**{column: cell_in(y[column], rng, CELLS[value])})
    return f"y: {value} in {column}"


def with_prediction(parts: dict[str, Any], name: str, rng: Rng) -> str:
    """Spoil predictions: out of range, missing, of another shape, all the same."""
    good = parts[name]
    some = good.copy()
    some.flat[0] = pick(rng, (np.nan, np.inf, -np.inf, -0.1, 1.1, 1 + 1e-4, -1e-5, 1e300))
    forms: dict[str, Any] = {
        f"one of {some.flat[0]:g}": some,
        "all 0": good * 0,
        "all 1": good * 0 + 1,
        "all 0.5": good * 0 + 0.5,
        "transposed": good.T,
        "one row less": good[:-1],
        "one axis more": good[..., None],
        "flat": good.ravel(),
        "decreasing": good[..., ::-1],
        "text": good.astype(str),
        "objects": good.astype(object),
        "float16": good.astype(np.float16),
        "complex": good + 1j,
        "masked": np.ma.masked_greater(good, 0.9),
        "frame": pd.DataFrame(good),
        "other labels": pd.DataFrame(good, index=np.arange(len(good)) + 7),
        "tensor": torch.tensor(good, requires_grad=True),
        "empty": good[:0],
        "None": None,
        "a number": 0.5,
        "tiny": good * 1e-300,
        "0 and 1": (good > 0.5).astype(float),
    }
    form = pick(rng, forms)
    parts[name] = forms[form]
    return f"{name}: {form}"


def with_argument(parts: dict[str, Any], name: str, rng: Rng) -> str:
    """Give one of the other arguments an odd value."""
    values = {**ARRAYS, **CELLS}
    value = pick(rng, values)
    parts[name] = values[value]
    if name == "number" and isinstance(parts[name], int) and parts[name] > 100:
        parts[name] = 100
    return f"{name}={value}"


def make(rng: Rng) -> Case:
    """Draw a score, and spoil what it is given."""
    score, parts = pick(rng, CALLS), parts_of(rng)
    usual = dict(parts)
    changed = pick(rng, parts_used(score))
    if changed == "y":
        name = with_outcome(parts, rng)
    elif changed in PREDICTIONS:
        name = with_prediction(parts, changed, rng)
    else:
        name = with_argument(parts, changed, rng)
    is_form = name in SAME_OUTCOMES or name.endswith(tuple(f": {f}" for f in SAME_PREDICTIONS))

    def check(answer: Any) -> str:
        if is_form and (broken := is_same(answer, CALLS[score](usual))):
            return broken
        return "" if _has_no_value(score, parts, answer) else is_finite(answer)

    return Case(f"{score}: {name}", lambda: CALLS[score](parts), check, unknown_if_said=True)


def _has_no_value(score: str, parts: dict[str, Any], answer: Any) -> bool:
    """Tell whether a docstring promises NaN, or infinity, as there is nothing to score."""
    if score == "centre_spread":
        return bool(answer.n_centres < 2)
    if score == "difference_test":
        return bool(answer[0] < 2)
    if score == "d_calibration_incidence":  # events that the prediction rules out
        return bool(answer.statistic == np.inf and answer.p_value == 0)
    if score != "auc":
        return False
    y = metrics.inputs.read_outcome(parts["y"])
    number = metrics.inputs.pick_cause(y, parts["cause"])
    pairs = []
    for time in np.atleast_1d(np.asarray(parts["times"], dtype=float)):
        case = (y.event == number) & (y.duration <= time)
        control = (y.duration > time) | ((y.event > 0) & (y.event != number))
        pairs.append(case.any() and control.any())
    return bool((np.isfinite(answer) | ~np.array(pairs)).all())


if __name__ == "__main__":
    main("scores", make, fits=False)
