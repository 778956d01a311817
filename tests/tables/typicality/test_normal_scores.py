"""A level is as unusual as those of its frequency are rare."""

import numpy as np
import pytest
from scipy.stats import expon, genpareto, norm

from survtrace.tables.typicality.normal_scores import (
    NormalScores,
    _tail,
    level_rarity,
    number_curve,
)


def test_a_level_is_as_far_out_as_a_number_so_rarely_reached():
    """Levels met 90, 9 and 1 times of 100, and one never met: twice met once in 102."""
    rarity, _ = level_rarity(np.array([0, 0, 90, 9, 1]))
    chances = np.array([1.0, 0.1, 0.01])
    assert rarity[2:] == pytest.approx(-norm.ppf(chances / 2), abs=1e-3)
    assert rarity[1] == pytest.approx(-norm.ppf(2 / 102 / 2), abs=1e-3)


def test_what_is_missing_is_not_unusual_however_rare():
    rarity, bins = level_rarity(np.array([1, 0, 500, 499]))
    assert (rarity[0], bins[0]) == (0.0, -1)


def test_a_unit_does_not_change_how_unusual_a_number_is():
    values = np.random.default_rng(0).lognormal(size=500)
    knots, scores = number_curve(values)
    in_thousandths, same = number_curve(1000 * values)
    np.testing.assert_allclose(in_thousandths, 1000 * knots)
    np.testing.assert_allclose(same, scores)


def test_a_number_turned_round_is_as_unusual_on_the_other_side():
    values = np.random.default_rng(0).lognormal(size=501)
    knots, scores = number_curve(values)
    turned_knots, turned_scores = number_curve(-values)
    np.testing.assert_allclose(turned_knots[::-1], -knots)
    np.testing.assert_allclose(turned_scores[::-1], -scores, atol=1e-12)


def test_the_median_scores_0_also_where_the_density_jumps():
    values = np.concatenate([np.linspace(-1, 0, 500, endpoint=False), np.linspace(0, 100, 501)])
    assert np.interp(0.0, *number_curve(values)) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("n_edges", "n_bins"), [(3, 13), (12, 13), (19, 20)])
def test_there_are_bins_for_all_numbers_and_for_all_levels(n_edges, n_bins):
    nothing, edges = np.empty(0), np.linspace(-2, 2, n_edges)
    assert NormalScores(nothing, nothing, nothing, nothing.astype(int), edges).n_bins == n_bins


@pytest.mark.parametrize("values", [[], [3.0], [3.0] * 50], ids=len)
def test_of_numbers_that_are_all_the_same_none_is_unusual(values):
    found = np.interp([-1e9, 3.0, 1e9], *number_curve(np.array(values)))
    assert found.tolist() == [0.0, 0.0, 0.0]


def test_two_numbers_have_a_curve_by_which_what_lies_beyond_them_is_unusual():
    knots, scores = number_curve(np.array([1.0, 2.0]))
    assert np.isfinite(knots).all()
    assert (np.diff(scores) > 0).all()
    assert np.interp(50.0, knots, scores) > 2 > -2 > np.interp(-50.0, knots, scores)


@pytest.mark.parametrize(
    "excess",
    [[1.0, 1.0, 1.0, 9.0], [1.0] * 20 + [30.0] * 2, [0.0, 2.0]],
    ids=["heavy", "heavier", "exponential"],
)
def test_a_tail_is_the_pareto_distribution_with_mean_and_variance_of_the_excesses(excess):
    """A third of the subjects, and of one more, has an excess: a chance is three times its own."""
    excess = np.array(excess)
    n = 3 * len(excess) - 1
    knots, chances = _tail(excess, n, 0.0)
    shape = (1 - excess.mean() ** 2 / excess.var()) / 2
    tail = genpareto(shape, scale=excess.mean() * (1 - shape))
    assert tail.stats("mv") == pytest.approx((excess.mean(), excess.var()))
    np.testing.assert_allclose(knots, tail.isf(chances * 3), atol=1e-12)
    assert chances == pytest.approx(10.0 ** -np.arange(1, 12.5, 0.5))


def test_a_tail_has_no_end_though_the_excesses_are_much_alike():
    knots, chances = _tail(np.array([4.0, 5.0]), 999, 0.0)
    np.testing.assert_allclose(knots, expon(scale=4.5).isf(chances * 500))


@pytest.mark.parametrize("excess", [[], [7.0], [0.1, 0.1]], ids=["nobody", "one", "hardly"])
def test_a_tail_of_which_little_is_known_is_short_and_exponential(excess):
    knots, chances = _tail(np.array(excess), 99, 2.0)
    np.testing.assert_allclose(knots, expon(scale=2.0).isf(chances * 100 / max(len(excess), 1)))
    assert chances.max() < 0.7 * max(len(excess), 1) / 100


def test_a_tail_begins_well_below_the_chance_of_what_lies_before_it():
    """Of 14 in 99 the share is 0.14, of which 70 % are less than one in ten; of 15 they are not."""
    assert _tail(np.ones(14), 99, 1.0)[1].max() == pytest.approx(10**-1.5)
    assert _tail(np.ones(15), 99, 1.0)[1].max() == pytest.approx(0.1)


@pytest.mark.parametrize(("n", "n_tail"), [(3, 1), (20, 5), (36, 9), (100, 10), (1000, 20)])
def test_a_tail_has_a_fiftieth_and_ten_subjects_but_no_more_than_a_quarter(n, n_tail):
    """Where it begins, the score is that of the middle of the step there."""
    knots, scores = number_curve(np.arange(float(n)))
    for value in {n_tail, n - 1 - n_tail}:
        [place] = np.flatnonzero(knots == value)
        assert scores[place] == pytest.approx(norm.ppf((value + 0.5) / n))


def test_a_tail_is_no_shorter_than_a_thousandth_of_the_whole_range():
    """All but one have the same value, so that the outermost quantiles are no distance apart."""
    knots, _ = number_curve(np.append(np.zeros(100), 1000.0))
    assert knots[-1] == pytest.approx(np.log(1 / 102 / 1e-12))
