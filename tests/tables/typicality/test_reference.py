import numpy as np
import pytest

from survtrace.tables.typicality.reference import learn_shares, minus_log_share


def share(values, at):
    return np.exp(-minus_log_share(learn_shares(np.asarray(values, dtype=float)), np.array(at)))


def test_beyond_a_value_that_nearly_all_have_are_those_who_have_more():
    values = [*np.zeros(987), *np.arange(1.0, 14.0)]
    assert share(values, [0.0, 0.01]) == pytest.approx([1.0, 13 / 1000], rel=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 40, 5000])
def test_a_share_falls_from_1_and_is_never_that_of_nobody(n):
    values = np.random.default_rng(0).exponential(size=n)
    found = share(values, np.linspace(values.min(), 2 * values.max(), 200))
    assert found[0] == 1
    assert (np.diff(found) <= 0).all()
    assert found[-1] > 0
