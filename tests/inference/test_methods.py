"""The methods ask a predictor and know no network: one without torch can have them, too."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SettingError
from survtrace.inference.methods import CurveMethods


class Constant:
    """A predictor of the same probabilities for everybody, which keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def curve(self, X, kind, points, **how):
        self.asked.append((kind, list(points), how))
        axes = 2 if kind == "survival" or how.get("cause") is not None else 3
        shape = (len(X), 2, len(points)) if axes == 3 else (len(X), len(points))
        return np.full(shape, 0.25), np.full(shape, 0.1) if how.get("with_std") else None


class Portable(CurveMethods):
    causes_, time_grid_, median_event_time_ = ["heart", "other"], np.array([0.0, 9.0]), 4.0

    def __init__(self):
        self.predictor = Constant()

    def _predictor(self):
        return self.predictor


X = pd.DataFrame({"age": [61, 47]}, index=["ann", "bob"])


def test_they_import_no_torch():
    code = "import sys, survtrace.inference.certainty_methods; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_predictor_is_all_they_need():
    est = Portable()
    frame = est.predict_cumulative_incidence(X, [2, 3], "other", return_std=True, as_frame=True)
    assert list(frame)[:2] == ["incidence_other_2", "incidence_other_2_std"]
    assert list(frame.index) == ["ann", "bob"]
    assert est.predictor.asked == [
        ("incidence", [2.0, 3.0], {"cause": 1, "after": None, "with_std": True})
    ]
    np.testing.assert_array_equal(est.predict(X), [0.75, 0.75])
    assert est.predictor.asked[-1][:2] == ("survival", [4.0])


def test_times_beyond_the_grid_are_blank_in_means_and_deviations():
    found = Portable().predict_survival_function(X, [2, 10], extrapolate="nan", return_std=True)
    for values, known in zip(found, (0.25, 0.1), strict=True):
        np.testing.assert_array_equal(values, [[known, np.nan]] * 2)


def test_functions_have_no_deviations():
    with pytest.raises(SettingError, match="without deviations"):
        Portable().predict_survival_function(X, return_array=False, return_std=True)


def test_a_mean_up_to_no_end_is_refused(fitted_one, one_cause):
    with pytest.raises(DataError, match="time must be finite for a mean up to it; got inf"):
        fitted_one.predict_rmst(one_cause[0], np.inf)
