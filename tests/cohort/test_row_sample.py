"""A sample depends on the rows there are, not on how they came."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from survtrace.cohort.row_sample import Sample, hash_rows


def pieces_of(n_rows, at):
    rows = np.arange(n_rows)
    return [Sample(piece, (piece * 2.0, piece % 3)) for piece in np.split(rows, sorted(at))]


@given(st.integers(1, 60), st.lists(st.integers(0, 60), max_size=5), st.integers(1, 70))
def test_any_cut_and_any_order_give_the_same(n_rows, at, most):
    whole = Sample.join(pieces_of(n_rows, []), most)
    parts = pieces_of(n_rows, at)
    step_by_step = parts[0]
    for part in parts[1:]:
        step_by_step = Sample.join([step_by_step, part], most)
    step_by_step = Sample.join([step_by_step], most)
    for found in (Sample.join(parts[::-1], most), step_by_step):
        np.testing.assert_array_equal(found.row, whole.row)
        for ours, theirs in zip(found.columns, whole.columns, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert len(whole.row) == min(n_rows, most)
    np.testing.assert_array_equal(whole.columns[0], whole.row * 2.0)


def test_rows_are_in_order_and_spread_evenly():
    row = Sample.join(pieces_of(100_000, [500, 70_000]), 10_000).row
    assert (np.diff(row) > 0).all()
    counts = np.histogram(row, bins=10, range=(0, 100_000))[0]
    assert (abs(counts - 1000) < 150).all()


def test_no_two_rows_share_a_hash():
    assert len(np.unique(hash_rows(np.arange(100_000)))) == 100_000


@given(st.lists(st.integers(0, 60), max_size=5), st.integers(1, 70))
def test_a_subject_is_in_the_sample_with_all_its_rows_or_none(at, most):
    id = np.random.default_rng(0).integers(0, 15, 60)

    def parts(at):
        return [Sample(row, (row,), id[row]) for row in np.split(np.arange(60), sorted(at))]

    whole = Sample.join(parts([]), most)
    step_by_step = parts(at)[0]
    for part in parts(at)[1:]:
        step_by_step = Sample.join([step_by_step, part], most)
    for found in (Sample.join(parts(at)[::-1], most), Sample.join([step_by_step], most)):
        np.testing.assert_array_equal(found.row, whole.row)
    assert len(whole.row) <= most
    np.testing.assert_array_equal(whole.row, np.flatnonzero(np.isin(id, id[whole.row])))
