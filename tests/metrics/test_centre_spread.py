"""Scores over centres: their mean, their spread beyond chance, and what a new centre will have."""

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from survtrace.errors import DataError, SettingError
from survtrace.metrics import centre_spread, difference_test

VALUES = np.array([0.8, 1.0, 1.5, 1.1])
ERRORS = np.array([0.1, 0.1, 0.2, 0.3])


def test_centres_that_agree_have_no_spread_but_a_new_one_may_differ():
    agree = {"values": [0.70, 0.71, 0.69, 0.70], "errors": np.full(4, 0.05), "scale": "logit"}
    found, if_known = centre_spread(**agree), centre_spread(**agree, tau_known=True)
    assert found.tau == 0
    assert (if_known.new_low, if_known.new_high) == (found.low, found.high)
    assert found.new_low <= found.low < found.high <= found.new_high
    apart = centre_spread([0.70, 0.74, 0.66, 0.70], np.full(4, 0.05), scale="logit")
    assert apart.tau == 0
    assert apart.new_low < apart.low < apart.high < apart.new_high
    assert found.p_value > 0.99


def test_many_precise_centres_tell_their_spread_and_a_new_one_lies_within_two_of_it():
    values = np.random.default_rng(0).normal(1.0, 0.2, 400)
    found = centre_spread(values, np.full(400, 0.01))
    assert found.tau == pytest.approx(values.std(ddof=1), rel=0.01)
    assert found.new_high - found.mean == pytest.approx(1.97 * found.tau, rel=0.05)


def test_95_percent_intervals_for_a_new_centre_hold_about_as_many():
    rng, tau, held = np.random.default_rng(1), 0.1, []
    for _ in range(100):
        values = rng.normal(0, tau, 6) + rng.normal(0, 0.1, 6)
        found = centre_spread(values, np.full(6, 0.1))
        held.append(np.diff(norm.cdf([found.new_low, found.new_high], scale=tau)))
    assert 0.91 < np.mean(held) < 0.99


def test_with_equal_errors_it_is_the_plain_mean_and_the_spread_beyond_chance():
    values, error = np.array([1.0, 2.0, 4.0, 5.0]), 0.5
    found = centre_spread(values, np.full(4, error))
    assert found.mean == pytest.approx(3.0)
    assert found.tau**2 == pytest.approx(values.var(ddof=1) - error**2)
    half = 3.182446 * values.std(ddof=1) / 2  # t with 3 degrees of freedom
    assert found.high - found.mean == pytest.approx(half, rel=1e-5)


def test_the_interval_of_a_new_centre_is_that_of_simulated_ones():
    """With equal errors: the spread by the chi-square of Q, the mean by Student's t around it."""
    values, error, n = np.array([0.0, 2.0]), 1.0, 400_000
    rng, squares = np.random.default_rng(0), values.var() * len(values)
    between = np.maximum(squares / rng.chisquare(1, n) - error**2, 0)
    of_mean = np.sqrt(np.maximum(squares, error**2 + between) / 2) * rng.standard_t(1, n)
    new = values.mean() + of_mean + np.sqrt(between) * rng.normal(size=n)
    found = centre_spread(values, np.full(2, error), level=0.5)
    assert (found.new_low, found.new_high) == pytest.approx(
        np.quantile(new, [0.25, 0.75]), abs=0.05
    )


def test_ratios_turned_round_are_summarised_turned_round():
    found = centre_spread(VALUES, ERRORS, scale="log")
    other = centre_spread(1 / VALUES, ERRORS / VALUES**2, scale="log")
    assert other.mean == pytest.approx(1 / found.mean)
    assert (other.low, other.high) == pytest.approx((1 / found.high, 1 / found.low))
    ends = 1 / found.new_high, 1 / found.new_low
    assert (other.new_low, other.new_high) == pytest.approx(ends)
    assert other.tau == pytest.approx(found.tau)


def test_centres_without_a_place_on_the_scale_are_left_out():
    found = centre_spread([*VALUES, np.nan, 0.0], [*ERRORS, 0.1, 0.1], scale="log")
    assert found == centre_spread(VALUES, ERRORS, scale="log")


def test_so_is_a_share_of_1_which_has_no_error():
    found = centre_spread([0.7, 0.8, 1.0], [0.05, 0.05, 0.0], scale="logit")
    assert found == centre_spread([0.7, 0.8], [0.05, 0.05], scale="logit")


@pytest.mark.parametrize("n_centres", [0, 1])
def test_one_centre_has_no_spread_to_tell(n_centres):
    found = centre_spread(VALUES[:n_centres], ERRORS[:n_centres])
    assert found.n_centres == n_centres
    assert np.isnan([found.tau, found.low, found.new_high, found.p_value]).all()
    assert difference_test(VALUES[:n_centres], ERRORS[:n_centres])[0] == n_centres


def test_of_two_groups_the_test_is_that_of_their_difference():
    n_groups, statistic, _ = difference_test([1.0, 1.6], [0.3, 0.4])
    assert n_groups == 2
    assert statistic == pytest.approx(0.6**2 / (0.3**2 + 0.4**2))


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"same length; got shapes \(2,\) and \(1,\)"):
        centre_spread([1.0, 2.0], [0.1])
    with pytest.raises(SettingError, match="scale must be one of"):
        centre_spread([1.0, 2.0], [0.1, 0.1], scale="sqrt")
    with pytest.raises(DataError, match=r"values must lie within .*1 of 2 do not .*entry 1, 1e"):
        difference_test([1.0, 1e300], [0.1, 0.1])
    with pytest.raises(DataError, match=r"errors must lie within .*1 of 2 do not"):
        centre_spread([1.0, 2.0], [0.1, 1e300])


def test_two_centres_that_happen_to_agree_leave_their_mean_uncertain():
    found = centre_spread([0.610, 0.611], [0.05, 0.05], scale="logit")
    assert found.low < 0.5 < 0.7 < found.high
    assert found.new_low <= found.low < found.high <= found.new_high


def test_what_is_not_known_of_a_new_centre_is_taken_in_fifty_even_steps_each():
    """With equal errors the steps of the spread have a closed form; they are interpolated."""
    values, error, even = np.array([0.0, 2.0, 3.0]), 1.0, (np.arange(50) + 0.5) / 50
    squares = np.sum((values - values.mean()) ** 2)
    between = np.maximum(squares / chi2.ppf(even, 2) - error**2, 0)
    of_mean = np.sqrt(np.maximum(squares / 2, error**2 + between) / 3)[:, None] * t.ppf(even, 2)
    of_new = np.sqrt(between)[:, None] * norm.ppf(even)
    new = values.mean() + of_mean[:, :, None] + of_new[:, None]
    found = centre_spread(values, np.full(3, error), level=0.5)
    ends = np.quantile(new, [0.25, 0.75])
    assert (found.new_low, found.new_high) == pytest.approx(ends, abs=1e-3)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    ("values", "errors", "tau"),
    [([-4.0, 4.0, 4.0], [3.0, 0.1, 0.1], 0.0), ([8.0, -6.0, 8.0], [0.2, 2.0, 0.1], 7.828)],
)
def test_of_two_maxima_of_the_likelihood_the_larger_one_tells_the_spread(values, errors, tau, unit):
    """Two centres agree closely and a vague one is far off: one maximum is at 0, one is not."""
    value, variance = np.array(values), np.array(errors) ** 2
    places = np.append(0.0, np.geomspace(1e-3, 30, 2000))
    likelihood = []
    for place in places:
        weight = 1 / (variance + place**2)
        squares = weight @ (value - np.average(value, weights=weight)) ** 2
        likelihood.append(np.log(weight).sum() - np.log(weight.sum()) - squares)
    rises = np.sign(np.diff(likelihood))
    assert (rises[0], (np.diff(rises) < 0).sum()) == (-1, 1)
    assert places[np.argmax(likelihood)] == pytest.approx(tau, rel=0.005)
    found = centre_spread(unit * value, unit * np.array(errors), tau_known=True)
    assert found.tau / unit == pytest.approx(tau, rel=1e-3)


def test_centres_apart_without_a_spread_of_their_own_leave_their_mean_uncertain():
    """By hand: two of error .1 at 4 are one of variance .005; the third is 8 from it."""
    found = centre_spread([-4.0, 4.0, 4.0], [3.0, 0.1, 0.1])
    assert found.tau == 0
    squares, weight = 8**2 / (9 + 0.005), 1 / 9 + 1 / 0.005
    assert found.statistic == pytest.approx(squares)
    half = 4.302653 * np.sqrt(squares / 2 / weight)  # t with 2 degrees of freedom
    assert found.high - found.mean == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1e-7, 1e-12, 1e6])
def test_the_unit_of_a_score_does_not_matter_to_its_spread_between_centres(unit):
    """Errors of thousandths have variances of millionths, to be told as exactly as others."""
    found = centre_spread(VALUES, ERRORS, tau_known=True)
    scaled = centre_spread(VALUES * unit, ERRORS * unit, tau_known=True)
    assert found.tau > 0
    for name in ("mean", "low", "high", "tau", "new_low", "new_high"):
        assert getattr(scaled, name) / unit == pytest.approx(getattr(found, name), rel=1e-8)
