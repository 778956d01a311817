"""Numbers far from the training rows are remarked on, ordinary ones are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from survtrace import DataWarning
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import Encoded, learn_encoding
from survtrace.tables.covariates.ranges import (
    Bounds,
    innermost_bounds,
    is_any_outside,
    warn_of_far_values,
)

DRAWS = {
    "normal": lambda rng, n: rng.normal(60, 10, n),
    "skewed": lambda rng, n: rng.lognormal(0, 1, n),
    "rare": lambda rng, n: (rng.random(n) < 0.004).astype(float),
    "counts": lambda rng, n: rng.poisson(0.5, n).astype(float),
    "even": lambda rng, n: rng.random(n),
}


def learned(name, n=1000):
    table = open_table(pd.DataFrame({name: DRAWS[name](np.random.default_rng(0), n)}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return learn_encoding(table, infer_covariates(table))


def judge(encoding, values):
    [name] = encoding.names
    warn_of_far_values(encoding, encoding.encode(open_table(pd.DataFrame({name: values}))))


@pytest.mark.parametrize("n", [40, 250, 5000])
@pytest.mark.parametrize("name", DRAWS)
def test_held_out_rows_give_no_warning(name, n):
    encoding = learned(name)
    for seed in range(1, 11):
        judge(encoding, DRAWS[name](np.random.default_rng(seed), n))


@pytest.mark.parametrize("value", [-20.0, 150.0, 1e6])
def test_a_subject_far_out_gives_one(value):
    encoding = learned("normal")
    way_out = "nearly all training rows are inside, and predictions are a guess outside"
    seen = rf"normal \(.*\) lies outside 3\d.* to 8\d.* for 1 of 1 subject\(s\): {way_out}\.$"
    with pytest.warns(DataWarning, match=seen):
        judge(encoding, [value])


def test_an_absurd_number_is_found_among_many():
    values = DRAWS["normal"](np.random.default_rng(1), 5000)
    with pytest.warns(DataWarning, match="for 1 of 5,001 subject"):
        judge(learned("normal"), [610.0, *values])


def test_other_units_are_found():
    values = DRAWS["normal"](np.random.default_rng(1), 200)
    with pytest.warns(DataWarning, match="for 200 of 200 subject"):
        judge(learned("normal"), values * 12)


def test_a_missing_value_is_no_far_value():
    judge(learned("normal"), [np.nan, 60.0])


def test_of_categories_alone_nothing_is_outside():
    table = open_table({"sex": ["f", "m", "f"]})
    encoding = learn_encoding(table, infer_covariates(table))
    assert not is_any_outside(encoding.encode(table), innermost_bounds(encoding))


def test_a_value_at_the_bound_is_not_outside():
    encoding = learned("normal")
    [row], bounds = encoding.encode(open_table({"normal": [60.0]})).rows, innermost_bounds(encoding)
    rows = np.tile(row, (100, 1))
    for bound, outwards in ((bounds.low, -1e-3), (bounds.high, 1e-3)):
        values = np.tile(bound.astype(np.float32), (100, 1))
        warn_of_far_values(encoding, Encoded(rows, values))
        with pytest.warns(DataWarning, match="for 100 of 100 subject"):
            warn_of_far_values(encoding, Encoded(rows, values + np.float32(outwards)))


def test_values_a_two_thousandth_of_the_range_outside_are_outside_in_a_large_table():
    encoding = learned("normal")
    [scale] = encoding.columns
    step = (scale.high - scale.low) / 2000
    judge(encoding, np.repeat([scale.low, scale.high], 100))
    for value in (scale.low - step, scale.high + step):
        with pytest.warns(DataWarning, match="for 100 of 100 subject"):
            judge(encoding, np.full(100, value))


@pytest.mark.parametrize(
    ("value", "n", "outside"),
    [(2.0, 1, False), (-3.0, 1, False), (2.5, 1, True), (-3.5, 1, True), (0.0, 64, False)],
)
def test_few_rows_are_looked_at_before_they_are_counted(value, n, outside):
    bounds = Bounds(np.array([0]), np.array([-3.0]), np.array([2.0]))
    rows, values = np.ones((n, 1), np.int32), np.full((n, 1), value, np.float32)
    assert is_any_outside(Encoded(rows, values), bounds) == outside


def test_many_rows_are_counted_at_once():
    bounds = Bounds(np.array([0]), np.array([-3.0]), np.array([2.0]))
    many = Encoded(np.ones((65, 1), np.int32), np.zeros((65, 1), np.float32))
    assert is_any_outside(many, bounds)


@pytest.mark.parametrize("n", [1, 100, 20_000])
def test_of_several_covariates_those_far_out_are_named(n):
    draws = {
        name: DRAWS["normal"](np.random.default_rng(seed), 1000)
        for seed, name in [(0, "a"), (1, "b")]
    }
    table = open_table(pd.DataFrame(draws))
    encoding = learn_encoding(table, infer_covariates(table))
    for far, near in (("a", "b"), ("b", "a")):
        encoded = encoding.encode(open_table({near: np.full(n, 60.0), far: np.full(n, 600.0)}))
        with pytest.warns(DataWarning, match=rf"^{far}[^;]* for {n:,} of {n:,} subject\(s\): near"):
            warn_of_far_values(encoding, encoded)
