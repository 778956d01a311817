"""A cohort whose treatment jumps follows the law it reports, at the start and at landmarks."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm

from survtrace.datasets import ChangingTruth, Truth, make_changing_cohort
from survtrace.errors import DataError, SettingError
from survtrace.tables.outcome.outcome import read_outcome


@pytest.fixture(scope="module", params=[np.inf, 24.0], ids=["goes on", "ends at 24"])
def large(request):
    return make_changing_cohort(60_000, last_start=request.param, random_state=3, return_truth=True)


def rows_of_subjects(y):
    return y.groupby("id", sort=True)


def test_rows_of_a_subject_touch_and_begin_at_0(large):
    _, y, truth = large
    rows = rows_of_subjects(y)
    assert rows.ngroups == len(truth)
    assert (rows["entry"].first() == 0).all()
    assert (y["entry"] < y["duration"]).all()
    later = y["id"] == y["id"].shift()
    assert (y["entry"][later] == y["duration"].shift()[later]).all()


def test_its_outcome_passes_the_door_with_entry_and_subjects(large):
    _, y, truth = large
    outcome = read_outcome(y)
    assert outcome.causes == (1, 2)
    assert outcome.is_start_stop
    assert len(np.unique(outcome.id)) == len(truth)


def test_only_the_last_row_of_a_subject_ends_in_an_event(large):
    _, y, _ = large
    goes_on = y["id"] == y["id"].shift(-1)
    assert (y["event"][goes_on] == 0).all()
    assert sorted(y["event"].unique()) == [0, 1, 2]


def test_treatment_is_what_it_was_during_the_row(large):
    X, y, truth = large
    start = truth.start[y["id"]]
    treated = X["treatment"] == "yes"
    assert (start[treated] <= y["entry"][treated]).all()
    assert (start[~treated] >= y["duration"][~treated]).all()
    later = y["id"] == y["id"].shift()
    assert treated[later].all()
    rest = X.drop(columns="treatment")
    pd.testing.assert_frame_equal(
        rest[later].reset_index(drop=True), rest.shift(-1)[later.shift(-1, fill_value=False)]
        .astype(rest.dtypes).reset_index(drop=True),
    )  # fmt: skip


def test_no_treatment_starts_after_the_last_start():
    _, _, truth = make_changing_cohort(5_000, last_start=24.0, return_truth=True)
    begun = np.isfinite(truth.start)
    assert truth.start[begun].max() <= 24
    assert 0.15 < (truth.start == 0).mean() < 0.25
    assert 0.3 < begun.mean() < 0.7


@pytest.mark.parametrize("at", [0.0, 12.0, 36.0])
@pytest.mark.parametrize("treated", [False, True])
def test_events_after_a_landmark_come_as_often_as_the_truth_says(large, at, treated):
    _, _, truth = large
    group = truth.take((truth.duration > at) & ((truth.start <= at) == treated))
    times = at + np.array([6.0, 24.0, 60.0])
    expected = group.incidence(times, at=at)
    for k in range(2):
        ended = (group.event == k + 1)[:, None] & (group.duration[:, None] <= times)
        spread = np.sqrt((expected[:, k] * (1 - expected[:, k])).sum(axis=0))
        assert np.all(np.abs((ended - expected[:, k]).sum(axis=0)) < 4 * spread)


def test_both_truths_agree_once_no_treatment_starts_any_more():
    _, _, truth = make_changing_cohort(300, last_start=24.0, return_truth=True)
    times = [24.0, 30.0, 90.0]
    np.testing.assert_allclose(
        truth.incidence(times, at=24.0), truth.incidence(times, at=24.0, stays=True), atol=1e-14
    )
    assert np.abs(truth.incidence(times) - truth.incidence(times, stays=True)).max() > 0.02


def test_the_truth_of_who_stays_is_that_of_a_cohort_without_changes():
    _, _, truth = make_changing_cohort(100, return_truth=True)
    times = np.array([0.0, 3.0, 40.0, 110.0])
    rates = truth.rates[(truth.start == 0).astype(int), np.arange(100)]
    constant = Truth(truth.cuts, rates, truth.event, truth.duration)
    curves = truth.incidence(times, stays=True)
    np.testing.assert_allclose(curves, constant.incidence(times), atol=1e-12)
    at = 20.0
    now = truth.rates[(truth.start <= at).astype(int), np.arange(100)]
    constant = Truth(truth.cuts, now, truth.event, truth.duration)
    before, alive = constant.incidence([at]), constant.survival([at])[:, None]
    expected = (constant.incidence(times[2:]) - before) / alive
    np.testing.assert_allclose(truth.incidence(times[2:], at=at, stays=True), expected, atol=1e-12)


def test_the_truth_equals_the_matrix_exponential_of_its_states():
    """Untreated, treated, and an end for each cause, as a Markov chain."""
    _, _, truth = make_changing_cohort(20, last_start=20.0, return_truth=True)
    at, end = 8.0, 33.0
    found = truth.incidence([end], at=at)[..., 0]
    for subject in range(20):
        state = np.eye(4)[int(truth.start[subject] <= at)]
        knots = np.unique([at, 20.0, end, *truth.cuts[(truth.cuts > at) & (truth.cuts < end)]])
        for begin, stop in itertools.pairwise(knots):
            hazards = truth.rates[:, subject, :, np.searchsorted(truth.cuts, begin, "right") - 1]
            generator = np.zeros((4, 4))
            generator[:2, 2:] = hazards
            generator[0, 1] = truth.start_rate[subject] if begin < 20 else 0.0
            generator[np.diag_indices(4)] = -generator.sum(axis=1)
            state = state @ expm(generator * (stop - begin))
        np.testing.assert_allclose(found[subject], state[2:], atol=1e-12)


def test_equal_rates_out_of_both_states_are_no_division_by_zero():
    rates = np.array([[[[0.1]]], [[[0.3]]]])
    args = np.array([np.inf]), np.array([1]), np.array([9.0])
    near, equal = (
        ChangingTruth(np.zeros(1), rates, np.array([rate]), np.inf, *args).incidence([7.0])
        for rate in (0.2 + 1e-7, 0.2)
    )
    np.testing.assert_allclose(near, equal, atol=1e-6)


def test_curves_start_at_the_landmark_and_never_fall(large):
    _, _, truth = large
    curves = truth.take(np.arange(200)).incidence(np.linspace(0, 100, 201), at=30.0)
    assert (curves[..., :61] == 0).all()
    assert (np.diff(curves, axis=-1) >= -1e-15).all()
    assert (curves.sum(axis=1) <= 1).all()


def test_linear_effects_are_the_same_for_everybody_and_others_are_not():
    for linear in (True, False):
        _, _, truth = make_changing_cohort(200, linear=linear, return_truth=True)
        ratio = truth.rates[1] / truth.rates[0]
        assert np.allclose(ratio, ratio[:1]) == linear


def test_the_same_seed_gives_the_same_cohort():
    first, second = (make_changing_cohort(300, random_state=5) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    "settings", [{"n_subjects": 0}, {"follow_up": 0}, {"last_start": -1.0}, {"last_start": np.nan}]
)
def test_a_setting_out_of_range_is_refused(settings):
    ((name, value),) = settings.items()
    with pytest.raises(SettingError, match=rf"{name} must be a .*; got {value}"):
        make_changing_cohort(**settings)


@pytest.mark.parametrize("times", [[-1.0], [np.nan], [[1.0]]], ids=str)
def test_the_truth_refuses_times_it_cannot_answer(times):
    _, _, truth = make_changing_cohort(5, return_truth=True)
    with pytest.raises(DataError, match="times must be a flat list of numbers, zero or more"):
        truth.incidence(times)
