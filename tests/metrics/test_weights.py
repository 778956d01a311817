import numpy as np
import pytest

from survtrace.errors import SettingError
from survtrace.metrics import (
    CensoringSurvival,
    auc,
    auc_at,
    brier_score,
    brier_score_at,
    brier_score_survival,
    censoring_survival,
    concordance_paper,
    d_calibration_incidence,
    integrated_brier_score,
    integrated_brier_score_survival,
)
from survtrace.metrics.weights import Part, read_weights
from survtrace.tables.outcome.outcome import read_outcome

Y = read_outcome({"event": [1, 0, 1, 0, 1, 1], "duration": [1.0, 1.0, 2.0, 2.0, 2.0, 3.0]})
HALF, CURVES = np.full(6, 0.5), np.full((6, 2), 0.5)
SCORES = [
    (auc, (HALF, [2.0])),
    (auc_at, (HALF, 2.0)),
    (brier_score, (HALF, [2.0])),
    (brier_score_at, (HALF, 2.0)),
    (brier_score_survival, (HALF, [2.0])),
    (concordance_paper, (HALF,)),
    (d_calibration_incidence, (HALF, HALF, 2.0)),
    (integrated_brier_score, (CURVES, [1.0, 2.0])),
    (integrated_brier_score_survival, (CURVES, [1.0, 2.0])),
]


def test_an_event_weighs_by_the_chance_of_being_followed_until_just_before_it():
    np.testing.assert_allclose(read_weights(None, Y).by(2.0), [1, 0, 1.25, 0, 1.25, 2.5])


def test_scikit_survival_also_counts_those_censored_at_the_time_of_the_event():
    weights = read_weights(None, Y, "scikit-survival")
    np.testing.assert_allclose(weights.by(2.0), [1.25, 0, 2.5, 0, 2.5, 2.5])


def test_both_rules_agree_where_no_event_is_tied_with_a_censoring():
    y = read_outcome({"event": [1, 0, 1, 1], "duration": [1.0, 2.0, 3.0, 4.0]})
    np.testing.assert_array_equal(
        read_weights(None, y).by(3.0), read_weights(None, y, "scikit-survival").by(3.0)
    )


@pytest.mark.parametrize(
    ("score", "arguments"), SCORES, ids=lambda each: getattr(each, "__name__", "")
)
def test_every_weighted_score_takes_one_of_two_rules(score, arguments):
    with pytest.raises(SettingError, match=r"ties must be one of .*'left-limit'.*got 'breslow'"):
        score(Y, *arguments, ties="breslow")


@pytest.mark.parametrize("name", ["brier_score_at", "integrated_brier_score", "concordance_paper"])
def test_weights_of_training_subjects_add_an_error_that_falls_with_their_number(name):
    rng = np.random.default_rng(0)
    latent, censoring = rng.exponential(1, 300), rng.exponential(1, 300)
    y = {"event": (latent <= censoring).astype(int), "duration": np.minimum(latent, censoring)}
    twice = {key: np.tile(values, 2) for key, values in y.items()}
    noisy = rng.normal(-latent)
    known = censoring_survival(y)
    exact = CensoringSurvival(known.times, known.values)

    def error(y_train):
        if name == "brier_score_at":
            return brier_score_at(y, np.full(300, 0.3), 1.0, y_train=y_train).standard_error
        if name == "concordance_paper":
            return concordance_paper(y, noisy, 1.0, y_train=y_train).standard_error
        curves = np.full((300, 2), 0.3)
        return integrated_brier_score(y, curves, [0.5, 1.0], y_train=y_train).standard_error

    few, many, none = error(known), error(censoring_survival(twice)), error(exact)
    assert few > many > none
    assert few**2 - none**2 == pytest.approx(2 * (many**2 - none**2), rel=1e-6)


def test_the_training_outcome_may_be_that_of_the_scored_subjects():
    other_way = read_weights({"event": Y.event.copy(), "duration": Y.duration.copy()}, Y)
    assert other_way.from_scored
    assert not read_weights(Y.take(np.arange(5)), Y).from_scored


def test_the_noise_of_a_mean_weight_cancels_that_of_the_subjects():
    """Mean weights are 1 whoever is drawn, so nobody has an influence on them."""
    weights = read_weights(None, Y)
    each = weights.by(2.0)
    ended = Y.duration <= 2.0
    influence, _ = weights.noise(
        Part(each * ended / 6, Y.duration, True), Part([(each * ~ended).sum() / 6], [2.0], False)
    )
    np.testing.assert_allclose((each - 1) / 6 + influence, 0, atol=1e-15)
