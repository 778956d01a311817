"""What pieces say adds up to what the whole says, however it was cut."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survtrace.tables.covariates.summary import (
    Counts,
    Spread,
    nearest_quantiles,
    summarise,
)
from survtrace.tables.covariates.values import Levels

values = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), max_size=30)
words = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30)
cuts = st.lists(st.integers(0, 30), max_size=4)


def levels_of(texts):
    known = sorted({text for text in texts if text}, reverse=True)
    return Levels(np.array([known.index(t) if t else -1 for t in texts], dtype=np.int64), known)


@given(values, cuts)
def test_spreads_add_up(numbers, at):
    pieces = np.split(np.array(numbers, dtype=np.float64), sorted(at))
    parts, whole = [Spread.of(piece) for piece in pieces], Spread.of(np.concatenate(pieces))
    for order in (parts, parts[::-1]):
        found = reduce(add, order, Spread())
        exact = ("n", "n_missing", "smallest", "largest", "is_constant")
        assert [getattr(found, name) for name in exact] == [getattr(whole, name) for name in exact]
        assert found.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-7)
        assert found.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-4)


@given(words, cuts)
def test_counts_add_up(texts, at):
    ends = [0, *sorted(min(cut, len(texts)) for cut in at), len(texts)]
    pieces = [texts[first:last] for first, last in pairwise(ends)]
    parts, whole = [Counts.of(levels_of(piece)) for piece in pieces], Counts.of(levels_of(texts))
    for order in (parts, parts[::-1]):
        found = reduce(add, order, Counts())
        assert found == whole
        assert found.typical == whole.typical


def test_they_are_the_numbers_numpy_gives():
    numbers = np.random.default_rng(0).gamma(2.0, 3.0, 1000)
    spread = Spread.of(np.append(numbers, [np.nan, np.nan]))
    assert (spread.n, spread.n_missing) == (1000, 2)
    assert spread.mean == numbers.mean()
    assert spread.deviation == numbers.std()


def test_a_level_nobody_has_is_none_and_of_equals_the_first_in_order_is_typical():
    counts = summarise(Levels(np.array([0, 2, 2, 0]), ["z", "y", "x"]))
    assert counts.levels == {"z": 2, "x": 2}
    assert counts.typical == "x"
    assert Counts().typical is None


def test_far_from_zero_nothing_is_lost():
    numbers = 1e9 + np.arange(1000.0)
    parts = [Spread.of(piece) for piece in np.split(numbers, 50)]
    assert reduce(add, parts).deviation == pytest.approx(np.arange(1000.0).std(), rel=1e-9)


@pytest.mark.parametrize("value", [0.1, 0.3, 36.6, 1 / 3])
def test_a_constant_is_constant_in_pieces_too(value):
    parts = [Spread.of(np.full(n, value)) for n in (1000, 7, 313)]
    whole = reduce(add, parts, Spread())
    assert whole.is_constant
    assert not (whole + Spread.of(np.array([value * (1 + 1e-12)]))).is_constant
    assert not Spread().is_constant


@given(st.integers(1, 40), st.integers(0, 10**6))
def test_rows_cut_into_shares_are_summarised_as_whole_ones(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(50, 10, n).round(1)
    values[rng.random(n) < 0.2] = np.nan
    rows = rng.permutation(np.repeat(np.arange(n), rng.integers(1, 4, n)))
    share = rng.uniform(0.1, 1, len(rows))
    share /= np.bincount(rows, share)[rows]
    whole, cut = Spread.of(values), Spread.of(values[rows], share)
    for name in ("n", "mean", "squares", "smallest", "largest"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9)
    half = len(rows) // 2
    added = Spread.of(values[rows[:half]], share[:half]) + Spread.of(
        values[rows[half:]], share[half:]
    )
    assert added.mean == pytest.approx(whole.mean, rel=1e-9)
    assert added.squares == pytest.approx(whole.squares, rel=1e-6, abs=1e-6)
    present = np.flatnonzero(~np.isnan(values))
    if len(present):
        inside = np.isin(rows, present)
        at = [0.01, 0.25, 0.5, 0.99]
        found = nearest_quantiles(values[rows[inside]], at, share[inside])
        assert found == nearest_quantiles(values[present], at)
    levels = Levels(rng.integers(-1, 2, n), ["f", "m"])
    counts = Counts.of(Levels(levels.codes[rows], levels.text), share)
    assert counts.levels == pytest.approx(Counts.of(levels).levels)


def test_a_value_alone_is_constant():
    assert Spread.of(np.array([5.0])).is_constant
    assert Spread.of(np.array([5.0, np.nan])).is_constant
