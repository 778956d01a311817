"""Each subject may be asked about times of its own, from a time of its own, on a late grid too."""

import copy

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, SettingError, Surv, SurvTRACE, load

N = 70  # more than two blocks of subjects


def shifted(est, by):
    """The same estimator, with a grid that begins later."""
    late = copy.copy(est)
    late.time_grid_ = est.time_grid_ + by
    late.median_event_time_ = est.median_event_time_ + by
    return late


@pytest.fixture(scope="module")
def late(fitted):
    """An estimator whose grid begins at 40, as with age as the clock."""
    return shifted(fitted, 40.0)


@pytest.fixture(name="X")
def subjects(draw_cohort):
    return draw_cohort(N, seed=3)[0]


METHODS = {
    "survival": lambda est, X, times, **how: est.predict_survival_function(X, times, **how),
    "incidence": lambda est, X, times, **how: est.predict_cumulative_incidence(X, times, **how),
    "net": lambda est, X, times, **how: est.predict_net_incidence(X, times, **how),
    "hazard": lambda est, X, times, **how: est.predict_cumulative_hazard_function(X, times, **how),
    "rmst": lambda est, X, times, **how: est.predict_rmst(X, times[..., 0], **how),
    "proba": lambda est, X, times, **how: est.predict_proba(X, times[..., 0], **how),
    "quantile": lambda est, X, times, **how: est.predict_quantile(X, [0.1, 0.3], **how),
}


def own_times(est, n_times=2, seed=0):
    """Times of each subject, on the grid of an estimator."""
    first, last = est.time_grid_[[0, -1]]
    return np.random.default_rng(seed).uniform(first, last, (N, n_times))


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_a_row_of_times_is_what_the_subject_alone_is_asked(late, X, name, conditional):
    times = own_times(late)
    starts = times.min(axis=1) - 0.5 * (times.min(axis=1) - late.time_grid_[0])
    ask = METHODS[name]
    found = ask(late, X, times, **({"conditional_after": starts} if conditional else {}))
    for subject in (0, 31, 32, N - 1):
        row, time = X.iloc[[subject]], times[subject]
        how = {"conditional_after": starts[subject]} if conditional else {}
        alone = ask(late, row, time, **how)
        np.testing.assert_allclose(found[subject], alone[0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_moving_the_origin_moves_times_and_nothing_else(fitted, late, X, name, conditional):
    times, starts = own_times(fitted), np.linspace(*fitted.time_grid_[[0, -1]], N)
    ask, here, there = METHODS[name], {}, {}
    if conditional:
        here, there = {"conditional_after": starts}, {"conditional_after": starts + 40}
    expected = ask(fitted, X, times, **here)
    found = ask(late, X, times + 40, **there)
    if name == "quantile" or (name == "rmst" and not conditional):
        expected = expected + 40
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_deviations_between_members_follow_times_of_each_subject(late, X):
    times = own_times(late)
    mean, std = late.predict_survival_function(X, times, return_std=True)
    alone, one = late.predict_survival_function(X.iloc[[40]], times[40], return_std=True)
    np.testing.assert_allclose([mean[40], std[40]], [alone[0], one[0]], rtol=1e-12)


def test_states_sum_to_one_at_times_of_each_subject(late, X):
    times, starts = own_times(late), own_times(late, 1, seed=1)[:, 0]
    survival = late.predict_survival_function(X, times, conditional_after=starts)
    incidence = late.predict_cumulative_incidence(X, times, conditional_after=starts)
    np.testing.assert_allclose(survival + incidence.sum(axis=1), 1.0, rtol=1e-14)
    before = times <= starts[:, None]
    assert (survival[before] == 1).all()


def test_kernels_change_nothing_but_rounding(late, X, without_kernels):
    times = own_times(late)
    found = late.predict_cumulative_incidence(X, times)
    with without_kernels():
        plain = late.predict_cumulative_incidence(X, times)
    np.testing.assert_allclose(found, plain, rtol=2e-6)


def test_a_start_beyond_the_grid_leaves_curves_constant(late, X):
    end = late.time_grid_[-1]
    assert (late.predict_survival_function(X, [end], conditional_after=end + 1) == 1).all()
    assert np.isinf(late.predict_quantile(X, conditional_after=end + 1)).all()
    with pytest.warns(DataWarning, match="beyond the grid"):
        assert (late.predict_survival_function(X, [end + 9], conditional_after=end + 1) == 1).all()
    with pytest.warns(DataWarning, match="beyond the grid"):
        mean = late.predict_rmst(X, end + 9, conditional_after=end + 1)
    np.testing.assert_allclose(mean, 8.0)


def test_before_the_first_cut_nobody_was_observed(late, X):
    first = late.time_grid_[0]
    with pytest.warns(DataWarning, match="1 of 2 times lie before the grid, which begins at 40"):
        survival = late.predict_survival_function(X, [first - 10, first + 1])
    assert (survival[:, 0] == 1).all()
    with pytest.warns(DataWarning, match="1 of 1 times in conditional_after lie before the grid"):
        asked = late.predict_survival_function(X, [first + 1], conditional_after=first - 10)
    np.testing.assert_allclose(asked[:, 0], survival[:, 1], rtol=1e-6)
    how = {"conditional_after": first - 10, "extrapolate": "nan"}
    assert np.isnan(late.predict_cumulative_incidence(X, [first + 1], **how)).all()
    with pytest.raises(DataError, match="nobody was observed earlier"):
        late.predict_survival_function(X, [first + 1], **{**how, "extrapolate": "raise"})


def test_blanks_of_each_subject_reach_every_cause(late, X):
    times = np.full((N, 2), late.time_grid_[1])
    times[3, 1] = 1e6
    found = late.predict_cumulative_incidence(X, times, extrapolate="nan")
    assert np.isnan(found[3, :, 1]).all()
    assert np.isnan(found).sum() == found.shape[1]


def test_functions_begin_where_the_grid_does(late, X):
    curve = late.predict_survival_function(X[:1], return_array=False)[0]
    assert curve.domain == (40.0, late.time_grid_[-1])
    assert curve.y[0] == 1
    with pytest.raises(DataError, match="a curve is known from 40 to"):
        curve(39.0)


def test_a_file_takes_times_of_each_of_its_rows(late, X, tmp_path):
    X.to_parquet(path := tmp_path / "rows.parquet")
    times, starts = own_times(late), own_times(late, 1, seed=1)[:, 0]
    found = late.predict_survival_function(path, times, conditional_after=starts)
    expected = late.predict_survival_function(X, times, conditional_after=starts)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for wrong in (times[:-1], np.vstack([times, times])):
        with pytest.raises(DataError, match="times must be flat, or a row for each subject of the"):
            late.predict_survival_function(path, wrong)


def test_rows_of_times_must_be_those_of_the_subjects(late, X):
    with pytest.raises(DataError, match=rf"a row for each of the {N} subjects; got shape \(3, 2\)"):
        late.predict_survival_function(X, own_times(late)[:3])


@pytest.mark.parametrize("how", [{"as_frame": True}, {"return_array": False}], ids=str)
def test_names_and_knots_need_times_common_to_all(late, X, how):
    with pytest.raises(SettingError, match="take times that are common to all subjects"):
        late.predict_survival_function(X, own_times(late), **how)


def test_age_as_the_clock_asks_for_the_next_years_of_each_subject(draw_cohort, tiny, tmp_path):
    """A fit by age: the grid begins at the earliest age of enrolment, also when loaded again."""
    X, y = draw_cohort(200, 2, seed=5)
    age = X["age"].to_numpy()
    by_age = Surv.from_arrays(y["event"], age + y["duration"], entry=age)
    est = SurvTRACE(**{**tiny, "mortality_weight": 0.0, "stay_weight": 0.0}).fit(X, by_age)
    assert est.time_grid_[0] == age.min()
    now = np.clip(age, None, est.time_grid_[-1] - 5)
    times = now[:, None] + [1.0, 4.0]
    survival = est.predict_survival_function(X, times, conditional_after=now)
    assert ((survival > 0) & (survival < 1)).all()
    assert (survival[:, 1] < survival[:, 0]).all()
    proba = est.predict_proba(X, times[:, 1], conditional_after=now)
    np.testing.assert_allclose(proba[:, 0], survival[:, 1], rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    left = est.predict_rmst(X, times[:, 1], conditional_after=now)
    assert ((left > 0) & (left < 4)).all()
    assert (est.predict_quantile(X, 0.05, conditional_after=now) > now).all()
    est.save(tmp_path / "est")
    again = load(tmp_path / "est").predict_survival_function(X, times, conditional_after=now)
    np.testing.assert_array_equal(again, survival)


@pytest.mark.parametrize("name", METHODS)
def test_times_with_row_labels_go_by_label_as_outcomes_do(late, X, name):
    X = X.set_axis([f"p{place}" for place in range(N)])
    times, ask = own_times(late), METHODS[name]
    starts = pd.Series(times.min(axis=1) - 0.01, index=X.index)
    expected = ask(late, X, times, conditional_after=starts.to_numpy())
    with pytest.warns(DataWarning, match="conditional_after is taken in the order of X"):
        found = ask(late, X, times, conditional_after=starts[::-1])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(DataError, match="X and conditional_after must have the same row labels"):
        ask(late, X, times, conditional_after=starts.add_prefix("other "))


def test_rows_of_times_with_labels_go_by_label(late, X):
    X = X.set_axis([f"p{place}" for place in range(N)])
    times = own_times(late)
    shown = pd.DataFrame(times, index=X.index)[::-1]
    with pytest.warns(DataWarning, match="times is taken in the order of X"):
        found = late.predict_survival_function(X, shown)
    np.testing.assert_array_equal(found, late.predict_survival_function(X, times))
    with pytest.warns(DataWarning, match="time is taken in the order of X"):
        found = late.predict_rmst(X, shown[0])
    np.testing.assert_array_equal(found, late.predict_rmst(X, times[:, 0]))
