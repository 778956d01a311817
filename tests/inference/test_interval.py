"""Intervals of a subject enclose its curves, are curves themselves, and know when to refuse."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from survtrace import SettingError, SurvTRACE, load
from survtrace.inference.interval import IntervalScale
from survtrace.tables.table import Table

TIMES = np.linspace(0.0, 20.0, 41)


@pytest.fixture(scope="module", params=["one_cause", "three_causes"])
def learned(request, tiny):
    """An estimator that has learned its intervals, and the table."""
    X, y = request.getfixturevalue(request.param)
    return SurvTRACE(**{**tiny, "intervals": True}).fit(X, y), X


def within(est):
    return TIMES[est.time_grid_[-1] >= TIMES]


def test_the_prediction_lies_inside_and_both_ends_are_curves(learned):
    est, X = learned
    times = within(est)
    incidence = est.predict_cumulative_incidence(X, times)
    low, high = est.predict_interval(X, times)
    assert low.shape == high.shape == incidence.shape
    assert (low >= 0).all()
    assert (low <= incidence).all()
    assert (high <= 1).all()
    assert (incidence <= high).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert (low[..., 0] == 0).all()
    assert (high[..., 0] == 0).all()
    assert (high[..., -1] > low[..., -1] + 0.01).all()


def test_a_higher_level_is_wider(learned):
    est, X = learned
    ends = [est.predict_interval(X, [5.0, 10.0], level=level) for level in (0.5, 0.8, 0.95, 0.99)]
    for (low, high), (lower, higher) in pairwise(ends):
        assert (lower < low).all()
        assert (high < higher).all()


def test_an_interval_does_not_depend_on_what_else_is_asked(learned):
    est, X = learned
    times = within(est)
    low, high = est.predict_interval(X, times)
    some = est.predict_interval(X[3:4], times[[7, 2]])
    np.testing.assert_array_equal(some[0], low[3:4][..., [7, 2]])
    np.testing.assert_array_equal(some[1], high[3:4][..., [7, 2]])
    rows = np.tile(times, (len(X), 1))
    np.testing.assert_array_equal(est.predict_interval(X, rows)[1], high)


def test_survival_has_the_interval_of_any_cause(learned):
    est, X = learned
    times = within(est)
    low, high = est.predict_interval(X, times)
    alive = est.predict_interval(X, times, kind="survival")
    survival = est.predict_survival_function(X, times)
    assert (alive[0] <= survival).all()
    assert (survival <= alive[1]).all()
    if len(est.causes_) == 1:
        np.testing.assert_allclose(alive[0], 1 - high[:, 0], atol=1e-12)
        np.testing.assert_allclose(alive[1], 1 - low[:, 0], atol=1e-12)
    # Any cause has struck at least as often as each of them.
    assert (1 - alive[1] >= low.max(axis=1) - 1e-12).all()
    assert (1 - alive[0] >= high.max(axis=1) - 1e-12).all()


def test_a_cause_is_picked_by_its_label(learned):
    est, X = learned
    low, high = est.predict_interval(X, [5.0])
    one = est.predict_interval(X, [5.0], est.causes_[-1])
    np.testing.assert_array_equal(one[0], low[:, -1])
    np.testing.assert_array_equal(one[1], high[:, -1])


def test_of_those_event_free_at_a_time_it_begins_there(learned):
    est, X = learned
    times, after = within(est), np.linspace(0.5, 6.0, len(X))
    incidence = est.predict_cumulative_incidence(X, times, conditional_after=after)
    low, high = est.predict_interval(X, times, conditional_after=after)
    assert (low <= incidence + 1e-12).all()
    assert (incidence <= high + 1e-12).all()
    assert (np.diff(low) >= -1e-12).all()
    assert (np.diff(high) >= -1e-12).all()
    before = np.broadcast_to((times <= after[:, None])[:, None], low.shape)
    assert (high[before] == 0).all()
    assert (high[..., -1] > 0).all()


def test_beyond_the_grid_it_is_blank_if_asked(learned):
    est, X = learned
    low, high = est.predict_interval(X, [5.0, 1e3], extrapolate="nan")
    for end in (low, high):
        assert np.isfinite(end[..., 0]).all()
        assert np.isnan(end[..., 1]).all()


def test_frames_have_the_names_of_the_curve(learned):
    est, X = learned
    X = X.set_index(pd.Index([f"p{i}" for i in range(len(X))]))
    low, high = est.predict_interval(X, [5, 10], est.causes_[0], as_frame=True)
    assert list(low) == list(high) == ["incidence_1_5", "incidence_1_10"]
    assert list(low.index) == list(X.index)


def test_a_path_has_the_same_answers(learned, tmp_path):
    est, X = learned
    path: Table = tmp_path / "table.parquet"
    X.to_parquet(path)
    in_memory, in_chunks = est.predict_interval(X, [5.0]), est.predict_interval(path, [5.0])
    np.testing.assert_array_equal(in_memory, in_chunks)


def test_a_level_next_to_1_has_an_interval(learned):
    est, X = learned
    ends = [est.predict_interval(X, [5.0], level=level) for level in (0.999, np.nextafter(1, 0))]
    (low, high), (lowest, highest) = ends
    assert (lowest <= low).all()
    assert (high <= highest).all()
    assert (highest <= 1).all()


def test_no_interval_is_wider_than_one_of_a_higher_level():
    scale = IntervalScale([[0.1]], [1.0], [0.5, 0.95, 0.99], [[0.7, 1.9, 1.9]])
    levels = np.linspace(0.01, 0.999, 200)
    assert (np.diff([scale.deviations(level)[0] for level in levels]) >= 0).all()
    assert scale.deviations(0.95)[0] == pytest.approx(1.9)


def test_a_saved_estimator_answers_the_same(learned, tmp_path):
    est, X = learned
    est.save(tmp_path / "est")
    again = load(tmp_path / "est")
    assert again.interval_ == est.interval_
    np.testing.assert_array_equal(again.predict_interval(X), est.predict_interval(X))


def test_without_what_a_fit_learns_it_refuses(fitted, cohort, tmp_path):
    assert fitted.interval_ is None
    fitted.save(tmp_path / "est")
    assert load(tmp_path / "est").interval_ is None
    with pytest.raises(SettingError, match=r"a fit with intervals=True learns.*Fit it again"):
        fitted.predict_interval(cohort[0], [5.0])


@pytest.mark.parametrize("level", [0, 1, 95, "wide", None, np.nan])
def test_a_level_is_a_share(learned, level):
    est, X = learned
    with pytest.raises(SettingError, match="level must be a number above 0 and below 1"):
        est.predict_interval(X, [5.0], level=level)


def test_what_is_no_curve_with_an_interval_is_refused(learned):
    est, X = learned
    with pytest.raises(SettingError, match="kind must be one of 'incidence', 'survival'; got"):
        est.predict_interval(X, [5.0], kind="hazard")
    with pytest.raises(SettingError, match="survival' is the probability of no event of any cause"):
        est.predict_interval(X, [5.0], est.causes_[0], kind="survival")


def test_ends_never_fall_even_where_the_scale_would_make_them():
    scale = IntervalScale([[0.1, 2.0]] * 2, [0.0] * 2, [0.5, 0.95], [[0.7, 2.0]] * 2)
    incidence = np.array([[[0.0, 0.30, 0.31]] * 2])
    low, high = scale.bounds(incidence, np.zeros_like(incidence), level=0.95)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert low[0, 1, 2] == low[0, 1, 1]
