import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    Score,
    bootstrap,
    brier_score,
    censoring_survival,
    compare,
    concordance_paper,
    corrected_t_test,
    integrated_brier_score,
    paired_bootstrap,
)
from survtrace.tables.outcome.outcome import Outcome


def test_two_means_compare_as_a_paired_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.3, 1, 80), rng.normal(0, 1, 80)
    result = compare(Score.of_mean(first), Score.of_mean(second))
    assert result.difference == pytest.approx((first - second).mean())
    assert result.standard_error == pytest.approx((first - second).std() / np.sqrt(80))
    assert result.low < result.difference < result.high


def test_what_two_scores_share_does_not_blur_their_difference():
    rng = np.random.default_rng(1)
    danger = rng.normal(size=200)
    y = {"event": np.ones(200, int), "duration": rng.exponential(np.exp(-danger))}
    first = concordance_paper(y, danger)
    second = concordance_paper(y, danger + 0.3 * rng.normal(size=200))
    apart = np.hypot(first.standard_error, second.standard_error)
    assert compare(first, second).standard_error < apart / 2


def test_a_score_does_not_differ_from_itself():
    score = Score.of_mean(np.array([1.0, 2.0, 3.0]))
    result = compare(score, score)
    assert (result.difference, result.standard_error, result.p_value) == (0, 0, 1)


def test_an_undefined_score_compares_as_nan():
    result = compare(Score.undefined(3), Score.of_mean(np.array([1.0, 2.0, 3.0])))
    assert np.isnan(result.p_value)


def test_scores_of_different_subjects_are_refused():
    with pytest.raises(DataError, match="the first was computed on 3 and the second on 4"):
        compare(Score.of_mean(np.ones(3)), Score.of_mean(np.ones(4)))


def test_the_corrected_test_becomes_the_usual_one_for_tiny_test_parts():
    differences = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    result = corrected_t_test(differences, test_fraction=1e-12)
    assert result.p_value == pytest.approx(ttest_1samp(differences, 0).pvalue)


def test_the_corrected_test_inflates_the_variance_by_the_share_of_test_subjects():
    differences = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    result = corrected_t_test(differences, test_fraction=0.25, level=0.9)
    error = differences.std(ddof=1) * np.sqrt(1 / 5 + 1 / 3)
    assert result.standard_error == pytest.approx(error)
    assert result.high == pytest.approx(differences.mean() + t.ppf(0.95, 4) * error)


def test_equal_differences_are_decided_without_error():
    assert corrected_t_test([0.0, 0.0], 0.2).p_value == 1
    assert corrected_t_test([0.5, 0.5], 0.2).p_value == 0


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="two or more finite numbers"):
        corrected_t_test([0.1], 0.2)
    with pytest.raises(DataError, match="1 not finite"):
        corrected_t_test([0.1, np.nan], 0.2)
    with pytest.raises(DataError, match="1 not finite or farther"):
        corrected_t_test([0.1, 1e300], 0.2)
    with pytest.raises(SettingError, match="test_fraction must be a number above 0 and below"):
        corrected_t_test([0.1, 0.2], 20)
    with pytest.raises(SettingError, match="level must lie between 0 and 1; got 95"):
        corrected_t_test([0.1, 0.2], 0.2, level=95)


RNG = np.random.default_rng(0)
DANGER = RNG.normal(size=150)
LATENT, CENSORING = RNG.exponential(np.exp(-DANGER)), RNG.uniform(0.1, 4, 150)
Y = {"event": (LATENT <= CENSORING).astype(int), "duration": np.minimum(LATENT, CENSORING)}


def test_the_same_seed_draws_the_same_subjects():
    first, second = (bootstrap(concordance_paper, Y, DANGER, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.resamples, second.resamples)


def test_there_are_200_resamples_unless_others_are_asked_for():
    assert len(bootstrap(concordance_paper, Y, DANGER, random_state=0).resamples) == 200
    clear = paired_bootstrap(concordance_paper, Y, DANGER, -DANGER, random_state=0)
    assert clear.p_value == 2 * 1 / (200 + 1)


def test_settings_are_passed_on_and_a_score_at_many_times_has_many_intervals():
    times = [0.2, 0.5, 1.0]
    incidence = 1 - np.exp(-np.exp(DANGER)[:, np.newaxis] * times)
    G = censoring_survival(Y)
    result = bootstrap(
        brier_score, Y, incidence, times=times, y_train=G, n_resamples=50, random_state=0
    )
    assert result.resamples.shape == (50, 3)
    np.testing.assert_allclose(result.standard_error, result.resamples.std(axis=0, ddof=1))
    assert (result.low < result.estimate).all()
    assert (result.estimate < result.high).all()


def test_warnings_of_resamples_are_not_repeated():
    with pytest.warns(DataWarning) as seen:
        bootstrap(
            integrated_brier_score,
            Y,
            np.full((150, 3), 0.5),
            times=[0.2, 1.0, 99.0],
            n_resamples=20,
            random_state=0,
        )
    assert len(seen) == 1


def test_undefined_resamples_are_counted():
    y = {"event": [1, 0, 0, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(DataWarning, match=r"NaN in \d+ of 60 resamples"):
        result = bootstrap(
            concordance_paper, y, [4.0, 3, 2, 1], n_resamples=60, random_state=0, cause=1
        )
    assert result.low == 1


def test_times_that_cannot_be_scored_have_no_interval():
    with pytest.warns(DataWarning) as seen:
        result = bootstrap(
            brier_score, Y, np.full((150, 2), 0.5), times=[0.5, 99.0], n_resamples=5, random_state=0
        )
    assert [str(each.message)[:9] for each in seen] == ["the censo", "the score"]
    np.testing.assert_array_equal(np.isnan(result.low), [False, True])


def test_paired_resampling_agrees_with_influences():
    noisy = DANGER + RNG.normal(size=150)
    G = censoring_survival(Y)
    drawn = paired_bootstrap(
        concordance_paper, Y, DANGER, noisy, horizon=1.5, y_train=G, random_state=0
    )
    known = compare(*(concordance_paper(Y, each, 1.5, y_train=G) for each in (DANGER, noisy)))
    assert drawn.difference == pytest.approx(known.difference)
    assert drawn.standard_error == pytest.approx(known.standard_error, rel=0.2)
    assert drawn.p_value < 0.05


def test_a_prediction_does_not_beat_itself():
    result = paired_bootstrap(concordance_paper, Y, DANGER, DANGER, horizon=1.0, n_resamples=10)
    assert result.p_value == 1


def test_what_has_no_row_for_each_subject_must_be_named():
    with pytest.raises(DataError, match=r"each of the 150 subjects; got shape \(\)"):
        bootstrap(concordance_paper, Y, DANGER, 1.0)


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="n_resamples must be a whole number of at least 2"):
        bootstrap(concordance_paper, Y, DANGER, n_resamples=1)
    with pytest.raises(SettingError, match="level must lie between 0 and 1; got 95"):
        bootstrap(concordance_paper, Y, DANGER, level=95)


def test_a_subject_is_drawn_with_all_of_its_rows():
    n = 40
    entry, duration = np.tile([0.0, 1.0], n), np.tile([1.0, 2.0], n)
    duration[1::2] += RNG.random(n)
    event, id = np.tile([0, 1], n), np.repeat(np.arange(n), 2)
    shuffled = np.argsort(duration)
    y = Outcome(
        *(a[shuffled] for a in (duration, event)), (1,), entry=entry[shuffled], id=id[shuffled]
    )
    drawn = []

    def score(outcome, estimate):
        drawn.append((outcome, estimate))
        return concordance_paper(outcome, estimate)

    result = bootstrap(score, y, id[shuffled] / n, n_resamples=20, random_state=0)
    for outcome, estimate in drawn[1:]:
        counts = np.bincount(outcome.id)
        np.testing.assert_array_equal(counts, 2)
        assert len(counts) == n
        by_subject = estimate[np.argsort(outcome.id, kind="stable")].reshape(n, 2)
        np.testing.assert_array_equal(by_subject[:, 0], by_subject[:, 1])
        assert len(np.unique(by_subject[:, 0])) < n
    whole = result.estimate
    assert len(whole.influence) == n
    assert whole.standard_error == pytest.approx(result.standard_error, rel=0.5)


def test_numbers_that_know_no_subjects_are_not_compared():
    with pytest.raises(DataError, match="person by person; got float and float"):
        compare(0.2, 0.3)


def test_a_difference_that_no_resample_denies_is_as_improbable_as_resamples_can_tell():
    """The observed difference counts as one of them: no p-value is 0."""
    y = {"event": np.ones(40, int), "duration": np.arange(1.0, 41)}
    best = -np.arange(40.0)
    for first, second in ((best, -best), (-best, best)):
        found = paired_bootstrap(
            concordance_paper, y, first, second, n_resamples=99, random_state=0
        )
        assert found.p_value == pytest.approx(2 / 100)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_of_1_96_errors_has_a_two_sided_p_value_of_5_percent(sign):
    first = Score(0.5 + sign * 1.959964 * 0.05, np.array([0.03, -0.04]))
    result = compare(first, Score(0.5, np.zeros(2)))
    assert result.standard_error == pytest.approx(0.05)
    assert result.p_value == pytest.approx(0.05, rel=1e-5)


@pytest.mark.parametrize("first_id", [0, 1, 7])
def test_every_subject_may_be_drawn_whatever_number_the_first_one_has(first_id):
    id = first_id + np.repeat(np.arange(3), 2)
    entry, duration = np.tile([0.0, 1.0], 3), np.tile([1.0, 2.0], 3)
    y = Outcome(duration, np.tile([0, 1], 3), (1,), entry=entry, id=id)
    seen = []

    def score(outcome, number):
        assert len(outcome) == 6
        seen.extend(number)
        return 0.5

    bootstrap(score, y, id, n_resamples=30, random_state=0)
    np.testing.assert_array_equal(np.unique(seen[6:]), first_id + np.arange(3))


def test_a_score_at_many_times_has_the_error_that_it_has_at_each_alone():
    def error(times):
        settings = {"y_train": censoring_survival(Y), "n_resamples": 20, "random_state": 0}
        incidence = 1 - np.exp(-np.exp(DANGER)[:, np.newaxis] * times)
        return bootstrap(brier_score, Y, incidence, times=times, **settings).standard_error

    np.testing.assert_allclose(error([0.2, 1.0]), np.concatenate([error([0.2]), error([1.0])]))
