import numpy as np
import pytest
from numba import njit

from survtrace.ops.cpu import lanes
from survtrace.ops.cpu.lanes import (
    N_LANES,
    choose,
    every,
    gather,
    larger,
    load,
    scatter,
    spread,
    store,
    total,
)


@njit
def powers_of_two(x, out):
    for place in range(0, len(x), N_LANES):
        store(out, place, lanes.exp2(load(x, place)))


@njit
def arithmetic(x, y, out):
    a, b = load(x, 0), load(y, 0)
    store(out, 0, a + b)
    store(out, N_LANES, a - b)
    store(out, 2 * N_LANES, a * b)
    store(out, 3 * N_LANES, a / b)
    store(out, 4 * N_LANES, larger(a, b))
    store(out, 5 * N_LANES, choose(a, b, every(np.float32(7))))
    store(out, 6 * N_LANES, spread(x, 3))
    out[7 * N_LANES] = total(a)


@njit
def turned(x, out):
    """The second column of a matrix with three, to the first of one with two."""
    scatter(out, 0, 2, gather(x, 1, 3))


def test_a_power_of_two_is_exact_to_a_few_parts_in_ten_million():
    x = np.linspace(-125, 60, 4096).astype(np.float32)
    out = np.empty_like(x)
    powers_of_two(x, out)
    np.testing.assert_allclose(out, np.exp2(x.astype(np.float64)), rtol=4e-7)


@pytest.mark.parametrize("x", [-127.0, -1e30, -np.inf])
def test_a_power_too_small_to_matter_is_next_to_nothing(x):
    out = np.empty(N_LANES, np.float32)
    powers_of_two(np.full(N_LANES, x, np.float32), out)
    assert (out >= 0).all()
    assert (out <= 2.0**-125).all()


def test_operations_act_on_every_lane():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, N_LANES)).astype(np.float32)
    out = np.empty(8 * N_LANES, np.float32)
    arithmetic(x, y, out)
    expected = [x + y, x - y, x * y, x / y, np.maximum(x, y), np.where(x > 0, y, 7)]
    np.testing.assert_allclose(out[: 6 * N_LANES].reshape(6, -1), expected, rtol=1e-6)
    assert (out[6 * N_LANES : 7 * N_LANES] == x[3]).all()
    assert out[7 * N_LANES] == pytest.approx(x.sum(), rel=1e-5)


def test_columns_are_gathered_and_scattered():
    x = np.arange(3 * N_LANES, dtype=np.float32)
    out = np.zeros(2 * N_LANES, np.float32)
    turned(x, out)
    np.testing.assert_array_equal(out.reshape(-1, 2), np.stack([x[1::3], 0 * x[1::3]], axis=1))
