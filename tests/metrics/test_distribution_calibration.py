import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import d_calibration, d_calibration_incidence
from survtrace.tables.outcome.outcome import Outcome


def ended(n, event=1):
    return {"event": np.full(n, event), "duration": np.arange(1.0, n + 1)}


def test_without_censoring_it_is_the_chi_square_test_of_counts():
    survival = np.random.default_rng(0).beta(2, 2, 90)
    counts = np.histogram(survival, bins=np.linspace(0, 1, 11))[0]
    expected = chisquare(counts)
    result = d_calibration(ended(90), survival)
    np.testing.assert_allclose(result.proportions * 90, counts)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)


def test_a_censored_subject_is_spread_over_the_bins_below():
    result = d_calibration({"event": [0], "duration": [1.0]}, [0.5], bins=4)
    np.testing.assert_allclose(result.proportions, [0.5, 0.5, 0, 0])
    result = d_calibration({"event": [0], "duration": [1.0]}, [0.6], bins=2)
    np.testing.assert_allclose(result.proportions, [5 / 6, 1 / 6])


def test_survival_of_zero_and_one_have_their_bins():
    y = {"event": [0, 1, 1], "duration": [1.0, 2.0, 3.0]}
    result = d_calibration(y, [0.0, 0.0, 1.0], bins=2)
    np.testing.assert_allclose(result.proportions, [2 / 3, 1 / 3])


def test_incidence_counts_events_below_and_spreads_the_rest_above():
    y = {"event": [1, 2, 1, 1], "duration": [1.0, 2.0, 3.0, 9.0]}
    result = d_calibration_incidence(y, [0.1, 0.2, 0.3, 0.9], np.full(4, 0.5), 5.0, cause=1, bins=4)
    np.testing.assert_allclose(result.proportions, [0.25, 0.25, 0.25, 0.25])
    assert result.p_value == pytest.approx(1)


def test_incidence_makes_up_for_censored_subjects_by_weights():
    y = {"event": [0, 1, 2], "duration": [1.0, 2.0, 3.0]}
    result = d_calibration_incidence(y, [0.1, 0.2, 0.5], np.full(3, 0.5), 3.0, cause=1, bins=2)
    np.testing.assert_allclose(result.proportions, [0.5, 0.5])


def test_incidence_beyond_usable_follow_up_is_nan_with_a_warning():
    y = {"event": [1, 1, 0], "duration": [1.0, 2.0, 3.0]}
    with pytest.warns(DataWarning, match="the test is NaN"):
        result = d_calibration_incidence(y, [0.1, 0.2, 0.5], np.full(3, 0.5), 4.0, bins=2)
    assert np.isnan(result.p_value)


def test_bins_with_few_expected_events_are_taken_together():
    rng = np.random.default_rng(0)
    at_horizon = rng.uniform(0.1, 0.5, 400)
    at_end = at_horizon * rng.random(400)
    hit = rng.random(400) < at_horizon
    y = {"event": np.where(hit, 1, 2), "duration": np.ones(400)}
    result = d_calibration_incidence(y, at_end, at_horizon, 1.0, cause=1)
    expected = [np.clip(at_horizon - low, 0, 0.1).sum() for low in np.arange(10) / 10]
    assert result.freedom == sum(each >= 10 for each in expected)
    assert len(result.proportions) == 10
    assert result.p_value > 0.01


@pytest.mark.parametrize(("n_events", "freedom"), [(15, 1), (30, 2)])
def test_bins_are_taken_together_by_the_events_that_censoring_leaves_to_see(n_events, freedom):
    """45 events are expected in each of two bins, but all the others are censored before."""
    event = np.arange(90) < n_events
    y = {"event": event.astype(int), "duration": np.where(event, 2.0, 1.0)}
    at_end = np.where(event, np.arange(90) % 2 * 0.5 + 0.2, 0.0)
    result = d_calibration_incidence(y, at_end, np.full(90, 0.999), 2.0, bins=2)
    assert result.freedom == freedom


def test_events_that_were_said_to_be_impossible_are_refused():
    nothing = np.zeros(30)
    never = d_calibration_incidence(ended(30), nothing, nothing, 30.0)
    assert never.p_value == 0
    other = d_calibration_incidence(
        ended(30, event=2) | {"event": [1] + [2] * 29}, nothing, nothing, 30.0, cause=2
    )
    assert other.p_value == 0


def test_all_subjects_certain_of_the_event_leave_one_degree_of_freedom_less():
    at_end = (np.arange(100) + 0.5) / 100
    result = d_calibration_incidence(ended(100), at_end, np.ones(100), 100.0, bins=5)
    assert (result.freedom, result.p_value) == (4, pytest.approx(1))


def test_bad_bins_are_refused():
    with pytest.raises(SettingError, match="bins must be a whole number of at least 2"):
        d_calibration(ended(3), [0.1, 0.2, 0.3], bins=1)
    with pytest.raises(DataError, match=r"survival_at_duration must lie within \[0, 1\]; 1 of 3"):
        d_calibration(ended(3), [0.1, -0.2, 0.3])
    with pytest.raises(DataError, match="incidence_at_horizon has 2 rows and y has 3"):
        d_calibration_incidence(ended(3), [0.1, 0.2, 0.3], [0.5, 0.5], 2.0)


def test_survival_of_late_entries_counts_from_entry_on():
    y = Outcome(np.array([2.0, 3.0]), np.array([1, 1]), (1,), entry=np.array([0.0, 1.0]))
    result = d_calibration(y, [0.2, 0.4], bins=4, survival_at_entry=[1.0, 0.5])
    np.testing.assert_allclose(result.proportions, [0.5, 0, 0, 0.5])


def test_rows_of_a_subject_are_one_product():
    rows = Outcome(
        np.array([2.0, 5.0, 3.0]),
        np.array([0, 1, 0]),
        (1,),
        entry=np.array([0.0, 2.0, 0.0]),
        id=np.array([0, 0, 1]),
    )
    result = d_calibration(rows, [0.8, 0.2, 0.5], bins=4, survival_at_entry=[1.0, 0.4, 1.0])
    np.testing.assert_allclose(result.proportions, [0.25, 0.75, 0, 0])  # .8 * .2 / .4, and [0, .5]


def test_late_entry_needs_survival_at_entry_that_is_not_below_that_at_the_end():
    y = Outcome(np.array([2.0, 3.0]), np.array([1, 1]), (1,), entry=np.array([0.0, 1.0]))
    with pytest.raises(DataError, match=r"must be given at entry, too.*Pass survival_at_entry="):
        d_calibration(y, [0.2, 0.4])
    with pytest.raises(DataError, match=r"does for 1 of 2 rows \(first: row 1, from 0.3 to 0.4\)"):
        d_calibration(y, [0.2, 0.4], survival_at_entry=[1.0, 0.3])
    with pytest.raises(DataError, match=r"does for 2 of 2 rows \(first: row 0, from 0.1 to 0.2\)"):
        d_calibration(y, [0.2, 0.4], survival_at_entry=[0.1, 0.3])


def late_cohort(n, seed):
    """Exponential times of two causes; half of the subjects enter late, if event-free then."""
    rng = np.random.default_rng(seed)
    hazards = np.exp(rng.normal(size=(3 * n, 2)) - [0, 0.7])
    latent = rng.exponential(1 / hazards)
    first, cause = latent.min(axis=1), 1 + latent.argmin(axis=1)
    entry = np.where(rng.random(3 * n) < 0.5, 0, rng.uniform(0, 0.5, 3 * n))
    leaves = entry + rng.uniform(0.3, 3, 3 * n)
    seen = np.flatnonzero(first > entry)[:n]
    event = np.where(first <= leaves, cause, 0)[seen]
    y = Outcome(np.minimum(first, leaves)[seen], event, (1, 2), entry=entry[seen])
    return y, hazards[seen]


def incidence(hazards, times):
    total = hazards.sum(axis=1)
    return hazards[:, 0] / total * (1 - np.exp(-total * times))


def test_late_entry_leaves_the_true_incidence_calibrated():
    p_values = []
    for seed in range(100):
        y, hazards = late_cohort(600, seed)
        ends = incidence(hazards, y.duration), incidence(hazards, 1.0)
        result = d_calibration_incidence(y, *ends, 1.0, cause=1, bins=5)
        p_values.append(result.p_value)
        assert result.proportions.sum() == pytest.approx(1)
        wrong = [each**0.5 for each in ends]
        assert d_calibration_incidence(y, *wrong, 1.0, cause=1, bins=5).p_value < 0.01
    assert np.mean(np.array(p_values) < 0.05) <= 0.12


def test_what_comes_after_the_horizon_does_not_matter_to_late_entries_either():
    y, hazards = late_cohort(300, 0)
    ends = incidence(hazards, np.minimum(y.duration, 1.0)), incidence(hazards, 1.0)
    longer = np.where(y.duration > 1.0, y.duration + np.arange(300), y.duration)
    later = Outcome(longer, y.event, y.causes, entry=y.entry)
    found, again = (
        d_calibration_incidence(each, *ends, 1.0, cause=1, bins=5) for each in (y, later)
    )
    assert again.statistic == pytest.approx(found.statistic)
    assert again.p_value == pytest.approx(found.p_value)


def test_the_test_of_an_incidence_refuses_few_at_an_early_event():
    y = Outcome(np.array([2.0, 3, 4]), np.array([1, 1, 0]), (1,), entry=np.array([0.0, 2, 2]))
    with pytest.raises(DataError, match=r"test of an incidence .* at 2 there are 1"):
        d_calibration_incidence(y, [0.2, 0.4, 0.4], [0.5, 0.5, 0.5], 3.0)


def test_late_entry_and_changing_hazards_leave_the_truth_calibrated():
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        hazard = np.exp(rng.normal(size=(1200, 2)))  # one until time 1, another one later
        latent = rng.exponential(size=1200)
        first = np.where(latent < hazard[:, 0], latent / hazard[:, 0], 0)
        second = 1 + (latent - hazard[:, 0]) / hazard[:, 1]
        time = np.where(latent < hazard[:, 0], first, second)
        entry = np.where(rng.random(1200) < 0.5, 0, rng.uniform(0, 0.9, 1200))
        end = np.minimum(time, rng.uniform(1, 4, 1200))
        seen = end > entry
        goes_on = seen & (end > 1)
        rows = np.append(np.flatnonzero(seen), np.flatnonzero(goes_on))
        later = np.arange(len(rows)) >= seen.sum()
        stop = np.where(later, end[rows], np.minimum(end[rows], 1))
        start = np.where(later, 1.0, entry[rows])
        event = (stop == time[rows]).astype(int)
        y = Outcome(stop, event, (1,), entry=start, id=rows)
        rate = hazard[rows, later.astype(int)]
        ends = np.exp(-rate * stop), np.exp(-rate * start)
        p_values.append(d_calibration(y, ends[0], survival_at_entry=ends[1]).p_value)
        wrong = d_calibration(y, ends[0] ** 2, survival_at_entry=ends[1] ** 2)
        assert wrong.p_value < 0.01
    assert np.mean(np.array(p_values) < 0.05) <= 0.1


def test_who_was_sure_to_have_the_event_by_entry_counts_in_the_lowest_bin():
    y = Outcome(np.array([2.0, 3.0]), np.array([1, 1]), (1,), entry=np.array([0.0, 1.0]))
    result = d_calibration(y, [0.9, 0.0], bins=2, survival_at_entry=[1.0, 0.0])
    np.testing.assert_allclose(result.proportions, [0.5, 0.5])


def test_a_horizon_may_be_a_tensor_and_what_cannot_happen_is_infinitely_far():
    y = {"event": [1, 1, 0, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    nothing = np.zeros(4)
    found = d_calibration_incidence(y, nothing, nothing, torch.tensor(2.5), bins=2)
    assert (found.statistic, found.p_value) == (np.inf, 0.0)


def test_a_bin_in_which_nobody_had_the_event_counts_as_the_others_do():
    """All events lie in the first of two bins, where a quarter of all is expected in each."""
    n = 80
    result = d_calibration_incidence(ended(n), np.full(n, 0.1), np.full(n, 0.5), float(n), bins=4)
    gap, expected = np.array([n - n / 4, -n / 4]), np.full(2, 1 / 4)
    covariance = n * (np.diag(expected) - np.outer(expected, expected))
    assert result.statistic == pytest.approx(gap @ np.linalg.solve(covariance, gap))


@pytest.mark.parametrize("bins", [2, 5, 10])
def test_a_test_of_survival_has_one_degree_of_freedom_fewer_than_bins(bins):
    assert d_calibration(ended(20), np.linspace(0.01, 0.99, 20), bins=bins).freedom == bins - 1


@pytest.mark.parametrize("chance", [1e-3, 1e-6, 1e-12])
def test_what_was_said_to_be_next_to_impossible_may_not_happen(chance):
    """By hand: n p are expected and none is seen, the variance is n p (1 - p)."""
    y = {"event": np.where(np.arange(30) < 20, 2, 1), "duration": np.arange(1.0, 31)}
    low = np.full(30, chance)
    result = d_calibration_incidence(y, low, low, 15.0, cause=1)
    assert result.freedom == 1
    assert result.statistic == pytest.approx(30 * chance / (1 - chance))
    assert result.p_value > 0.8
