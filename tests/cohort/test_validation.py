"""Members hold out subjects of their own, stratified by cause, by their seed alone."""

import numpy as np
import pytest

from survtrace.cohort.validation import ValidationSplit, split_validation

EVENT = np.repeat([0, 1, 2], [60, 30, 10])


def test_every_member_is_stopped_by_its_own_rows_with_the_same_share_of_causes():
    split = split_validation(EVENT, 0.2, seeds=[1, 2, 3])
    assert split.validation.shape == (3, 20)
    for training, validation in zip(split.training, split.validation, strict=True):
        assert np.array_equal(np.sort(np.concatenate([training, validation])), np.arange(100))
        assert np.bincount(EVENT[validation]).tolist() == [12, 6, 2]
    assert not np.array_equal(split.validation[0], split.validation[1])


def test_the_draw_of_a_member_depends_on_its_seed_alone():
    together = split_validation(EVENT, 0.1, seeds=[4, 5, 6])
    alone = split_validation(EVENT, 0.1, seeds=[5])
    np.testing.assert_array_equal(together.validation[1], alone.validation[0])
    np.testing.assert_array_equal(together.training[1], alone.training[0])


@pytest.mark.parametrize("fraction", [1e-9, 0.013, 0.5, 0.97])
def test_the_size_of_the_draw_is_the_fraction_but_at_least_one(fraction):
    split = split_validation(EVENT, fraction, seeds=[0])
    assert split.validation.shape[1] == max(1, round(fraction * 100))


@pytest.mark.parametrize("fraction", [1e-9, 0.5, 0.99])
@pytest.mark.parametrize("n_subjects", [2, 3, 50])
def test_someone_is_held_out_and_someone_is_left(n_subjects, fraction):
    split = split_validation(np.arange(n_subjects) % 2, fraction, seeds=[0, 1])
    assert 0 < split.validation.shape[1] < n_subjects
    assert split.n_training + split.validation.shape[1] == n_subjects


@pytest.mark.parametrize("n_members", [1, 7, 8, 9, 20])
def test_a_bit_for_each_member_and_subject_says_it_all(n_members):
    held_out = np.random.default_rng(0).random((n_members, 30)) < 0.4
    held_out[:, 3] = True
    split = ValidationSplit.of(held_out)
    np.testing.assert_array_equal(split.held_out(), held_out)
    np.testing.assert_array_equal(split.held_out(slice(5, 9)), held_out[:, 5:9])
    np.testing.assert_array_equal(split.learned_from(), ~held_out.all(axis=0))
    assert split.bits.nbytes == 30 * -(-n_members // 8)
    drawn = split_validation(EVENT, 0.1, seeds=list(range(n_members)))
    assert drawn.n_training == 90 == len(drawn.training[-1])


def test_events_in_a_small_type_are_split_as_others():
    small = split_validation(EVENT.astype(np.uint8), 0.1, seeds=[4, 5])
    np.testing.assert_array_equal(small.bits, split_validation(EVENT, 0.1, seeds=[4, 5]).bits)


def test_a_subject_with_several_rows_is_never_split():
    n_rows = np.random.default_rng(0).integers(1, 5, 100)
    id = np.random.default_rng(1).permutation(np.repeat(np.arange(100), n_rows))
    split = split_validation(EVENT, 0.2, seeds=[1, 2, 3], id=id)
    uncut = split_validation(EVENT, 0.2, seeds=[1, 2, 3])
    np.testing.assert_array_equal(split.held_out(), uncut.held_out()[:, id])
    np.testing.assert_array_equal(split.held_out(slice(7, 20)), split.held_out()[:, 7:20])
    np.testing.assert_array_equal(split.learned_from(), uncut.learned_from()[id])
    assert (split.n_training, split.n_validation) == (80, 20)
    for rows, marks in zip(split.training, ~split.held_out(), strict=True):
        np.testing.assert_array_equal(rows[: marks.sum()], np.flatnonzero(marks))
        assert (rows[marks.sum() :] == len(id)).all(), "the number of the empty row"
    assert split.rows_per_subject == split.training.shape[1] / 80
    assert uncut.rows_per_subject == 1
