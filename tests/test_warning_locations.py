"""Every warning of fit, predict and the scores names the file and line where the user called."""

import _thread
import threading
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from survtrace import Surv, SurvTRACE
from survtrace.baselines import CauseSpecificCox
from survtrace.evaluation import evaluate
from survtrace.explain import (
    attention_table,
    covariate_relevance,
    partial_dependence,
    permutation_importance,
)
from survtrace.metrics import (
    aalen_johansen,
    aalen_johansen_calibration,
    auc,
    auc_at,
    auc_scorer,
    bootstrap,
    brier_score,
    brier_score_at,
    brier_score_survival,
    brier_scorer,
    censoring_survival,
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
    concordance_scorer,
    d_calibration_incidence,
    integrated_brier_score,
    integrated_brier_score_survival,
    kaplan_meier,
    kaplan_meier_calibration,
    nelson_aalen,
    paired_bootstrap,
)
from survtrace.training.checkpoint import FILE

# What a user writes, each call in one line: the line that its warnings must name.
CALLS = {
    "fit": lambda est, *given, **more: est.fit(*given, **more),
    "predict": lambda est, X: est.predict(X),
    "proba": lambda est, X, *at: est.predict_proba(X, *at),
    "survival": lambda est, X, *at: est.predict_survival_function(X, *at),
    "survival as functions": lambda est, X: est.predict_survival_function(X, return_array=False),
    "survival as frame": lambda est, X, *at: est.predict_survival_function(X, *at, as_frame=True),
    "incidence": lambda est, X, *at: est.predict_cumulative_incidence(X, *at),
    "net incidence": lambda est, X, *at: est.predict_net_incidence(X, *at),
    "hazard": lambda est, X, *at: est.predict_cumulative_hazard_function(X, *at),
    "quantile": lambda est, X: est.predict_quantile(X),
    "rmst": lambda est, X, at: est.predict_rmst(X, at),
    "attention": lambda est, X: est.attention(X),
    "score": lambda est, X, y: est.score(X, y),
    "function": lambda function, *given, **more: function(*given, **more),
}
ROLES = {"event": "cause", "duration": "months"}


class World(NamedTuple):
    """What the cases are made of: a cohort, a fitted estimator, settings, an empty folder."""

    X: pd.DataFrame
    y: pd.DataFrame
    est: SurvTRACE
    settings: dict[str, Any]
    folder: Any

    def new(self, **settings):
        return SurvTRACE(**{**self.settings, **settings})

    def parquet(self, X, y=None):
        """The path of a table, with the outcome if there is one."""
        return self._written(X, y, "t.parquet", "to_parquet")

    def csv(self, X, y=None, **how):
        return self._written(X, y, "t.csv", "to_csv", **how)

    def _written(self, X, y, name, write, **how):
        table = X if y is None else X.assign(months=y["duration"], cause=y["event"])
        getattr(table, write)(self.folder / name, index=False, **how)
        return self.folder / name


# Cohorts with something to warn of, in the fit from memory and from a Parquet file alike:
# covariates and outcome, settings, what is said beside the names of columns, words of the warning.
def changed(frame, **columns):
    """The frame with the first values of some columns replaced."""
    frame = frame.copy()
    for name, values in columns.items():
        frame[name] = [*values, *frame[name].iloc[len(values) :]]
    return frame


def spelt_twice(y):
    died = np.where(np.arange(len(y)) % 2, "Died", "died")
    return y.assign(event=np.where(y["event"] > 0, died, "alive"))


def with_rare_levels(X):
    rare = [f"ward {i}" if i % 3 else "common" for i in range(len(X))]
    return X.assign(ward=pd.Categorical(rare))


def with_names(X):
    return X.assign(patient=[f"P{7341 + 13 * i}" for i in range(len(X))])


COHORTS = {
    "unknown durations": (
        lambda X, y: (X, changed(y, duration=[9999.0, 9999.0])),
        "often means that it is not known",
    ),
    "nobody censored": (lambda X, y: (X, y.assign(event=1)), "nobody is censored"),
    "no follow-up": (
        lambda X, y: (X, changed(y, event=[0], duration=[0.0])),
        "censored at duration 0",
    ),
    "a code for unknown": (
        lambda X, y: (X, y.assign(event=y["event"].replace(2, 9))),
        "such a number often means",
    ),
    "two spellings": (lambda X, y: (X, spelt_twice(y)), "differ only in case or spaces"),
    "an idle column": (lambda X, y: (X.assign(same=1.0), y), "no information of their own"),
    "an identifier": (lambda X, y: (with_names(X), y), "patient"),
    "few events": (lambda X, y: (X, changed(y, event=[3])), "fewer events than"),
    "levels of held-out rows": (lambda X, y: (with_rare_levels(X), y), "get the unseen token"),
    "an early grid": (lambda X, y: (X, y), "events lie beyond the time grid"),
}
SETTINGS = {
    "levels of held-out rows": {"n_members": 1, "columns": {"ward": {"kind": "categorical"}}},
    "an early grid": {"time_grid": [1.0, 3.0]},
}
LIVING = {"event": "status", "duration": "months", "censored": 1}


def living(w):
    return w.X.assign(months=w.y["duration"], status=(w.y["event"] == 0).astype(int))


def labelled(frame):
    return frame.set_axis([f"p{i}" for i in range(len(frame))])


# Tables that a fitted estimator warns of, and words of the warning.
TABLES = {
    "an unseen category": (lambda X: X.assign(sex="other"), "get the unseen token"),
    "a number far out": (lambda X: X.assign(age=X["age"] + 900.0), "lies outside"),
    "numbers as text": (
        lambda X: X.assign(age=["<40", *X["age"].astype(str)[1:]]),
        "holds numbers written as text",
    ),
    "a column too many": (lambda X: X.assign(colour="red"), "not seen in fit are ignored"),
}
UNSEEN = TABLES["an unseen category"][0]
ANSWERS = [
    ("predict",),
    ("proba", 2.0),
    ("survival", [2.0]),
    ("survival as functions",),
    ("survival as frame", [2.0]),
    ("incidence", [2.0]),
    ("net incidence", [2.0]),
    ("hazard", [2.0]),
    ("quantile",),
    ("rmst", 2.0),
    ("attention",),
]
LATE = [
    ("proba", 999.0),
    ("survival", [1.0, 999.0]),
    ("survival as frame", [999.0]),
    ("incidence", [999.0]),
    ("net incidence", [999.0]),
    ("hazard", [999.0]),
    ("rmst", 999.0),
]

# Outcomes that scores warn of: training follow-up ends at 4, an event after it.
TRAIN = {"event": [1, 1, 0, 1, 0], "duration": [1.0, 2.0, 3.0, 3.5, 4.0]}
TEST = {"event": [1, 1, 0, 1, 1], "duration": [1.0, 2.5, 3.5, 6.0, 7.0]}
ESTIMATE = [0.9, 0.4, 0.5, 0.3, 0.1]
CURVES = np.column_stack([ESTIMATE] * 3)
TWICE = {"event": ["Died", "died", "alive", "Died", "died"], "duration": TEST["duration"]}
AS_TEXT = {"event": TEST["event"], "duration": ["1", "2.5", "3.5", "6", "7"]}
UNSCORED = "the censoring survival is below"
NO_PAIR = "no pair of subjects can be compared"
FEW = {"event": [1, 0, 0, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
SCORES = {
    "brier_score": (brier_score, TEST, CURVES, [1.0, 2.0, 5.0]),
    "brier_score_at": (brier_score_at, TEST, ESTIMATE, 5.0),
    "integrated_brier_score": (integrated_brier_score, TEST, CURVES, [1.0, 2.0, 5.0]),
    "brier_score_survival": (brier_score_survival, TEST, CURVES, [1.0, 2.0, 5.0]),
    "integrated_brier_score_survival": (
        integrated_brier_score_survival,
        TEST,
        CURVES,
        [1.0, 2.0, 5.0],
    ),
    "auc": (auc, TEST, CURVES, [1.0, 2.0, 5.0]),
    "auc_at": (auc_at, TEST, ESTIMATE, 5.0),
    "d_calibration_incidence": (d_calibration_incidence, TEST, ESTIMATE, np.ones(5), 5.0),
    "concordance_paper": (concordance_paper, TEST, ESTIMATE),
    "concordance_cause_specific": (concordance_cause_specific, TEST, ESTIMATE),
}


def cases():
    """Name, call, a function of the world that gives its arguments, and words of the warning."""
    for name, (cohort, words) in COHORTS.items():
        new = SETTINGS.get(name, {})
        yield (
            f"fit: {name}",
            "fit",
            lambda w, cohort=cohort, new=new: (w.new(**new), *cohort(w.X, w.y)),
            words,
        )
        yield (
            f"fit by path: {name}",
            "fit",
            lambda w, cohort=cohort, new=new: (
                w.new(**new),
                w.parquet(*cohort(w.X, w.y)),
                ROLES,
            ),
            words,
        )
    usual, order = "usually means censored", "same labels in another order"
    yield "fit: a usual word", "fit", lambda w: (w.new(), living(w), LIVING), usual
    yield (
        "fit by path: a usual word",
        "fit",
        lambda w: (w.new(), w.parquet(living(w)), LIVING),
        usual,
    )
    yield (
        "fit: durations as text",
        "fit",
        lambda w: (w.new(), w.X, w.y.assign(duration=w.y["duration"].astype(str))),
        "durations are written as text",
    )
    yield (
        "fit: another order",
        "fit",
        lambda w: (w.new(), labelled(w.X), labelled(w.y)[::-1]),
        order,
    )
    yield (
        "fit: a mapping in another order",
        "fit",
        lambda w: (w.new(), labelled(w.X), dict(labelled(w.y)[::-1].items())),
        order,
    )
    yield (
        "fit: weights in another order",
        "fit",
        lambda w: (w.new(), labelled(w.X), labelled(w.y), labelled(w.y)["duration"][::-1]),
        order,
    )
    for name in ("an unseen category", "numbers as text", "a column too many"):
        change, words = TABLES[name]
        yield (
            f"fit: {name} in eval_set",
            "fit",
            lambda w, change=change: (w.new(), w.X, w.y, None, (change(w.X), w.y)),
            words,
        )
    yield "fit: interrupted", "fit", interrupted, "training was interrupted"

    for name, (change, words) in TABLES.items():
        for call, *at in ANSWERS:
            yield (
                f"{call}: {name}",
                call,
                lambda w, change=change, at=at: (w.est, change(w.X), *at),
                words,
            )
            if name != "a column too many":  # of a file, only columns that were learned are read
                yield (
                    f"{call} by path: {name}",
                    call,
                    lambda w, change=change, at=at: (w.est, w.csv(change(w.X)), *at),
                    words,
                )
    for call, *at in LATE:
        late = "times lie beyond the grid"
        yield f"{call}: a late time", call, lambda w, at=at: (w.est, w.X, *at), late
        yield (
            f"{call} by path: a late time",
            call,
            lambda w, at=at: (w.est, w.parquet(w.X), *at),
            late,
        )
    yield (
        "predict by path: an encoding found out",
        "predict",
        lambda w: (w.est, w.csv(w.X.assign(sex="männlich"), encoding="latin-1")),
        "it is not UTF-8",
    )

    for name, (change, words) in TABLES.items():
        yield (
            f"score: {name}",
            "score",
            lambda w, change=change: (w.est, change(w.X), w.y),
            words,
        )
        if name != "a column too many":
            yield (
                f"score by path: {name}",
                "score",
                lambda w, change=change: (w.est, w.parquet(change(w.X), w.y), ROLES),
                words,
            )
    yield (
        "score: another order",
        "score",
        lambda w: (w.est, labelled(w.X), labelled(w.y)[::-1]),
        order,
    )
    asked = {
        "evaluate": lambda w, X, y: (evaluate, w.est, X, y),
        "permutation_importance": lambda w, X, y: (permutation_importance, w.est, X, y),
        "brier_scorer": lambda w, X, y: (brier_scorer(), w.est, X, y),
        "auc_scorer": lambda w, X, y: (auc_scorer(2.0), w.est, X, y),
        "concordance_scorer": lambda w, X, y: (concordance_scorer(), w.est, X, y),
        "antolini scorer": lambda w, X, y: (concordance_scorer(mode="antolini"), w.est, X, y),
    }
    for name, given in asked.items():
        yield (
            f"{name}: an unseen category",
            "function",
            lambda w, given=given: given(w, UNSEEN(w.X), w.y),
            TABLES["an unseen category"][1],
        )
        if "scorer" not in name:
            yield (
                f"{name}: another order",
                "function",
                lambda w, given=given: given(w, labelled(w.X), labelled(w.y)[::-1]),
                order,
            )
    explained = {
        "attention_table": lambda w, X: (attention_table, w.est, X),
        "covariate_relevance": lambda w, X: (covariate_relevance, w.est, X),
        "partial_dependence": lambda w, X: (partial_dependence, w.est, X, "age", {"time": 2.0}),
    }
    for name, given in explained.items():
        yield (
            f"{name}: an unseen category",
            "function",
            lambda w, given=given: given(w, UNSEEN(w.X)),
            TABLES["an unseen category"][1],
        )
    yield (
        "evaluate: learned rows",
        "function",
        lambda w: (evaluate, w.est, w.X, w.y),
        "rows the model was trained on",
    )
    yield (
        "evaluate: an early horizon",
        "function",
        lambda w: (evaluate, w.est, w.X, w.y, {"horizons": [w.y["duration"].min() / 2]}),
        NO_PAIR,
    )
    yield (
        "evaluate: a late horizon",
        "function",
        lambda w: (
            evaluate,
            w.est,
            w.X,
            w.y,
            {"horizons": [3.0, w.y["duration"].max()], "y_train": TRAIN},
        ),
        UNSCORED,
    )

    for name, given in SCORES.items():
        yield (
            f"{name}: beyond the follow-up",
            "function",
            lambda w, given=given: (*given, {"y_train": TRAIN}),
            UNSCORED,
        )
        for what, y, words in (
            ("two spellings", TWICE, "differ only in case or spaces"),
            ("durations as text", AS_TEXT, "durations are written as text"),
        ):
            yield (
                f"{name}: {what}",
                "function",
                lambda w, given=given, y=y: (given[0], y, *given[2:]),
                words,
            )
    for function in (censoring_survival, kaplan_meier, nelson_aalen, aalen_johansen):
        yield (
            f"{function.__name__}: durations as text",
            "function",
            lambda w, function=function: (function, AS_TEXT),
            "durations are written as text",
        )
    for function in (concordance_paper, concordance_cause_specific):
        yield (
            f"{function.__name__}: no pair",
            "function",
            lambda w, function=function: (function, TEST, ESTIMATE, 0.5),
            NO_PAIR,
        )
    yield (
        "concordance_antolini: no pair",
        "function",
        lambda w: (concordance_antolini, {"event": [1], "duration": [1.0]}, [[0.3]], [1.0]),
        NO_PAIR,
    )
    yield (
        "concordance_antolini: early events",
        "function",
        lambda w: (concordance_antolini, TEST, CURVES, [2.0, 3.0, 4.0]),
        "events come before the first of times",
    )
    for function in (aalen_johansen_calibration, kaplan_meier_calibration):
        yield (
            f"{function.__name__}: few at risk",
            "function",
            lambda w, function=function: (
                function,
                TEST,
                CURVES,
                [1.0, 2.0, 6.5],
                {"min_at_risk": 0.5},
            ),
            "times are left out",
        )
    few = {"n_resamples": 60, "random_state": 0}
    yield (
        "bootstrap: undefined resamples",
        "function",
        lambda w: (bootstrap, concordance_paper, FEW, [4.0, 3.0, 2.0, 1.0], {**few, "cause": 1}),
        "the score is NaN in",
    )
    yield (
        "paired_bootstrap: undefined resamples",
        "function",
        lambda w: (
            paired_bootstrap,
            concordance_paper,
            FEW,
            [4.0, 3.0, 2.0, 1.0],
            [1.0, 2.0, 3.0, 4.0],
            {**few, "cause": 1},
        ),
        "the score is NaN in",
    )
    yield (
        "bootstrap: beyond the follow-up",
        "function",
        lambda w: (
            bootstrap,
            integrated_brier_score,
            TEST,
            CURVES,
            {"times": [1.0, 2.0, 5.0], "y_train": TRAIN, "n_resamples": 5, "random_state": 0},
        ),
        UNSCORED,
    )
    yield (
        "baseline: no follow-up",
        "fit",
        lambda w: (CauseSpecificCox(), *COHORTS["no follow-up"][0](w.X, w.y)),
        COHORTS["no follow-up"][1],
    )
    yield (
        "baseline: two spellings",
        "fit",
        lambda w: (CauseSpecificCox(), *COHORTS["two spellings"][0](w.X, w.y)),
        COHORTS["two spellings"][1],
    )
    yield (
        "baseline: an unseen category",
        "incidence",
        lambda w: (CauseSpecificCox().fit(w.X, w.y), UNSEEN(w.X), [2.0]),
        TABLES["an unseen category"][1],
    )
    yield (
        "Surv: a usual word",
        "function",
        lambda w: (Surv.from_arrays, [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], {"censored": 1}),
        usual,
    )


def interrupted(w):
    """A long fit, and a thread that presses Ctrl-C once there is something to keep."""
    kept = w.folder / "kept"

    def press():
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if (kept / FILE).exists():
                _thread.interrupt_main()
                return
            time.sleep(0.01)

    threading.Thread(target=press, daemon=True).start()
    return w.new(max_epochs=5000, patience=5000, checkpoint_dir=kept), w.X, w.y


PARAMS = [pytest.param(call, given, words, id=name) for name, call, given, words in cases()]


@pytest.fixture(scope="module")
def fitted(tiny, draw_cohort):
    """A cohort of two causes, and an estimator that was fitted to it."""
    X, y = draw_cohort(160, 2)
    settings = {**tiny, "max_epochs": 1, "unknown_steps": 0}
    return X, y, SurvTRACE(**settings).fit(X, y), settings


@pytest.mark.parametrize(("call", "given", "words"), PARAMS)
def test_a_warning_names_the_line_of_the_call(fitted, tmp_path, call, given, words):
    arguments, named = list(given(World(*fitted, tmp_path))), {}
    if isinstance(arguments[-1], dict) and call == "function" and len(arguments) > 2:
        named = arguments.pop()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[call](*arguments, **named)
    places = {(w.filename, w.lineno) for w in caught if words in str(w.message)}
    if not places:
        pytest.fail(f"no warning says {words!r}, but {[str(w.message) for w in caught]}")
    assert places == {(__file__, CALLS[call].__code__.co_firstlineno)}
