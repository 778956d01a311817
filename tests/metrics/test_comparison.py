import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from survtrace.errors import DataError, SettingError
from survtrace.metrics import Score, compare, concordance_paper, corrected_t_test


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
    with pytest.raises(SettingError, match="test_fraction must lie between 0 and 1; got 20"):
        corrected_t_test([0.1, 0.2], 20)
    with pytest.raises(SettingError, match="level must lie between 0 and 1; got 95"):
        corrected_t_test([0.1, 0.2], 0.2, level=95)
