"""The digest of subjects changes with all that matters to what is learned from them."""

import numpy as np
import pandas as pd
import pytest

from survtrace import Surv
from survtrace.tables.content_digest import content_digest

X = pd.DataFrame({"age": [50.0, 60.0, np.nan], "sex": ["f", "m", "f"]})
Y = pd.DataFrame({"event": [0, 1, 2], "duration": [3.0, 4.0, 5.0]})


def test_the_same_subjects_have_the_same_digest():
    assert content_digest(X.copy(), Y.copy(), 3) == content_digest(X, Y, 3)
    assert content_digest(X, Surv.from_arrays(**Y)) == content_digest(X, Y)
    assert content_digest(X, Y).isalnum()


@pytest.mark.parametrize(
    "other",
    [
        (X.assign(age=[50.0, 61.0, np.nan]), Y),
        (X.assign(age=[50.0, 60.0, 0.0]), Y),
        (X.rename(columns={"age": "years"}), Y),
        (X[["sex", "age"]], Y),
        (X[::-1].reset_index(drop=True), Y[::-1].reset_index(drop=True)),
        (X.assign(sex=["f", "m", "\ud800"]), Y),
        (X, Y.assign(event=[0, 2, 1])),
        (X, Y.assign(event=["censored", "a", "b"])),
        (X, Y.assign(duration=[3.0, 4.0, 5.5])),
        (X, Y.assign(entry=[0.0, 1.0, 0.0])),
        (X, Y.assign(event=[0, 0, 2], entry=[0.0, 0.0, 4.0], id=["a", "b", "b"])),
        (X, Y, 3),
    ],
    ids=["value", "missing", "name", "columns' order", "rows' order", "half a letter", "event",
         "labels", "duration", "entry", "id", "settings"],
)  # fmt: skip
def test_anything_else_has_another(other):
    assert content_digest(*other) != content_digest(X, Y)
