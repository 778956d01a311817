"""Arguments of methods and functions: ``python tests/fuzz/arguments.py --count 1000 --seed 0``."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pandas as pd
import polars as pl
import torch

from fuzz.case import Case, curves_hold, is_finite, is_known
from fuzz.fitted import FORMS, fitted
from fuzz.run import main
from fuzz.values import CELLS, Thing, pick
from survtrace import Surv, landmark, load, portable, to_start_stop
from survtrace.conformal import SurvivalLowerBound
from survtrace.datasets import make_cohort
from survtrace.evaluation import evaluate, validate
from survtrace.explain import (
    attention_rollout,
    attention_table,
    attributions,
    covariate_relevance,
    partial_dependence,
    permutation_importance,
)

Rng = np.random.Generator
N = 120

ARRAYS: dict[str, Any] = {
    "empty list": [],
    "empty array": np.array([]),
    "a row each": np.full((N, 2), 20.0),
    "a row too few": np.full((N - 1, 2), 20.0),
    "one each": np.full(N, 20.0),
    "one too few": np.full(N - 1, 20.0),
    "3-D": np.zeros((2, 2, 2)),
    "ragged": [[1.0], [1.0, 2.0]],
    "decreasing": [30.0, 20.0, 10.0],
    "repeated": [20.0, 20.0],
    "negative": [-1.0, 2.0],
    "NaN": [np.nan, 12.0],
    "inf": [12.0, np.inf],
    "1e300": [12.0, 1e300],
    "5e-324": [5e-324, 12.0],
    "zero": 0,
    "minus zero": -0.0,
    "texts": ["12", "24"],
    "words": ["a", "b"],
    "mixed": [12, "a", None],
    "booleans": [True, False],
    "dates": pd.date_range("2020", periods=3),
    "timedeltas": pd.to_timedelta([1, 2], unit="D"),
    "complex": [1 + 1j],
    "complex without imaginary part": [12 + 0j],
    "masked": np.ma.masked_array([12.0, 24.0], mask=[False, True]),
    "tensor": torch.tensor([12.0, 24.0]),
    "tensor grad": torch.tensor([12.0, 24.0], requires_grad=True),
    "tensor bfloat16": torch.tensor([12.0, 24.0]).bfloat16(),
    "tensor meta": torch.zeros(3, device="meta"),
    "polars": pl.Series([12.0, 24.0]),
    "polars null": pl.Series([12.0, None]),
    "nullable": pd.array([12, None], dtype="Int64"),
    "series of other labels": pd.Series(np.full(N, 20.0), index=np.arange(N)[::-1] + 500),
    "series of text": pd.Series(["a"] * N),
    "frame": pd.DataFrame({"a": np.full(N, 20.0)}),
    "dict": {"a": 1.0},
    "set": {12.0, 24.0},
    "range": range(10, 13),
    "generator": (x for x in (12.0,)),
    "huge integers": [10**400],
    "integers": [12, 24],
    "object array": np.array([12, 24.0], dtype=object),
    "object": Thing(),
    "structured": np.zeros(3, dtype=[("a", float)]),
    "text": "twelve",
    "bytes": b"12",
    "None": None,
    "half": 0.5,
    "one": 1,
    "two": 2,
    "true": True,
    "false": False,
    "level 1.0": 1.0,
    "level 0.95": 0.95,
    "tiny": 1e-12,
    "nearly one": 1 - 1e-12,
    "cause 1": 1,
    "cause '1'": "1",
    "cause 1.0": 1.0,
    "cause 0": 0,
    "cause 99": 99,
    "cause relapse": "relapse",
    "column": "age",
    "columns": ["age", "sex"],
    "column twice": ["age", "age"],
    "no column": ["no such"],
    "incidence": "incidence",
    "survival": "survival",
    "raise": "raise",
    "auto": "auto",
    "seed": 7,
    "generator of numpy": np.random.default_rng(0),
    "RandomState": np.random.RandomState(0),
    "len": len,
}

Method = tuple[Callable[..., Any], tuple[str, ...]]


def _ask(name: str) -> Callable[..., Any]:
    return lambda est, X, y, **how: getattr(est, name)(X, **how)


CURVE = ("times", "conditional_after", "extrapolate", "return_std", "return_array", "as_frame")
METHODS: dict[str, Method] = {
    "predict_survival_function": (_ask("predict_survival_function"), CURVE),
    "predict_cumulative_incidence": (_ask("predict_cumulative_incidence"), (*CURVE, "cause")),
    "predict_net_incidence": (
        _ask("predict_net_incidence"),
        ("times", "cause", "conditional_after", "extrapolate", "return_std", "as_frame"),
    ),
    "predict_cumulative_hazard_function": (
        _ask("predict_cumulative_hazard_function"),
        ("times", "cause", "conditional_after", "extrapolate", "return_array", "as_frame"),
    ),
    "predict_proba": (_ask("predict_proba"), ("time", "conditional_after", "as_frame")),
    "predict_quantile": (_ask("predict_quantile"), ("q", "conditional_after")),
    "predict_rmst": (
        lambda est, X, y, time=20.0, **how: est.predict_rmst(X, time, **how),
        ("time", "conditional_after", "extrapolate", "return_std"),
    ),
    "predict_interval": (
        _ask("predict_interval"),
        ("times", "cause", "kind", "level", "conditional_after", "extrapolate", "as_frame"),
    ),
    "typicality": (_ask("typicality"), ("reasons",)),
    "score": (lambda est, X, y, outcome=None, **how: est.score(X, outcome), ("outcome",)),
    "update": (
        lambda est, X, y, **how: _copied(est).update(X, y, **{"how": "level", **how}),
        ("how", "n_folds", "random_state"),
    ),
    "evaluate": (
        lambda est, X, y, **how: evaluate(
            est, X, how.pop("outcome", y), **{"n_resamples": 3, **how}
        ),
        ("outcome", "horizons", "landmarks", "y_train", "n_resamples", "random_state"),
    ),
    "validate": (
        lambda est, X, y, **how: validate(est, X, y, **{"horizons": 20.0, **how}),
        ("horizons", "by", "centre", "thresholds", "landmark", "cuts"),
    ),
    "permutation_importance": (
        lambda est, X, y, **how: permutation_importance(
            est, X[:40], y[:40], **{"n_repeats": 2, **how}
        ),
        ("landmark", "n_repeats", "random_state", "level"),
    ),
    "partial_dependence": (
        lambda est, X, y, covariate="age", **how: partial_dependence(
            est, X[:20], covariate, **{"time": 20.0, **how}
        ),
        ("covariate", "time", "cause", "conditional_after", "values", "level"),
    ),
    "attributions": (
        lambda est, X, y, **how: attributions(
            est, X[:3], **{"time": 20.0, "n_permutations": 2, "background": 5, **how}
        ),
        ("time", "cause", "conditional_after", "background", "n_permutations", "random_state"),
    ),
    "attention_table": (
        lambda est, X, y, **how: attention_table(est, X[:20], **how),
        ("rolled_up",),
    ),
    "attention_rollout": (
        lambda est, X, y, **how: attention_rollout(how.get("weights", est.attention(X[:3]))),
        ("weights",),
    ),
    "covariate_relevance": (
        lambda est, X, y, **how: covariate_relevance(est, X[:20], **how),
        ("level",),
    ),
    "Surv.from_arrays": (
        lambda est, X, y, **how: Surv.from_arrays(
            **{"event": y["event"], "duration": y["duration"], **how}
        ),
        ("event", "duration", "censored", "entry", "id"),
    ),
    "landmark": (
        lambda est, X, y, **how: landmark(
            pd.concat([X, y], axis=1).assign(id=range(N), entry=y.get("entry", 0.0)),
            **{"at": [12.0], **how},
        ),
        ("at", "event", "duration", "entry", "id", "censored"),
    ),
    "to_start_stop": (
        lambda est, X, y, **how: to_start_stop(
            **{
                "visits": X.assign(id=range(N), time=0.0),
                "outcomes": y.assign(id=range(N)),
                **how,
            }
        ),
        ("visits", "outcomes", "id", "time", "entry", "event", "duration", "censored", "after_end"),
    ),
    "make_cohort": (
        lambda est, X, y, **how: make_cohort(**{"n_subjects": 50, **how}),
        (
            *("n_subjects", "n_causes", "proportions", "random_state", "missing", "linear"),
            *("continuous", "follow_up", "late_entry"),
        ),
    ),
    "lower bound": (
        lambda est, X, y, **how: SurvivalLowerBound(est, **how).fit(X, y).predict(X[:3]),
        ("level", "cause", "censoring"),
    ),
    "load": (lambda est, X, y, **how: _in_new_folder(load, how["path"]), ("path",)),
    "portable load": (
        lambda est, X, y, **how: _in_new_folder(portable.load, how["path"]),
        ("path",),
    ),
    "save": (lambda est, X, y, **how: _in_new_folder(est.save, how["path"]), ("path",)),
}


def _in_new_folder(act: Callable[[Any], Any], path: Any) -> Any:
    """Call with a path that may be relative, where nothing else lies."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return act(path)


def _copied(est: Any) -> Any:
    from copy import deepcopy

    return deepcopy(est)


def _outcome_is_finite(answer: Any) -> str:
    """Check the outcome of a made table; its covariates may be missing."""
    frames = answer if isinstance(answer, tuple) else (answer,)
    columns = [frame[name] for frame in frames for name in OUTCOME if name in frame]
    return is_finite(columns) if columns else "no outcome"


def _values_are_finite(answer: Any) -> str:
    """Check all but the values that were asked about, of which a missing one is NaN."""
    return is_finite(answer.drop(columns="value"))


def _unknown_is_noted(answer: Any) -> str:
    """Check that each score of a validation is known, or that its note says why not."""
    for frame in (answer.scores, answer.groups):
        rows = frame[frame["note"] == ""] if len(frame) else frame
        if len(rows) and (broken := is_finite(rows["value"].astype(float))):
            return broken
    return ""


# Numbers that may be infinite or NaN as their docstrings say: a quantile beyond the grid, scores
# of groups that are too small, each with a note, and the covariates of a made table.
OUTCOME = ("duration", "entry", "stop", "start")
CHECKS: dict[str, Callable[[Any], str]] = {
    "predict_quantile": is_known,
    "lower bound": is_known,
    "evaluate": lambda answer: is_finite(answer[["value", "low", "high"]].astype(float)),
    "validate": _unknown_is_noted,
    "update": lambda est: curves_hold(est, fitted("two causes")[1][:5], [12.0, 20.0]),
    "make_cohort": _outcome_is_finite,
    "landmark": _outcome_is_finite,
    "to_start_stop": _outcome_is_finite,
    "partial_dependence": _values_are_finite,
    "load": lambda answer: "",
    "portable load": lambda answer: "",
    "save": lambda answer: "",
}


def make(rng: Rng) -> Case:
    """Draw a method, and give one of its arguments an odd value; sometimes two."""
    form, method = pick(rng, FORMS[:-1]), pick(rng, METHODS)
    est, X, y = fitted(form)
    ask, names = METHODS[method]
    values = {**ARRAYS, **CELLS}
    how, said = {}, []
    for name in rng.choice(names, size=min(len(names), 1 + (rng.random() < 0.2)), replace=False):
        value = pick(rng, values)
        how[str(name)] = values[value]
        said.append(f"{name}={value}")
    for name in ("n_subjects", "n_permutations", "n_repeats", "n_folds", "n_causes"):
        if isinstance(how.get(name), int) and how[name] > 100:
            how[name] = 3
    check = CHECKS.get(method, is_finite)
    if "extrapolate=text nan" in said:  # which asks for NaN
        check = lambda answer: ""  # noqa: E731
    name = f"{method}({', '.join(said)}), {form}"
    return Case(name, lambda: ask(est, X, y, **how), check, unknown_if_said=True)


if __name__ == "__main__":
    main("arguments", make)
