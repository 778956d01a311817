import numpy as np

from survtrace.tables.typicality.pair_tables import count_pairs


def test_who_lacks_one_of_two_values_is_in_no_cell():
    bins = np.array([[0, 1], [0, 1], [2, 0], [-1, 1], [2, -1], [-1, -1]])
    counts = count_pairs(bins, np.array([[0, 1]]), 3)
    np.testing.assert_array_equal(counts, [[[0, 2, 0], [0, 0, 0], [1, 0, 0]]])
