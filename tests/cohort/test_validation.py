"""Who is held out of a block is known from seed and number alone."""

import numpy as np
import pytest

from survtrace.cohort.validation import count_held_out, hold_out


def test_a_members_draw_does_not_depend_on_the_others():
    together, alone = hold_out(100, 0.1, [4, 5, 6], block=3), hold_out(100, 0.1, [5], block=3)
    assert together.shape == (3, 10)
    np.testing.assert_array_equal(together[1], alone[0])
    assert not np.array_equal(together[0], together[1])
    assert not np.array_equal(alone, hold_out(100, 0.1, [5], block=4))


@pytest.mark.parametrize("fraction", [1e-9, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("n_subjects", [0, 1, 2, 3, 50])
def test_someone_is_held_out_and_someone_is_left(n_subjects, fraction):
    held_out = hold_out(n_subjects, fraction, [0, 1], block=0)
    assert held_out.shape == (2, count_held_out(n_subjects, fraction))
    assert 0 <= held_out.shape[1] <= max(n_subjects - 1, 0)
    assert held_out.shape[1] > 0 or n_subjects < 2
    assert all(len(np.unique(own)) == len(own) for own in held_out)
