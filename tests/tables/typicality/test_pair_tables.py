import numpy as np
import pytest
from scipy.stats import chi2_contingency

from survtrace.tables.typicality import pair_tables as module
from survtrace.tables.typicality.pair_tables import (
    _likelihood_ratio,
    count_pairs,
    find_pairs,
    pair_tables,
)


def test_who_lacks_one_of_two_values_is_in_no_cell():
    bins = np.array([[0, 1], [0, 1], [2, 0], [-1, 1], [2, -1], [-1, -1]])
    counts = count_pairs(bins, np.array([[0, 1]]), 3)
    np.testing.assert_array_equal(counts, [[[0, 2, 0], [0, 0, 0], [1, 0, 0]]])


def counted(counts):
    """Subjects in as many as two bins each, by a table of counts."""
    cells = np.argwhere(np.ones_like(counts))
    return np.repeat(cells, np.ravel(counts), axis=0)


def test_the_likelihood_ratio_is_that_of_a_contingency_table():
    counts = np.random.default_rng(0).integers(1, 30, (2, 3, 4)).astype(float)
    ratio, free = _likelihood_ratio(counts[None])
    for k, table in enumerate(counts):
        expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        assert (ratio[0, k], free[0, k]) == pytest.approx((expected.statistic, expected.dof))


def test_bins_that_nobody_is_in_leave_nothing_free():
    ratio, free = _likelihood_ratio(np.array([[[[5.0, 3.0, 0.0], [0.0, 0.0, 0.0]]]]))
    assert (ratio.item(), free.item()) == (pytest.approx(0.0, abs=1e-12), 0)


def test_a_pair_depends_by_more_than_six_standard_errors():
    """With one degree of freedom, a likelihood ratio above 1 + 6 * sqrt(2), which is 9.49."""
    for counts, found in (([[21, 9], [9, 21]], [[0, 1]]), ([[20, 10], [10, 20]], [])):
        ratio = chi2_contingency(counts, correction=False, lambda_="log-likelihood").statistic
        assert (ratio > 1 + 6 * np.sqrt(2)) == bool(found)
        assert find_pairs(counted(counts)).tolist() == found


def test_a_wide_table_is_looked_at_by_quarters_of_its_bins():
    """Of bins 0 to 19, 3 and 4 lie in the first quarter, 5 in the second, 19 in the last."""
    bins = np.zeros((60, 65), dtype=np.int64)
    for column, pair in enumerate([(3, 4), (4, 5), (0, 19)]):
        bins[:, column] = np.tile(pair, 30)
    assert find_pairs(bins[:, :64]).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert find_pairs(bins).tolist() == [[1, 2]]
    few = np.minimum(bins, 3)  # as many bins as quarters
    few[::2, 0] = 2
    assert find_pairs(few).tolist() == [[0, 2]]


def test_in_a_wide_table_what_is_missing_stays_so():
    bins = np.zeros((60, 65), dtype=np.int64)
    bins[:, 0], bins[:, 1] = np.tile([-1, 4], 30), np.tile([0, 19], 30)
    assert find_pairs(bins).tolist() == []


def test_pairs_are_looked_for_among_the_first_256_columns():
    bins = np.zeros((60, 258), dtype=np.int64)
    bins[::2, [0, 255, 256, 257]] = 1
    assert find_pairs(bins).tolist() == [[0, 255]]


def test_no_more_than_64_pairs_are_kept():
    bins = np.tile(np.arange(60)[:, None] % 2, (1, 12))  # of which there are 66 pairs
    assert find_pairs(bins).tolist() == np.argwhere(np.triu(np.ones((12, 12)), 1))[:64].tolist()


@pytest.mark.parametrize(
    ("n", "most_sums", "found"),
    [
        (2000, 16_000, [[0, 1]]),  # 16,000 / (2 columns * 2 bins)^2: a thousand subjects
        (1000, 16_000, []),
        (1000, 0, [[0, 1]]),  # five hundred at the least
        (500, 0, []),
    ],
)
def test_of_many_subjects_evenly_some_are_counted(monkeypatch, n, most_sums, found):
    """Of those with even numbers both columns agree; of all of them neither tells the other."""
    monkeypatch.setattr("survtrace.tables.typicality.pair_tables.MOST_SUMS", most_sums)
    first = np.arange(n) // 2 % 2
    second = np.where(np.arange(n) % 2 == 0, first, 1 - first)
    assert find_pairs(np.stack([first, second], axis=1)).tolist() == found


def test_a_combination_is_as_surprising_as_it_is_rarer_than_expected():
    """Of 100 subjects 40 and 10, 10 and 40: half in each bin, a quarter expected in each cell."""
    columns = np.array([[0, 1]])
    tables = pair_tables(np.array([[[40.0, 10.0], [10.0, 40.0]]]), columns, 100)
    often, rarely = np.log(0.26 / 0.41), np.log(0.26 / 0.11)
    mean = 0.8 * often + 0.2 * rarely
    expected = [[often, rarely, mean], [rarely, often, mean], [mean, mean, mean]]
    np.testing.assert_allclose(tables.tables[0], expected)
    bins = np.array([[0, 1], [1, 1], [-1, 0], [0, -1]])
    np.testing.assert_allclose(tables.read(bins)[:, 0], [rarely, often, mean, mean])


def test_of_more_subjects_than_can_be_counted_every_second_is_from_the_first_on(monkeypatch):
    monkeypatch.setattr(module, "MOST_SUMS", 0)  # so that 500 are counted
    alternating, halves = np.tile([0, 1], 250), np.repeat([0, 1], 250)
    bins = np.empty((1000, 2), dtype=np.int64)
    bins[::2] = np.stack([alternating, alternating], axis=1)
    bins[1::2] = np.stack([alternating, halves], axis=1)
    assert find_pairs(bins).tolist() == [[0, 1]]
    assert find_pairs(bins[1:]).tolist() == []
