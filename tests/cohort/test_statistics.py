"""Statistics do not depend on how the table was cut, and teach what the whole table teaches."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survtrace import DataError, DataWarning
from survtrace.cohort import statistics as module
from survtrace.cohort.source import Chunk
from survtrace.cohort.statistics import add_up, chunk_statistics, join
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import learn_encoding, learn_from_summaries
from survtrace.tables.outcome.outcome import read_outcome

N = 60
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": RNG.normal(60, 10, N).round(1),
        "size": np.where(RNG.random(N) < 0.2, np.nan, RNG.gamma(2, 3, N)),
        "sex": RNG.choice(["f", "m", None], N),
        "code": RNG.integers(0, 3, N),
    }
)
LABELS = np.array([0, 1, "b", 3], dtype=object)
Y = {"event": np.sort(RNG.integers(0, 4, N)), "duration": RNG.exponential(5, N).round(1) + 0.1}
Y["event"] = LABELS[Y["event"]]  # sorted, so that a piece does not know of all causes
COVARIATES = infer_covariates(open_table(X), categorical=["code"])


def encoding_of(statistics, covariates=COVARIATES):
    values = statistics.values.columns[0].T
    copies = statistics.copies
    return learn_from_summaries(covariates, statistics.columns, values, copies=copies)


def statistics_of(first, last, number=0):
    table = open_table(X[first:last])
    y = {name: column[first:last] for name, column in Y.items()}
    outcome = read_outcome(y, causes=(1, 3, "b"))
    rows = np.arange(last - first)
    weight = np.linspace(1, 2, N)[first:last]
    return chunk_statistics(Chunk(number, first, table, rows, outcome, weight), COVARIATES, rows)


def parts_at(cuts):
    ends = [0, *sorted(set(cuts)), N]
    return [statistics_of(first, last) for first, last in pairwise(ends)]


def assert_alike(found, expected):
    for ours, theirs in zip(found.columns, expected.columns, strict=True):
        assert type(ours) is type(theirs)
        for name, value in vars(theirs).items():
            close = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            assert getattr(ours, name) == close


cuts = st.lists(st.integers(1, N - 1), max_size=6)


@given(cuts, st.randoms(), st.sampled_from([5, 1000]))
def test_any_cut_and_any_order_teach_the_same(at, random, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_OUTCOMES", most)
        patch.setattr(module, "MOST_VALUES", most)
        whole, parts = join([statistics_of(0, N)]), parts_at(at)
        random.shuffle(parts)
        half = len(parts) // 2
        nested = [join(some) for some in (parts[:half], parts[half:]) if some]
        found = join(nested)
    for name in ("events", "n_missing"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    for ours, theirs in zip(found.columns, whole.columns, strict=True):
        assert (ours.n, ours.n_missing) == (theirs.n, theirs.n_missing)
    for name in ("outcomes", "values"):
        ours, theirs = getattr(found, name), getattr(whole, name)
        np.testing.assert_array_equal(ours.row, theirs.row)
        for column, expected in zip(ours.columns, theirs.columns, strict=True):
            np.testing.assert_array_equal(column, expected)
    assert found.weight.mean == pytest.approx(whole.weight.mean, rel=1e-12)
    assert_alike(encoding_of(found), encoding_of(whole))


def test_it_is_what_the_table_in_memory_teaches():
    statistics = join(parts_at([7, 20, 33]))
    assert_alike(encoding_of(statistics), learn_encoding(open_table(X), COVARIATES))
    outcome = read_outcome(Y)
    for found, expected in zip(
        statistics.outcomes.columns, (outcome.duration, outcome.event), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert outcome.causes == (1, 3, "b")
    assert statistics.events[1:].tolist() == list(outcome.n_events.values())


def test_nothing_is_learned_from_rows_that_are_not_used():
    table = open_table(X.assign(sex=np.where(X["age"] > 60, "x", X["code"].map(str))))
    used = np.flatnonzero(X["age"] <= 60)
    chunk = Chunk(0, 0, table, np.arange(N), read_outcome(Y), np.ones(N))
    statistics = chunk_statistics(chunk, COVARIATES, used)
    encoding = encoding_of(statistics)
    assert encoding.columns[0].mean == pytest.approx(X["age"][used].mean())
    assert encoding.columns[2].levels == ("0", "1", "2")
    assert statistics.outcomes.row.tolist() == used.tolist()
    assert len(statistics.events) == 4


def test_columns_that_teach_nothing_are_named():
    table = open_table({"age": [1.0, 2.0], "gone": [np.nan, np.nan], "same": ["x", "x"]})
    outcome, rows = read_outcome({"event": [1, 0], "duration": [1.0, 2.0]}), np.arange(2)
    covariates = infer_covariates(table)
    statistics = chunk_statistics(Chunk(0, 0, table, rows, outcome, np.ones(2)), covariates, rows)
    with pytest.warns(DataWarning, match=r"'all missing': \['gone'\], 'constant': \['same'\]"):
        encoding_of(statistics, covariates)


def test_an_identifier_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(module, "MOST_LEVELS", 2)
    monkeypatch.setattr(module, "WAITING", 10)
    seen = []

    def parts():
        for part in parts_at([20, 40]):
            seen.append(part)
            yield part

    with pytest.raises(DataError, match=r"2 levels; 'code' has more .*\"drop\": \['code'\]"):
        add_up(parts(), COVARIATES)
    assert len(seen) == 2


def test_a_lone_chunk_keeps_all_its_values_for_quantiles(monkeypatch):
    monkeypatch.setattr(module, "MOST_VALUES", 5)
    monkeypatch.setattr(module, "WAITING", 10)
    assert len(add_up([statistics_of(0, N)], COVARIATES).values.row) == N
    assert len(add_up(parts_at([30]), COVARIATES).values.row) == 5


def test_a_copied_column_is_named_where_one_chunk_is_the_table():
    table = open_table({"age": [1.0, 2.0], "again": [1.0, 2.0]})
    outcome, rows = read_outcome({"event": [1, 0], "duration": [1.0, 2.0]}), np.arange(2)
    covariates = infer_covariates(table)
    for whole in (True, False):
        chunk = Chunk(0, 0, table, rows, outcome, np.ones(2), whole)
        found = chunk_statistics(chunk, covariates, rows)
        assert found.copies == (("again",) if whole else ())
