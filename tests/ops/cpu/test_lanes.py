import numpy as np
import pytest
from numba import njit

from survtrace.ops.cpu import lanes
from survtrace.ops.cpu.lanes import (
    N_LANES,
    choose,
    every,
    kept,
    larger,
    load,
    root,
    spread,
    store,
    sum_products,
    total,
    transpose,
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
    """Sixteen vectors, 20 apart, to vectors that are 16 apart."""
    transpose(x, 0, 20, out, 0, N_LANES)


@njit
def masked(bits, out):
    store(out, 0, kept(bits, 2, 4, np.float32(1.5)))


@njit
def roots(x, out):
    store(out, 0, root(load(x, 0)))
    out[N_LANES] = root(x[3])


add = sum_products(3, 2, spread_x=True)
multiply = sum_products(2, 2, spread_x=False, add=False)


@njit
def multiplied(x, y, out):
    """A matrix of numbers (3, 5) times one of vectors (5, 2); vectors (2, 5) times vectors."""
    add(out, 0, 32, 16, x, 0, 5, 1, y, 0, 16, 32, 5)
    multiply(out, 96, 32, 16, y, 0, 16, 32, y, 16, 32, 32, 4)


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


def test_sixteen_vectors_are_transposed():
    x = np.arange(16 * 20, dtype=np.float32)
    out = np.empty(256, np.float32)
    turned(x, out)
    np.testing.assert_array_equal(out.reshape(16, 16), x.reshape(16, 20)[:, :16].T)


def test_random_bits_below_the_threshold_keep_a_number():
    bits, out = np.arange(-6, 30).astype(np.int16), np.empty(N_LANES, np.float32)
    masked(bits, out)
    np.testing.assert_array_equal(out, np.where(bits[2:18] < 4, np.float32(1.5), 0))


def test_roots_are_taken_of_vectors_and_of_numbers():
    x, out = np.linspace(0, 9, N_LANES, dtype=np.float32), np.empty(N_LANES + 1, np.float32)
    roots(x, out)
    np.testing.assert_array_equal(out, np.sqrt(np.append(x, x[3])))


def test_products_are_summed():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5)).astype(np.float32)
    y = rng.normal(size=(5, 2, N_LANES)).astype(np.float32)
    out = np.ones(10 * N_LANES, np.float32)
    multiplied(x.reshape(-1), y.reshape(-1), out)
    added, replaced = out[:96].reshape(3, 2, -1), out[96:].reshape(2, 2, -1)
    np.testing.assert_allclose(added, 1 + np.einsum("ak,kbl->abl", x, y), atol=1e-5)
    shifted = np.stack([y[:4, 1], y[1:, 1]])
    np.testing.assert_allclose(replaced, np.einsum("kal,bkl->abl", y[:4], shifted), atol=1e-5)
