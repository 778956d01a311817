"""What scores must satisfy whatever the data: definitions, symmetries, propriety, coverage."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from survtrace.errors import DataWarning
from survtrace.metrics import (
    aalen_johansen,
    auc,
    auc_at,
    bootstrap,
    brier_score,
    brier_score_at,
    censoring_survival,
    compare,
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
    d_calibration,
    d_calibration_incidence,
    integrated_brier_score,
    kaplan_meier,
    nelson_aalen,
    net_benefit,
    observed_expected_ratio,
    scaled_brier_score,
)
from survtrace.metrics.censoring import read_weights
from survtrace.metrics.pairs import pair_totals
from survtrace.tables.outcome.outcome import read_outcome

often = settings(deadline=None, max_examples=80)
CONCORDANCES = [concordance_paper, concordance_cause_specific]
TIES = st.sampled_from(["left-limit", "scikit-survival"])


@st.composite
def cohorts(draw):
    """A small outcome of two causes, full of ties, and a tied estimate."""
    n = draw(st.integers(3, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    duration = rng.integers(1, draw(st.integers(2, 12)), n) / 2
    event = rng.choice(3, n, p=rng.dirichlet(np.ones(3)))
    event[:2] = [1, 2]
    y = read_outcome({"event": event, "duration": duration}, causes=(1, 2))
    return y, rng.integers(0, draw(st.integers(1, 12)) + 1, n) / 10, rng


def quietly(score, *arguments, **named):
    """Scores of tiny cohorts may be truncated or undefined, which is not the point here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return score(*arguments, **named)


def all_pairs(y):
    first, second = np.meshgrid(np.arange(len(y)), np.arange(len(y)), indexing="ij")
    return first, second


def half_for_ties(first, second):
    return (first > second) + 0.5 * (first == second)


def inverse_by(G, ties, t):
    return np.nan_to_num(G.inverse_before(t) if ties == "left-limit" else G.inverse(t))


def ratio(weight, concordant):
    return np.nan if weight.sum() == 0 else (weight * concordant).sum() / weight.sum()


@often
@given(cohorts())
def test_fast_totals_equal_the_sum_over_all_pairs(cohort):
    y, estimate, rng = cohort
    n = len(y)
    key, case, control = rng.integers(0, 6, n), rng.random(n), rng.random(n) * (rng.random(n) > 0.3)
    i, j = all_pairs(y)
    weight = np.where(key[i] < key[j], case[i] * control[j], 0)
    concordant = weight * half_for_ties(estimate[i], estimate[j])
    totals = pair_totals(key, estimate, case, control)
    np.testing.assert_allclose(totals.comparable, [weight.sum(1), weight.sum(0)], atol=1e-12)
    np.testing.assert_allclose(
        totals.concordant, [concordant.sum(1), concordant.sum(0)], atol=1e-12
    )


@often
@given(cohorts(), st.sampled_from([None, 1.5, 2.0, 4.0]), TIES)
def test_concordance_of_the_paper_equals_its_definition(cohort, horizon, ties):
    y, estimate, _ = cohort
    G = censoring_survival(y, cause=1)
    i, j = all_pairs(y)
    t, event = y.duration, y.event
    case = (event == 1) & (t < (horizon or np.inf)) & (t <= G.last_usable)
    after = (t[i] < t[j]) | ((t[i] == t[j]) & (event[j] != 1))
    weight = np.where(case[i] & after, inverse_by(G, ties, t)[i] ** 2, 0)
    expected = ratio(weight, half_for_ties(estimate[i], estimate[j]))
    ours = quietly(concordance_paper, y, estimate, horizon, cause=1, ties=ties)
    assert ours == pytest.approx(expected, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from([None, 1.5, 2.0, 4.0]))
def test_cause_specific_concordance_equals_its_definition(cohort, horizon):
    y, estimate, _ = cohort
    G = censoring_survival(y)
    i, j = all_pairs(y)
    t, event = y.duration, y.event
    before = np.nan_to_num(G.inverse_before(t))
    case = (event == 1) & (t <= (horizon or np.inf)) & (t <= G.last_usable)
    later = (t[i] < t[j]) | ((t[i] == t[j]) & (event[j] == 0))
    never = (t[j] <= t[i]) & (event[j] == 2)
    weight = np.where(later, before[i] ** 2, np.where(never, before[i] * before[j], 0))
    expected = ratio(weight * case[i], half_for_ties(estimate[i], estimate[j]))
    ours = quietly(concordance_cause_specific, y, estimate, horizon, cause=1)
    assert ours == pytest.approx(expected, abs=1e-10, nan_ok=True)


@often
@given(cohorts())
def test_antolini_concordance_equals_its_definition(cohort):
    y, _, rng = cohort
    times = np.array([1.0, 1.5, 3.0])
    incidence = np.sort(rng.integers(0, 6, (len(y), 3))) / 6
    known = np.column_stack([np.zeros(len(y)), incidence])
    i, j = all_pairs(y)
    t, column = y.duration, np.searchsorted(times, y.duration, side="right")
    after = (t[i] < t[j]) | ((t[i] == t[j]) & (y.event[j] != 1))
    concordant = half_for_ties(known[i, column[i]], known[j, column[i]])
    expected = ratio(((y.event[i] == 1) & after).astype(float), concordant)
    ours = quietly(concordance_antolini, y, incidence, times, cause=1)
    assert ours == pytest.approx(expected, abs=1e-12, nan_ok=True)


@often
@given(cohorts(), st.sampled_from(["all", "event_free"]), TIES)
def test_area_equals_its_definition(cohort, controls, ties):
    y, estimate, _ = cohort
    G, time = censoring_survival(y), 2.0
    i, j = all_pairs(y)
    t, inverse = y.duration, inverse_by(G, ties, y.duration)
    case = np.where((t <= time) & (y.event == 1), inverse, 0)
    other = np.where((t <= time) & (y.event == 2) & (controls == "all"), inverse, 0)
    control = np.where(t > time, np.nan_to_num(G.inverse(time)), other)
    expected = ratio(case[i] * control[j], half_for_ties(estimate[i], estimate[j]))
    expected = expected if time <= G.last_usable else np.nan
    ours = quietly(auc, y, estimate, [time], cause=1, controls=controls, ties=ties)[0]
    assert ours == pytest.approx(expected, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from(CONCORDANCES))
def test_a_reversed_estimate_has_the_complementary_concordance(cohort, score):
    y, estimate, _ = cohort
    forward, backward = (quietly(score, y, sign * estimate, cause=1) for sign in (1, -1))
    assert backward == pytest.approx(1 - forward, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from(CONCORDANCES))
def test_concordance_ignores_monotone_transforms(cohort, score):
    y, estimate, _ = cohort
    plain, bent = (quietly(score, y, each, cause=1) for each in (estimate, np.exp(3 * estimate)))
    np.testing.assert_array_equal(plain, bent)


@often
@given(cohorts(), st.sampled_from(CONCORDANCES))
def test_influences_sum_to_zero(cohort, score):
    y, estimate, _ = cohort
    influence = quietly(score, y, estimate, cause=1).influence
    assert np.isnan(influence).all() or abs(influence.sum()) < 1e-10


@often
@given(cohorts())
def test_survival_and_incidences_sum_to_one(cohort):
    y = cohort[0]
    times = np.linspace(0, 7, 15)
    total = kaplan_meier(y).at(times) + aalen_johansen(y).at(times).sum(axis=0)
    np.testing.assert_allclose(total, 1, atol=1e-12)


@often
@given(cohorts())
def test_one_cause_is_a_row_of_all_causes(cohort):
    y = cohort[0]
    for curve in (aalen_johansen, nelson_aalen):
        np.testing.assert_array_equal(curve(y, cause=2).values, curve(y).values[1])


def competing_exponentials(n, seed):
    """Two causes whose constant hazards depend on a covariate, and independent censoring."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    hazards = np.stack([np.exp(x), 0.5 * np.exp(-0.5 * x)], axis=1)
    latent, censoring = rng.exponential(1 / hazards), rng.uniform(0.2, 4, n)
    first = latent.min(axis=1)
    event = np.where(first <= censoring, 1 + latent.argmin(axis=1), 0)
    y = read_outcome({"event": event, "duration": np.minimum(first, censoring)}, causes=(1, 2))
    return y, hazards


def true_incidence(hazards, cause, times):
    total = hazards.sum(axis=1, keepdims=True)
    return hazards[:, [cause - 1]] / total * (1 - np.exp(-total * np.asarray(times)))


@pytest.mark.parametrize("cause", [1, 2])
def test_the_true_incidence_wins_the_brier_score(cause):
    y, hazards = competing_exponentials(6000, seed=0)
    times = np.linspace(0.1, 2.5, 12)
    truth = true_incidence(hazards, cause, times)
    best = integrated_brier_score(y, truth, times, cause=cause)
    wrong = [0.7 * truth, np.sqrt(truth), truth**1.3, truth.mean(axis=0) + 0 * truth]
    for prediction in wrong:
        other = integrated_brier_score(y, prediction, times, cause=cause)
        assert compare(best, other).high < 0


@pytest.mark.parametrize(
    ("score", "named"),
    [
        (concordance_paper, {"horizon": 2.0}),
        (concordance_cause_specific, {"horizon": 2.0}),
        (auc_at, {"time": 1.0}),
        (integrated_brier_score, {"times": [0.5, 1.0, 2.0]}),
        (concordance_antolini, {"times": [1e-4, 1.0, 2.0]}),
    ],
)
def test_the_standard_error_is_close_to_that_of_the_bootstrap(score, named):
    y, hazards = competing_exponentials(500, seed=1)
    needs_curves = score in (integrated_brier_score, concordance_antolini)
    truth = true_incidence(hazards, 1, named.get("times", [1.0]))
    prediction = truth if needs_curves else truth[:, 0]
    if score is not concordance_antolini:
        named = {**named, "y_train": censoring_survival(y)}
    drawn = bootstrap(score, y, prediction, random_state=0, n_resamples=300, cause=1, **named)
    assert drawn.estimate.standard_error == pytest.approx(drawn.standard_error, rel=0.15)


def test_intervals_of_the_concordance_cover_the_truth():
    y, hazards = competing_exponentials(100_000, seed=2)
    target = concordance_cause_specific(y, hazards[:, 0], 2.0, cause=1)
    covered = []
    for seed in range(300):
        y, hazards = competing_exponentials(200, seed=100 + seed)
        low, high = concordance_cause_specific(y, hazards[:, 0], 2.0, cause=1).interval()
        covered.append(low <= target <= high)
    assert 0.91 <= np.mean(covered) <= 0.99


def test_d_calibration_accepts_the_truth_and_refuses_an_exaggeration():
    p_values = []
    for seed in range(60):
        y, hazards = competing_exponentials(400, seed)
        survival = np.exp(-hazards.sum(axis=1) * y.duration)
        p_values.append(d_calibration(y, survival).p_value)
        assert d_calibration(y, survival**2).p_value < 0.01
    assert np.mean(np.array(p_values) < 0.05) <= 0.1


def test_d_calibration_of_a_cause_accepts_the_truth_and_refuses_an_exaggeration():
    p_values = []
    for seed in range(100):
        y, hazards = competing_exponentials(600, seed)
        at_end = true_incidence(hazards, 1, y.duration[:, np.newaxis])[:, 0]
        at_horizon = true_incidence(hazards, 1, [1.5])[:, 0]
        result = d_calibration_incidence(y, at_end, at_horizon, 1.5, cause=1, bins=5)
        p_values.append(result.p_value)
        wrong = d_calibration_incidence(y, at_end**0.5, at_horizon**0.5, 1.5, cause=1, bins=5)
        assert wrong.p_value < 0.01
    assert np.mean(np.array(p_values) < 0.05) <= 0.12


@often
@given(cohorts(), st.sampled_from([0.5, 1.5, 2.0, 4.0]))
def test_mean_weights_are_one_if_an_event_is_weighted_just_before_it(cohort, time):
    y = cohort[0]
    weights = read_weights(None, y)
    if time <= weights.censoring.last_usable:
        assert weights.by(time).mean() == pytest.approx(1, abs=1e-12)


def test_mean_weights_exceed_one_if_an_event_is_weighted_at_its_own_time():
    y, _, _ = yearly_cohort(2000, seed=0)
    assert read_weights(None, y).by(4.0).mean() == pytest.approx(1, abs=1e-12)
    assert read_weights(None, y, "scikit-survival").by(4.0).mean() > 1.05


def yearly_cohort(n, seed):
    """One cause and censoring in whole years; an event in the year of its censoring is seen."""
    rng = np.random.default_rng(seed)
    hazard = 0.25 * np.exp(rng.normal(size=n))
    latent = np.ceil(rng.exponential(1 / hazard))
    censoring = np.ceil(rng.uniform(0, 9, n))
    event = (latent <= censoring).astype(int)
    return read_outcome({"event": event, "duration": np.minimum(latent, censoring)}), hazard, rng


def test_the_true_incidence_wins_the_brier_score_with_durations_in_years():
    y, hazard, _ = yearly_cohort(20_000, seed=0)
    truth = 1 - np.exp(-np.outer(hazard, [2.0, 4.0, 6.0]))
    bent = [truth**power for power in (0.8, 0.9, 1.0, 1.1, 1.2)]
    for score in (brier_score, integrated_brier_score):
        found = [np.mean(score(y, each, [2.0, 4.0, 6.0])) for each in bent]
        assert np.argmin(found) == 2
    at_its_own_time = [
        integrated_brier_score(y, each, [2.0, 4.0, 6.0], ties="scikit-survival") for each in bent
    ]
    assert np.argmin(at_its_own_time) != 2


@pytest.mark.parametrize("power", [1.0, -1.0])
def test_censoring_does_not_move_the_cause_specific_concordance_of_durations_in_years(power):
    rng, n = np.random.default_rng(0), 40_000
    x = rng.normal(size=n)
    latent = np.ceil(rng.exponential(1 / (0.12 * np.exp(np.outer([1.0, power], x)))))
    latent[1] += 0.5 * (latent[0] == latent[1]) * rng.choice([-1, 1], n)  # one of them comes first
    duration, event = np.ceil(latent.min(axis=0)), 1 + latent.argmin(axis=0)
    censoring = np.ceil(rng.uniform(0, 9, n))
    seen = {
        "event": np.where(duration <= censoring, event, 0),
        "duration": np.minimum(duration, censoring),
    }
    whole = {"event": event, "duration": duration}
    found, truth = (concordance_cause_specific(y, x, 6.0, cause=1) for y in (seen, whole))
    assert found == pytest.approx(truth, abs=0.003)


@often
@given(cohorts(), st.sampled_from(["brier", "ibs", "auc", "paper", "cause specific"]), TIES)
def test_influences_are_the_derivative_by_a_subjects_multiplicity(cohort, name, ties):
    """A subject counted k times more moves the score by k influences, weights included."""
    y, estimate, _ = cohort
    k = 10_000

    def score(outcome, values):
        named = {"cause": 1} if name == "cause specific" else {"cause": 1, "ties": ties}
        if name == "brier":
            return quietly(brier_score_at, outcome, values / 3, 1.5, **named)
        if name == "ibs":
            curves = np.outer(values / 3, [1, 2])
            return quietly(integrated_brier_score, outcome, curves, [1.0, 2.0], **named)
        if name == "auc":
            return quietly(auc_at, outcome, values, 1.5, **named)
        concordance = concordance_paper if name == "paper" else concordance_cause_specific
        return quietly(concordance, outcome, values, 2.0, **named)

    n = len(y)
    rows = np.append(np.repeat(np.arange(n), k // n), 0)
    whole, more = score(y, estimate), score(y.take(rows), estimate[rows])
    if not np.isnan(whole):
        per_copy = whole.influence[0] * n / (len(rows) - 1)
        gained = float(more) - float(score(y.take(rows[:-1]), estimate[rows[:-1]]))
        assert gained == pytest.approx(per_copy, abs=2e-3 * max(abs(per_copy), 1 / k))


REPEATED = {
    "brier": lambda y, p: brier_score_at(y, p, 2.0, cause=1),
    "ibs": lambda y, p: integrated_brier_score(y, np.outer(p, [0.4, 1]), [1.0, 2.0], cause=1),
    "IPA": lambda y, p: scaled_brier_score(y, p, 2.0, cause=1),
    "auc": lambda y, p: auc_at(y, p, 2.0, cause=1),
    "paper": lambda y, p: concordance_paper(y, p, 2.0, cause=1),
    "cause specific": lambda y, p: concordance_cause_specific(y, p, 2.0, cause=1),
    "antolini": lambda y, p: concordance_antolini(y, np.outer(p, [0.4, 1]), [0.5, 2.0], cause=1),
    "O/E": lambda y, p: observed_expected_ratio(y, p, 2.0, cause=1),
    "net benefit": lambda y, p: net_benefit(y, p, 2.0, [0.3], cause=1).by_prediction[0],
}


@often
@given(cohorts(), st.sampled_from(list(REPEATED)))
def test_three_of_every_subject_have_the_same_score_and_a_third_of_its_variance(cohort, name):
    y, estimate, rng = cohort
    rows, predicted = np.repeat(np.arange(len(y)), 3), (estimate + 0.05) / 1.5
    rng.shuffle(rows)
    one, three = (
        quietly(REPEATED[name], y.take(each), predicted[each]) for each in (np.arange(len(y)), rows)
    )
    assert three == pytest.approx(one, abs=1e-10, nan_ok=True)
    error = one.standard_error / np.sqrt(3)
    assert three.standard_error == pytest.approx(error, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from([concordance_paper, concordance_cause_specific, auc_at]))
def test_intervals_stay_within_zero_and_one_and_hold_the_score(cohort, score):
    y, estimate, _ = cohort
    found = quietly(score, y, estimate, 2.0, cause=1)
    if not np.isnan(found):
        low, high = found.interval()
        assert 0 <= low <= found <= high <= 1
        if found in (0.0, 1.0):
            assert high - low > 0.01
