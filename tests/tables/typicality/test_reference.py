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


@pytest.mark.parametrize(("n", "k"), [(3, 1), (12, 4), (60, 8), (300, 9), (400, 10)])
def test_beyond_some_ten_subjects_shares_fall_as_those_of_the_next_exponential_one(n, k):
    """With k excesses of mean m, the next is beyond x with chance (1 + x / (k m))^-k."""
    knots = learn_shares(np.arange(float(n)))
    start, mean, share = n - 1.0 - k, (k + 1) / 2, k / (n + 1)
    x, level = np.unique(knots[:, knots[1] > 1e-9 - np.log(share)], axis=1)
    assert len(x) == 25
    excess = x - (start + 1e-6 * mean)
    np.testing.assert_allclose(np.exp(-level), share * (1 + excess / (k * mean)) ** -k, rtol=1e-7)
    assert level[-1] == pytest.approx(46)  # one in 10^20


def test_down_to_some_ten_subjects_shares_are_those_that_were_found():
    values = np.arange(300.0)
    at = values[: 300 - 9]
    assert share(values, at) == pytest.approx(1 - at / 300, rel=0.1)
    assert share(values, [0.0, 290.0]) == pytest.approx([1.0, 10 / 300])


def test_a_measure_that_is_the_same_for_all_has_a_short_tail():
    """Of mean 0.1, as if one of them were beyond: 0.1 and 1 are 1 and 10 means."""
    found = share(np.zeros(50), [0.0, 0.1, 1.0])
    assert found == pytest.approx([1.0, 1 / 51 / 2, 1 / 51 / 11], rel=0.1)


@pytest.mark.parametrize("n", [1, 40, 5000])
def test_there_are_knots_of_64_shares_one_beyond_and_25_of_the_tail(n):
    """Fewer values have fewer of their own; of many different ones no knot is to spare."""
    knots = learn_shares(np.random.default_rng(0).exponential(size=n))
    assert knots.shape == (2, 64 + 1 + 25)
    assert (np.diff(knots[0]) > 0).all() == (n == 5000)
