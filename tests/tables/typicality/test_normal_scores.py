"""A level is as unusual as those of its frequency are rare."""

import numpy as np
import pytest
from scipy.stats import norm

from survtrace.tables.typicality.normal_scores import level_rarity


def test_a_level_is_as_far_out_as_a_number_so_rarely_reached():
    """Levels met 90, 9 and 1 times of 100, and one never met: twice met once in 102."""
    rarity, _ = level_rarity(np.array([0, 0, 90, 9, 1]))
    chances = np.array([1.0, 0.1, 0.01])
    assert rarity[2:] == pytest.approx(-norm.ppf(chances / 2), abs=1e-3)
    assert rarity[1] == pytest.approx(-norm.ppf(2 / 102 / 2), abs=1e-3)


def test_what_is_missing_is_not_unusual_however_rare():
    rarity, bins = level_rarity(np.array([1, 0, 500, 499]))
    assert (rarity[0], bins[0]) == (0.0, -1)
