"""A simulated cohort follows the law it reports."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import cumulative_trapezoid
from sksurv.nonparametric import cumulative_incidence_competing_risks

from survtrace.datasets import Truth, make_cohort
from survtrace.errors import DataError, SettingError
from survtrace.tables.outcome.outcome import read_outcome

MONTHS = np.array([1.0, 6.0, 17.0, 60.0, 100.0, 120.0])


@pytest.fixture(scope="module")
def large():
    return make_cohort(100_000, random_state=3, return_truth=True)


def test_it_looks_like_the_registry(large):
    X, y, _ = large
    assert X.shape == (100_000, 18)
    assert len(X.select_dtypes("category").columns) == 14
    assert len(X.select_dtypes("number").columns) == 4
    assert not X.isna().any(axis=None)
    assert set(y["duration"]) == set(range(1, 122))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"linear": True},
        {"continuous": True},
        {"n_causes": 1},
        {"n_causes": 3},
        {"proportions": (0.3, 0.002)},
        {"proportions": (0.55, 0.35)},
        {"follow_up": 24},
    ],
    ids=str,
)
def test_the_proportions_hold_within_sampling_error(settings):
    n_subjects = 20_000
    _, y = make_cohort(n_subjects, random_state=1, **settings)
    defaults = (0.184, 0.045, 0.0225)[: settings.get("n_causes", 2)]
    expected = np.array(settings.get("proportions", defaults))
    seen = np.array([(y["event"] == cause + 1).mean() for cause in range(len(expected))])
    assert np.all(np.abs(seen - expected) < 4 * np.sqrt(expected * (1 - expected) / n_subjects))


@pytest.mark.parametrize("settings", [{}, {"linear": True}, {"n_causes": 3}], ids=str)
@pytest.mark.parametrize("continuous", [False, True])
def test_aalen_johansen_finds_the_mean_true_incidence(settings, continuous):
    """Whole months are not an approximation: the truth holds at each of them."""
    _, y, truth = make_cohort(
        40_000, random_state=2, continuous=continuous, return_truth=True, **settings
    )
    times, estimate = cumulative_incidence_competing_risks(y["event"], y["duration"])
    found = estimate[1:, np.searchsorted(times, MONTHS, side="right") - 1]
    expected = truth.incidence(MONTHS).mean(axis=0)
    # Four standard errors; fewer subjects are at risk late in the follow-up.
    tolerance = 4 * np.sqrt(expected / (len(y) * (1 - MONTHS / 125)))
    assert np.all(np.abs(found - expected) < tolerance)


def test_uncensored_outcomes_follow_the_truth(large):
    _, _, truth = large
    for cause in truth.causes:
        ended = (truth.event == cause)[:, None] & (truth.duration[:, None] <= MONTHS)
        expected = truth.incidence(MONTHS, cause)
        spread = np.sqrt((expected * (1 - expected)).sum(axis=0))
        assert np.all(np.abs((ended - expected).sum(axis=0)) < 4 * spread)


def test_the_truth_is_calibrated_within_groups_of_risk(large):
    """Subjects of alike true incidence at five years have events as often as it says."""
    _, _, truth = large
    for cause in truth.causes:
        incidence = truth.incidence([60.0], cause)[:, 0]
        ended = (truth.event == cause) & (truth.duration <= 60)
        for group in np.array_split(np.argsort(incidence), 10):
            expected = incidence[group]
            spread = np.sqrt((expected * (1 - expected)).sum())
            assert abs((ended[group] - expected).sum()) < 4.5 * spread


def test_censoring_only_hides(large):
    _, y, truth = large
    seen = y["event"] > 0
    assert (y["event"][seen] == truth.event[seen]).all()
    assert (y["duration"][seen] == truth.duration[seen]).all()
    assert (y["duration"][~seen] < truth.duration[~seen]).all()


def test_censoring_says_nothing_about_the_covariates(large):
    X, y, truth = large
    lasting = truth.duration > 121
    correlation = np.corrcoef(X["age"][lasting], y["duration"][lasting])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(lasting.sum())


@pytest.mark.parametrize("n_causes", [1, 2, 4])
def test_survival_and_incidences_sum_to_one(n_causes):
    _, _, truth = make_cohort(500, n_causes=n_causes, return_truth=True)
    times = np.linspace(0, 400, 57)
    total = truth.survival(times) + truth.incidence(times).sum(axis=1)
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-12)


def test_incidences_start_at_zero_and_never_fall():
    _, _, truth = make_cohort(500, return_truth=True)
    incidence = truth.incidence(np.linspace(0, 300, 301))
    assert np.all(incidence[:, :, 0] == 0)
    assert np.all(np.diff(incidence, axis=2) >= 0)


def test_the_truth_equals_the_integral_of_the_hazards():
    _, _, truth = make_cohort(20, return_truth=True)
    times = np.linspace(0, 121, 121 * 200 + 1)
    middle = (times[1:] + times[:-1]) / 2
    rates = truth.rates[:, :, np.searchsorted(truth.cuts, middle, side="right") - 1]
    hazard = np.cumsum(rates.sum(axis=1) * np.diff(times), axis=1)
    survival = np.exp(-np.concatenate([np.zeros((20, 1)), hazard], axis=1))
    np.testing.assert_allclose(truth.survival(times), survival, atol=1e-10)
    halfway = truth.survival(middle)[:, None] * rates
    expected = cumulative_trapezoid(halfway, dx=times[1], axis=2, initial=0)
    incidence = truth.incidence(middle)
    np.testing.assert_allclose(incidence - incidence[:, :, :1], expected, atol=1e-4)


def test_one_cause_is_a_slice_of_all():
    _, _, truth = make_cohort(50, return_truth=True)
    np.testing.assert_array_equal(truth.incidence(MONTHS, 2), truth.incidence(MONTHS)[:, 1])


def test_truth_is_split_with_its_subjects():
    _, _, truth = make_cohort(50, return_truth=True)
    rows = np.array([4, 40, 7])
    taken = truth.take(rows)
    assert len(taken) == 3
    np.testing.assert_array_equal(taken.incidence(MONTHS), truth.incidence(MONTHS)[rows])
    np.testing.assert_array_equal(taken.duration, truth.duration[rows])


def test_default_hazards_cross_and_linear_ones_are_proportional():
    _, _, bent = make_cohort(200, return_truth=True)
    _, _, straight = make_cohort(200, linear=True, return_truth=True)
    ratio = straight.rates / straight.rates[:1]
    np.testing.assert_allclose(ratio, ratio[:, :, :1] * np.ones(ratio.shape[2]))
    above = bent.rates > bent.rates[:1]
    assert (above != above[:, :, :1]).any(axis=(0, 2)).all()


def test_linear_log_hazards_are_linear_in_the_covariates():
    X, _, truth = make_cohort(2_000, linear=True, n_causes=3, return_truth=True)
    design = pd.get_dummies(X, drop_first=True, dtype=float).assign(one=1.0).to_numpy()
    target = np.log(truth.rates[:, :, 0])
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    np.testing.assert_allclose(fitted, target, atol=1e-8)


def test_the_same_seed_gives_the_same_cohort():
    first, second = (make_cohort(300, missing=0.1, random_state=5) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_another_seed_gives_another_cohort_of_the_same_law():
    X, _, first = make_cohort(300, random_state=5, return_truth=True)
    other, _, second = make_cohort(300, random_state=6, return_truth=True)
    assert not X.equals(other)
    np.testing.assert_array_equal(first.cuts, second.cuts)


def test_a_generator_may_be_passed():
    X, _ = make_cohort(10, random_state=np.random.default_rng(5))
    pd.testing.assert_frame_equal(X, make_cohort(10, random_state=5)[0])


@pytest.mark.parametrize("n_subjects", [1, 2, 1_000])
def test_any_size_will_do(n_subjects):
    X, y, truth = make_cohort(n_subjects, return_truth=True)
    assert len(X) == len(y) == len(truth) == n_subjects
    assert truth.incidence(MONTHS).shape == (n_subjects, 2, 6)


def test_the_size_of_the_registry_is_drawn_at_once():
    X, y = make_cohort(476_746)
    assert len(X) == len(y) == 476_746
    assert (y["event"] == 1).mean() == pytest.approx(0.184, abs=0.003)
    assert (y["event"] == 2).mean() == pytest.approx(0.045, abs=0.003)


def test_missing_values_come_on_request_and_leave_the_outcome_alone():
    X, y = make_cohort(5_000, missing=0.2)
    full, same = make_cohort(5_000)
    assert X.isna().mean().between(0.17, 0.23).all()
    assert (X.dtypes == full.dtypes).all()
    assert (full == X)[X.notna()].sum().sum() == X.notna().sum().sum()
    pd.testing.assert_frame_equal(y, same)


def test_continuous_durations_are_positive_and_untied():
    _, y = make_cohort(5_000, continuous=True)
    assert y["duration"].is_unique
    assert y["duration"].between(0, 121, inclusive="right").all()


def test_its_outcome_passes_the_door():
    outcome = read_outcome(make_cohort(2_000, n_causes=3)[1])
    assert outcome.causes == (1, 2, 3)
    assert outcome.entry is None
    late = make_cohort(2_000, late_entry=0.3)[1]
    np.testing.assert_array_equal(read_outcome(late).entry, late["entry"])


@pytest.mark.parametrize("continuous", [False, True])
def test_who_enters_late_is_seen_only_if_event_free_by_then(continuous):
    _, y, truth = make_cohort(
        20_000, late_entry=0.5, continuous=continuous, random_state=1, return_truth=True
    )
    assert len(y) == len(truth) < 20_000
    assert (y["entry"] < y["duration"]).all()
    assert y["entry"].between(0, 61).all()
    assert 0.4 < (y["entry"] > 0).mean() < 0.5
    seen = y["event"] > 0
    assert (y["event"][seen] == truth.event[seen]).all()
    assert (y["duration"][seen] == truth.duration[seen]).all()
    assert (truth.duration > y["entry"]).all()


def test_a_share_of_late_entries_leaves_the_subjects_and_their_fates_as_they_are():
    X, y, truth = make_cohort(2_000, continuous=True, return_truth=True)
    some_X, some_y, some = make_cohort(2_000, continuous=True, late_entry=0.5, return_truth=True)
    place = pd.Series(np.arange(2_000), index=truth.duration)[some.duration].to_numpy()
    pd.testing.assert_frame_equal(some_X, X.iloc[place].reset_index(drop=True))
    np.testing.assert_array_equal(some.rates, truth.rates[place])
    early = (some_y["entry"] == 0).to_numpy()
    pd.testing.assert_frame_equal(
        some_y[early].drop(columns="entry").reset_index(drop=True),
        y.iloc[place[early]].reset_index(drop=True),
    )
    gone = np.setdiff1d(np.arange(2_000), place)
    assert (truth.duration[gone] <= 60.5).all()


def test_with_late_entries_events_per_time_at_risk_are_the_true_hazards():
    """Exposure from entry to exit gives the mean hazard; counted from 0 it would be too low."""
    _, y, truth = make_cohort(60_000, late_entry=1.0, continuous=True, return_truth=True)
    for interval, (start, end) in enumerate(zip(truth.cuts[:-1], truth.cuts[1:], strict=True)):
        exposure = (y["duration"].clip(start, end) - y["entry"].clip(start, end)).to_numpy()
        for cause in truth.causes:
            inside = (y["event"] == cause) & y["duration"].between(start, end, inclusive="right")
            expected = (truth.rates[:, cause - 1, interval] * exposure).sum()
            assert abs(inside.sum() - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subjects": 0}, "n_subjects must be a whole number of at least 1; got 0"),
        ({"n_causes": 0}, "n_causes must be a whole number of at least 1 and at most 1000; got 0"),
        ({"proportions": (0.2,)}, r"must be 2 positive numbers .* got \(0.2,\)"),
        ({"proportions": (0.7, 0.3)}, "leave some subjects censored; .* sum to 1"),
        ({"proportions": (0.7, 0.0)}, "must be 2 positive numbers"),
        ({"missing": 1.0}, "missing must be a number from 0 below 1; got 1.0"),
        ({"follow_up": 0}, "follow_up must be a number from 1 to 100000; got 0"),
        ({"late_entry": 1.5}, "late_entry must be a number from 0 to 1; got 1.5"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        make_cohort(**settings)


@pytest.mark.parametrize("times", [[-1.0], [np.nan], [[1.0]]], ids=str)
def test_the_truth_refuses_times_it_cannot_answer(times):
    _, _, truth = make_cohort(5, return_truth=True)
    with pytest.raises(DataError, match="times must be a flat list of numbers, zero or more"):
        truth.incidence(times)


def test_the_truth_refuses_an_unknown_cause():
    rates = np.ones((1, 2, 1))
    truth = Truth(np.zeros(1), rates, np.array([1]), np.array([1.0]))
    with pytest.raises(DataError, match=r"cause must be one of \[1, 2\]; got 3"):
        truth.survival([1.0]) * truth.incidence([1.0], cause=3)
