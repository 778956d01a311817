import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from survtrace.losses.propensity import ips_weights, propensities, propensities_by_rate
from survtrace.settings import IPS_FORMS
from survtrace.tables.covariates.encoding import Encoded

RNG = np.random.default_rng(0)
N = 400
AGE, SEX = RNG.normal(size=N), RNG.integers(0, 2, N)
EVENT = np.where(RNG.random(N) < 1 / (1 + np.exp(1 - AGE)), 1, 2 * (RNG.random(N) < 0.1))
ENCODED = Encoded(
    np.column_stack([np.ones(N), 4 + SEX]).astype(np.int32),
    np.column_stack([AGE, np.ones(N)]).astype(np.float32),
)
EVERYONE = np.arange(N)


def fitted(event=EVENT, training=EVERYONE, clip=0.01):
    return propensities(ENCODED, event, 2, training, clip)


def test_propensity_is_a_logistic_regression_on_numbers_and_one_hot_levels():
    design = np.column_stack([AGE.astype(np.float32), SEX == 0, SEX == 1])
    for cause in (1, 2):
        expected = (
            LogisticRegression(max_iter=1000).fit(design, cause == EVENT).predict_proba(design)
        )
        ours = fitted(clip=1e-9)[:, cause - 1]
        np.testing.assert_allclose(ours, expected[:, 1], atol=1e-3)


def test_it_learns_from_training_rows_alone():
    training, changed = EVERYONE[:300], EVENT.copy()
    changed[300:] = 2
    np.testing.assert_array_equal(fitted(training=training), fitted(changed, training))


def test_the_clip_bounds_propensities_and_thereby_weights():
    propensity = fitted(clip=0.2)
    assert propensity.min() == 0.2
    assert ips_weights("paper", propensity, EVENT).max() <= 1 / (2 * 0.2)


def test_a_cause_that_all_or_none_had_needs_no_regression():
    assert (fitted(np.ones(N, dtype=int))[:, 0] == 1.0).all()
    assert (fitted(np.ones(N, dtype=int), clip=0.03)[:, 1] == 0.03).all()


def test_the_paper_form_drops_every_row_without_the_cause():
    weights = ips_weights("paper", fitted(), EVENT)
    assert not weights[EVENT == 0].any()
    assert not weights[EVENT == 1, 1].any()
    struck = EVENT == 2
    np.testing.assert_allclose(weights[struck, 1], 1 / (2 * fitted()[struck, 1]))


@pytest.mark.parametrize("form", [form for form in IPS_FORMS if form != "paper"])
def test_all_other_forms_keep_every_row_and_have_mean_one(form):
    weights = ips_weights(form, fitted(), EVENT)
    assert weights.shape == (N, 2)
    assert (weights > 0).all()
    assert weights.mean() == pytest.approx(1.0)


@pytest.mark.parametrize("form", IPS_FORMS)
def test_some_forms_do_not_look_at_the_outcome(form):
    other = RNG.permutation(EVENT)
    same = np.array_equal(ips_weights(form, fitted(), EVENT), ips_weights(form, fitted(), other))
    assert same == (form in ("none", "covariates", "causes"))


def ratios(form, propensity, event):
    """Weights relative to the first, since their common scale is free."""
    weights = ips_weights(form, propensity, event)
    return weights / weights[0, 0]


def test_the_forms_are_as_documented():
    propensity, event = np.array([[0.5, 0.1], [0.25, 0.3]]), np.array([1, 0])
    mean = propensity.mean(axis=0)
    np.testing.assert_allclose(ratios("none", propensity, event), np.ones((2, 2)))
    np.testing.assert_allclose(ratios("events", propensity, event), np.array([[2, 1], [1, 1]]) / 2)
    np.testing.assert_allclose(ratios("covariates", propensity, event), 0.5 / propensity)
    np.testing.assert_allclose(
        ratios("causes", propensity, event), np.broadcast_to(mean[0] / mean, (2, 2))
    )
    stabilised = np.where(
        np.array([[True, False], [False, False]]), mean / propensity, (1 - mean) / (1 - propensity)
    )
    np.testing.assert_allclose(
        ratios("stabilised", propensity, event), stabilised / stabilised[0, 0]
    )


def test_a_certain_cause_does_not_break_the_stabilised_form():
    weights = ips_weights("stabilised", np.array([[1.0], [0.5]]), np.array([0, 1]))
    assert np.isfinite(weights).all()


def test_rates_become_chances_that_agree_with_the_share_of_events():
    """Everybody followed for the same time: a rate says what the logistic regression says."""
    n = len(EVENT)
    time = np.full(n, 3.0)
    chances = propensities_by_rate(ENCODED, EVENT, time, n, 2, np.arange(n), clip=1e-9)
    for cause in (1, 2):
        rate = -np.log1p(-chances[:, cause - 1])
        assert rate.mean() == pytest.approx((cause == EVENT).mean(), rel=1e-3)
    again = propensities_by_rate(ENCODED, EVENT, 365 * time, n, 2, np.arange(n), clip=1e-9)
    np.testing.assert_allclose(again, chances, rtol=1e-6, err_msg="no unit of time matters")


def test_a_rate_learns_from_training_rows_alone_and_needs_an_event():
    n = len(EVENT)
    half, time = np.arange(n // 2), np.ones(n)
    event = np.where(np.arange(n) < n // 2, EVENT, 2)
    chances = propensities_by_rate(ENCODED, event, time, len(half), 3, half, clip=0.01)
    other = np.where(np.arange(n) < n // 2, EVENT, 1)
    again = propensities_by_rate(ENCODED, other, time, len(half), 3, half, clip=0.01)
    np.testing.assert_array_equal(chances, again)
    assert (chances[:, 2] == 0.01).all()


def test_rates_of_many_subjects_are_hardly_shrunk():
    rng, n = np.random.default_rng(1), 4000
    level, time = rng.integers(0, 2, n), rng.uniform(0.5, 2.0, n)
    encoded = Encoded(level[:, np.newaxis].astype(np.int32), np.ones((n, 1), np.float32))
    event = (rng.random(n) < time * np.where(level, 0.4, 0.05)).astype(np.int64)
    chances = propensities_by_rate(encoded, event, time, n, 1, np.arange(n), clip=1e-9)[:, 0]
    for each in (0, 1):
        rate = event[level == each].sum() / time[level == each].sum()
        expected = -np.expm1(-rate * time.mean())
        np.testing.assert_allclose(chances[level == each], expected, rtol=0.02)


def test_rates_of_few_subjects_are_shrunk_by_the_penalty_of_one_subjects_loss():
    """The one that makes the likelihood of all, less half the squares of coefficients, highest."""
    level, time = np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.array([1.0, 2, 1, 3, 2, 1, 4, 2])
    event = np.array([0, 0, 0, 1, 1, 0, 1, 0])
    encoded = Encoded(level[:, np.newaxis].astype(np.int32), np.ones((8, 1), np.float32))
    exposure = time / time.mean()

    def loss(x):
        log_rate = x[0] + x[1:][level]
        return np.sum(exposure * np.exp(log_rate) - event * log_rate) + np.sum(x[1:] ** 2) / 2

    best = minimize(loss, np.zeros(3), tol=1e-12).x
    chances = propensities_by_rate(encoded, event, time, 8, 1, np.arange(8), clip=1e-9)
    expected = -np.expm1(-np.exp(best[0] + best[1:][level]))
    np.testing.assert_allclose(chances[:, 0], expected, rtol=1e-4)
    assert chances[0, 0] > 0.05, "nobody of this level had the event, which is no proof"


@pytest.mark.parametrize("form", [form for form in IPS_FORMS if form != "paper"])
def test_cutting_every_row_into_two_changes_no_weight_and_leaves_a_mean_of_one(form):
    whole, twice = ips_weights(form, fitted(), EVENT), np.repeat(EVERYONE, 2)
    share = np.tile([0.25, 0.75], N)
    cut = ips_weights(form, fitted()[twice], EVENT[twice], share)
    np.testing.assert_allclose(cut, whole[twice])
    assert share @ cut.mean(axis=1) / N == pytest.approx(1.0)
