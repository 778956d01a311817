import numpy as np
import pytest

from survtrace.metrics.pairs import PairTotals, pair_totals


def test_two_subjects_make_one_pair_seen_from_both_sides():
    totals = pair_totals(
        np.array([0, 1]), np.array([0.8, 0.3]), np.array([2.0, 5.0]), np.array([7.0, 3.0])
    )
    np.testing.assert_array_equal(totals.comparable, [[6, 0], [0, 6]])
    np.testing.assert_array_equal(totals.concordant, [[6, 0], [0, 6]])


def test_equal_keys_make_no_pair_and_the_share_is_nan():
    totals = pair_totals(np.zeros(3, int), np.arange(3.0), np.ones(3), np.ones(3))
    assert totals.weight == 0
    assert np.isnan([totals.score(), totals.share]).all()


def test_equal_estimates_count_half():
    totals = pair_totals(np.arange(4), np.zeros(4), np.ones(4), np.ones(4))
    assert totals.score() == 0.5
    assert totals.score().standard_error == 0


def test_estimates_that_differ_in_the_last_digit_are_not_tied():
    estimate = np.array([np.nextafter(0.5, 1), 0.5])
    assert pair_totals(np.arange(2), estimate, np.ones(2), np.ones(2)).score() == 1


def test_totals_add():
    part = pair_totals(np.arange(3), np.array([3.0, 1.0, 2.0]), np.ones(3), np.ones(3))
    assert (part + part).score() == part.score()


def test_without_a_pair_there_is_neither_a_score_nor_an_error():
    score = pair_totals(np.zeros(2, dtype=int), np.arange(2.0), np.ones(2), np.ones(2)).score()
    assert np.isnan([score, score.standard_error, *score.influence]).all()
    nobody = pair_totals(np.zeros(1, dtype=int), np.zeros(1), np.ones(1), np.ones(1)).score()
    assert (len(score.influence), len(nobody.influence)) == (2, 1)


@pytest.mark.parametrize(
    ("key", "n_disjoint"),
    [([0, 1, 1, 1], 1), ([0, 0, 0, 1], 1), ([0, 0, 1, 1], 2), ([0, 1, 2, 3], 2), ([0, 1, 2], 1.5)],
)
def test_a_perfect_score_rests_on_disjoint_pairs(key, n_disjoint):
    """No more than there are cases, controls, or half of both together."""
    n = len(key)
    totals = pair_totals(np.array(key), -np.array(key, float), np.ones(n), np.ones(n))
    assert (totals.score(), totals.score().n_effective) == (1, n_disjoint)
    assert totals.score(id=np.arange(n)).n_effective == n_disjoint


@pytest.mark.parametrize("id", [None, np.zeros(0, dtype=int)])
def test_of_nobody_there_is_no_score_and_nobody_with_an_influence(id):
    score = PairTotals(np.zeros((2, 0)), np.zeros((2, 0))).score(id=id)
    assert np.isnan(score)
    assert len(score.influence) == 0
