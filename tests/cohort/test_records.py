"""What lies on disk gives back what training needs."""

import numpy as np
import pytest
import torch

from survtrace.cohort.records import Layout
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import learn_encoding
from survtrace.tables.outcome.outcome import read_outcome
from survtrace.tables.outcome.time_grid import StayScale, locate, quantile_cuts


@pytest.fixture
def layout(three_causes):
    X, y = three_causes
    table, outcome = open_table(X), read_outcome(y)
    encoding = learn_encoding(table, infer_covariates(table))
    return Layout(encoding, quantile_cuts(outcome, 3), 3, StayScale(2.0, 4.0))


def test_unpacked_is_what_was_packed(layout, three_causes):
    X, y = three_causes
    encoded, outcome = layout.encoding.encode(open_table(X)), read_outcome(y)
    cohort = layout.unpack(layout.pack(layout.columns(encoded, outcome, np.ones(len(X)))))
    interval, fraction = locate(outcome.duration, layout.cuts)
    expected = [
        encoded.rows,
        encoded.values,
        interval,
        fraction,
        outcome.event,
        (outcome.duration - 2.0) / 4.0,
        np.ones(len(X)),
        np.ones((len(X), 3)),
        np.zeros(len(X)),
        np.zeros(len(X)),
        np.ones(len(X)),
    ]
    for tensor, array in zip(cohort, expected, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), array.astype(tensor.numpy().dtype))
        assert tensor.is_contiguous()
    assert cohort.rows.dtype == torch.int32


def test_a_subject_takes_few_bytes(layout):
    assert layout.dtype.itemsize == 4 * 1 + 2 * 4 + 1 + 4 + 1 + 4


def test_weights_are_kept_only_where_there_are_some(layout, three_causes):
    X, y = three_causes
    weighted = Layout(
        *(getattr(layout, name) for name in ("encoding", "cuts", "n_causes", "stay")), 0.5
    )
    encoded, weight = layout.encoding.encode(open_table(X)), np.linspace(0, 1, len(X))
    found = weighted.unpack(
        weighted.pack(weighted.columns(encoded, read_outcome(y), weight))
    ).weight
    np.testing.assert_allclose(found.numpy(), 2 * weight, rtol=1e-6)


def test_many_levels_and_no_numbers_are_no_trouble():
    X = {"code": [f"{number}" for number in range(300)]}
    table, y = open_table(X), {"event": [1] * 300, "duration": np.arange(1.0, 301)}
    layout = Layout(
        learn_encoding(table, infer_covariates(table)),
        np.array([0.0, 300.0]),
        1,
        StayScale(0.0, 1.0),
    )
    encoded = layout.encoding.encode(table)
    assert layout.dtype["rows"].base == np.uint16
    cohort = layout.unpack(layout.pack(layout.columns(encoded, read_outcome(y), np.ones(300))))
    np.testing.assert_array_equal(cohort.rows.numpy(), encoded.rows)
    assert (cohort.values == 1).all()


def test_an_event_beyond_the_last_cut_lies_on_disk_as_censored_at_it(layout, three_causes):
    X, y = three_causes
    end = np.quantile(y["duration"], 0.4)
    short = Layout(layout.encoding, np.array([0.0, end]), 3, StayScale(2.0, 4.0, longest=end))
    encoded, outcome = layout.encoding.encode(open_table(X)), read_outcome(y)
    cohort = short.unpack(short.pack(short.columns(encoded, outcome, np.ones(len(X)))))
    late = y["duration"].to_numpy() > end
    assert y["event"][late].any()
    assert not cohort.event[late].any()
    np.testing.assert_array_equal(cohort.event[~late], y["event"][~late])
    assert (cohort.fraction[late] == 1).all()
    assert (cohort.stay[late] == np.float32((end - 2.0) / 4.0)).all()


def test_memory_and_disk_hold_the_same_columns(layout, three_causes):
    X, y = three_causes
    encoded = layout.encoding.encode(open_table(X))
    columns = layout.columns(encoded, read_outcome(y), np.ones(len(X)))
    for ours, theirs in zip(
        layout.tensors(columns), layout.unpack(layout.pack(columns)), strict=True
    ):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
