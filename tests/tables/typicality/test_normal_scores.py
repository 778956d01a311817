"""A level is as unusual as those of its frequency are rare."""

import numpy as np
import pytest
from scipy.stats import norm

from survtrace.tables.typicality.normal_scores import NormalScores, level_rarity, number_curve


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
