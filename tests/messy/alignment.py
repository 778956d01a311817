"""Covariates and outcome in two frames whose row labels do not match by position."""

import numpy as np
import pandas as pd

from messy.table import QUESTION, RIGHT, WARNED, messy

PYTHON = ("python",)


def _two_frames(cohort, labels=None):
    index = pd.Index([f"p{i:03d}" for i in range(cohort.n)] if labels is None else labels)
    y = pd.DataFrame({"event": cohort.event, "duration": cohort.duration}, index=index)
    return cohort.X.set_axis(index), y


@messy("alignment: the same labels in another order", WARNED, QUESTION)
def another_order(cohort):
    X, y = _two_frames(cohort)
    y = y.iloc[cohort.rng.permutation(cohort.n)]
    return cohort.of(X, y=y, ways=PYTHON, says=("order|label|index|align",))


@messy("alignment: whole numbers as labels in another order", WARNED, QUESTION)
def shuffled(cohort):
    X, y = _two_frames(cohort, range(cohort.n))
    return cohort.of(
        X, y=y.sample(frac=1, random_state=1), ways=PYTHON, says=("order|label|index|align",)
    )


@messy("alignment: no label in common", QUESTION)
def disjoint(cohort):
    X, y = _two_frames(cohort)
    y.index = [f"q{i:03d}" for i in range(cohort.n)]
    return cohort.of(X, y=y, ways=PYTHON, says=("label|index",))


@messy("alignment: most labels in common", QUESTION)
def overlapping(cohort):
    X, y = _two_frames(cohort, range(cohort.n))
    y.index = range(5, cohort.n + 5)
    return cohort.of(X, y=y, ways=PYTHON, says=("label|index",))


@messy("alignment: repeated labels in the same order", RIGHT)
def repeated(cohort):
    X, y = _two_frames(cohort, np.repeat(np.arange(cohort.n // 2), 2))
    return cohort.of(X, y=y, ways=PYTHON)


@messy("alignment: repeated labels in another order", QUESTION)
def repeated_in_another_order(cohort):
    X, y = _two_frames(cohort, np.repeat(np.arange(cohort.n // 2), 2))
    return cohort.of(
        X, y=y.iloc[cohort.rng.permutation(cohort.n)], ways=PYTHON, says=("label|index",)
    )
