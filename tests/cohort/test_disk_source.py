"""Members meet their training subjects once an epoch, and those they hold out never."""

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from survtrace.cohort.disk_source import DiskSource, read_ahead
from survtrace.cohort.records import Layout
from survtrace.cohort.scratch_file import ScratchFile
from survtrace.cohort.validation import split_validation
from survtrace.tables.covariates.encoding import Encoding

SIZES = [50, 50, 50, 0, 50, 50, 50, 1, 50, 23]
SEEDS = [11, 12, 13]
SCALE = {"mean": 0.0, "deviation": 1.0, "low": -2.0, "typical": 0.0, "high": 2.0}
LAYOUT = Layout(Encoding.from_dict({"number": SCALE}), np.array([0, 1.0]), 1, (0, 1))


@pytest.fixture(scope="module")
def store():
    """Subjects that carry their number as the value of their only covariate."""
    with ScratchFile(LAYOUT.dtype) as store:
        first = 0
        for size in SIZES:
            records = np.zeros(size, LAYOUT.dtype)
            records["values"][:, 0] = np.arange(first, first + size)
            store.append(records)
            first += size
        yield store


@pytest.fixture
def on_disk(store):
    """A function of batch size and rows in memory that gives the batch source."""

    def build(batch_size=16, rows_in_memory=120, fraction=0.2):
        event = np.arange(sum(SIZES)) % 3 == 0
        split = split_validation(event.astype(np.uint8), fraction, SEEDS)
        device = torch.device("cpu")
        return DiskSource(store, LAYOUT, split, 5, SEEDS, batch_size, device, rows_in_memory)

    return build


def met(parts):
    """The numbers of the subjects each member meets, shape (member, subject)."""
    walks = []
    for cohort, order in parts:
        numbers = cohort.values[:, 0][order].long()
        walks.append(numbers.transpose(0, 1).flatten(1))
    return torch.cat(walks, dim=1).numpy()


def test_all_but_a_remainder_are_met_once(on_disk):
    batch_source = on_disk()
    validation, training = (
        met(batch_source.validation([0, 1, 2])),
        met(batch_source.training([0, 1, 2], 0)),
    )
    n_parts = len(list(batch_source.training([0], 0)))
    assert n_parts == 4
    assert validation.shape[1] + batch_source.n_training == sum(SIZES)
    for held_out, trained in zip(validation, training, strict=True):
        assert len(np.unique(held_out)) == len(held_out)
        assert (
            len(np.unique(trained))
            == len(trained)
            > batch_source.n_training - n_parts * 2 * batch_source.size
        )
        assert not np.isin(trained, held_out).any()
    assert not np.array_equal(np.sort(validation[0]), np.sort(validation[1]))


def test_rows_learned_from_are_those_that_some_member_trains_on_each_once(on_disk):
    batch_source = on_disk(fraction=0.6)
    met_once = torch.cat([batch.values[:, 0] for batch in batch_source.learned_from()]).numpy()
    everybody = met_once.astype(int).tolist()
    assert everybody == np.flatnonzero(batch_source.split.learned_from()).tolist()
    assert len(everybody) < sum(SIZES)


def test_a_large_table_in_one_part_leaves_hardly_anyone_out(on_disk):
    batch_source = on_disk(rows_in_memory=1000)
    training = met(batch_source.training([1], 0))
    assert training.shape[1] > batch_source.n_training - batch_source.n_steps


def test_other_epochs_leave_out_others(on_disk):
    batch_source = on_disk(batch_size=40)
    everyone = np.arange(sum(SIZES))
    held_out = met(batch_source.validation([0]))
    trained = np.concatenate([met(batch_source.training([0], epoch))[0] for epoch in range(12)])
    np.testing.assert_array_equal(np.unique(trained), np.setdiff1d(everyone, held_out))


def test_a_walk_depends_on_seeds_and_epoch_alone(on_disk):
    together, alone = met(on_disk().training([0, 1, 2], 3)), met(on_disk().training([2], 3))
    np.testing.assert_array_equal(together[2], alone[0])
    assert not np.array_equal(alone, met(on_disk().training([2], 4)))
    held_out = met(on_disk().validation([0, 1, 2]))
    np.testing.assert_array_equal(held_out[2], met(on_disk().validation([2]))[0])


def test_chunks_are_shuffled_but_subjects_mix_within_a_part(on_disk):
    parts = [met([part])[0] for part in on_disk().training([0], 0)]
    assert all((np.diff(part) < 0).any() for part in parts)
    assert np.concatenate(parts).argsort()[0] != 0


def test_batches_have_one_size_and_chunks_one_length(on_disk):
    batch_source = on_disk()
    parts = [part for epoch in range(3) for part in batch_source.training([0, 1], epoch)]
    assert {part.order.shape[1:] for part in parts} == {(2, batch_source.size)}
    assert {len(part.cohort.event) for part in parts} == {batch_source.length}
    assert batch_source.length <= 120 + 50
    assert abs(batch_source.size - 16) <= 2
    n_steps = [
        sum(len(part.order) for part in batch_source.training([0], epoch)) for epoch in range(9)
    ]
    assert max(abs(n - batch_source.n_steps) for n in n_steps) <= 4


def test_chunks_and_batches_larger_than_the_table(on_disk):
    batch_source = on_disk(batch_size=10_000, rows_in_memory=10_000)
    [part] = batch_source.training([0], 0)
    assert part.order.shape == (1, 1, batch_source.n_training)
    assert batch_source.n_training == sum(SIZES) - round(0.2 * sum(SIZES))
    assert batch_source.n_steps == 1


def test_a_part_in_which_nobody_is_held_out_is_passed_over(on_disk):
    assert all(part.order.shape[2] for part in on_disk(rows_in_memory=40).validation([0]))


def test_no_more_than_one_part_is_read_ahead():
    begun = []

    def read(job):
        begun.append(job)
        return job

    results = read_ahead(read, range(10))
    for expected in range(4):
        assert next(results) == expected
        assert len(begun) <= expected + 2
    results.close()
    assert len(begun) <= 5


def test_a_walk_broken_off_leaves_no_thread(on_disk):
    before = threading.active_count()
    walk = on_disk().training([0], 0)
    next(walk)
    del walk
    gc.collect()
    assert threading.active_count() <= before


def test_what_goes_wrong_while_reading_ahead_is_raised():
    def read(job):
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(read_ahead(read, [1, 2]))


@pytest.mark.parametrize("rows_in_memory", [120, 1000])
def test_rows_of_a_subject_stay_together_and_shorter_lists_are_filled_up(rows_in_memory):
    """Subjects with one to five rows, in chunks that cut through them."""
    n_rows = np.random.default_rng(0).integers(1, 6, 120)
    id = np.repeat(np.arange(120), n_rows)
    layout = replace(LAYOUT, weight=1.0)
    split = split_validation((np.arange(120) % 3 == 0).astype(np.uint8), 0.2, SEEDS, id)
    with ScratchFile(layout.dtype) as store:
        for rows in np.split(np.arange(len(id)), range(50, len(id), 50)):
            records = np.zeros(len(rows), layout.dtype)
            records["values"][:, 0], records["weight"] = rows, 1.0
            store.append(records)
        device = torch.device("cpu")
        batch_source = DiskSource(store, layout, split, 5, SEEDS, 16, device, rows_in_memory)
        for parts, own in (
            (batch_source.validation([0, 1, 2]), split.held_out()),
            (batch_source.training([0, 1, 2], 0), ~split.held_out()),
        ):
            seen = [[], [], []]
            for cohort, order in parts:
                for member, rows in enumerate(order.transpose(0, 1).flatten(1)):
                    is_row = cohort.weight[rows] == 1
                    seen[member] += cohort.values[:, 0][rows[is_row]].long().tolist()
            for rows, marks in zip(seen, own, strict=True):
                assert len(set(rows)) == len(rows)
                assert set(rows) <= set(np.flatnonzero(marks))
                assert len(rows) > 0.7 * marks.sum()
        last, first = (met(batch_source.training(m, 0)) for m in ([0, 1, 2], [2]))
        np.testing.assert_array_equal(last[2], first[0])
        subjects = [np.unique(id[marks]) for marks in split.held_out()]
        assert {len(each) for each in subjects} == {24}
        assert batch_source.n_validation == pytest.approx(24 * batch_source.n_training / 96)


def test_every_row_held_out_is_met_by_the_end():
    id = np.repeat(np.arange(40), np.random.default_rng(0).integers(1, 6, 40))
    layout = replace(LAYOUT, weight=1.0)
    split = split_validation((np.arange(40) % 3 == 0).astype(np.uint8), 0.3, SEEDS, id)
    with ScratchFile(layout.dtype) as store:
        for rows in np.split(np.arange(len(id)), range(20, len(id), 20)):
            records = np.zeros(len(rows), layout.dtype)
            records["values"][:, 0], records["weight"] = rows, 1.0
            store.append(records)
        batch_source = DiskSource(store, layout, split, 5, SEEDS, 16, torch.device("cpu"), 30)
        walks = [
            torch.where(cohort.weight[order] == 1, cohort.values[:, 0][order], -1).squeeze(0)
            for cohort, order in batch_source.validation([0, 1, 2])
        ]
    for found, marks in zip(torch.cat(walks, dim=1).numpy(), split.held_out(), strict=True):
        np.testing.assert_array_equal(np.sort(found[found >= 0]), np.flatnonzero(marks))
