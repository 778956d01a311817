import numpy as np
import pytest
import torch

from survtrace.batch import Batch, no_entry
from survtrace.cohort.batch_source import MemorySource
from survtrace.cohort.validation import split_validation

EVENT = np.repeat([0, 1, 2], [60, 30, 10])


def some_cohort(n_subjects, n_causes=2, n_tokens=3):
    column = torch.arange(n_subjects)
    return Batch(
        rows=column[:, None].expand(-1, n_tokens),
        values=torch.rand(n_subjects, n_tokens),
        interval=column,
        fraction=torch.rand(n_subjects),
        event=column,
        stay=torch.rand(n_subjects),
        weight=torch.ones(n_subjects),
        ips=torch.ones(n_subjects, n_causes),
        **no_entry(n_subjects),
    )


def test_a_batch_gives_each_member_its_own_subjects():
    batch = some_cohort(6).take(torch.tensor([[0, 5], [3, 3]]))
    assert batch.event.tolist() == [[0, 5], [3, 3]]
    assert batch.rows.shape == (2, 2, 3)
    assert batch.ips.shape == (2, 2, 2)
    assert batch.to(torch.device("cpu")).event is not None


def walk(training, batch_size, seeds, epoch):
    """The batches of an epoch in memory, (step, member, row)."""
    validation = np.zeros((len(training), 1), dtype=int)
    batch_source = MemorySource(some_cohort(100), training, validation, seeds, batch_size)
    (chunk,) = batch_source.training(list(range(len(training))), epoch)
    assert len(chunk.order) == batch_source.n_steps
    return chunk.order


def test_a_walk_meets_nobody_twice_and_nearly_everybody():
    training = split_validation(EVENT, 0.13, seeds=[1, 2]).training
    batches = walk(training, 16, [1, 2], epoch=0)
    assert batches.shape == (5, 2, 17)
    for own, seen in zip(training, batches.transpose(0, 1).flatten(1).numpy(), strict=True):
        assert len(np.unique(seen)) == len(seen) > len(own) - len(batches)
        assert np.isin(seen, own).all()


def test_a_walk_depends_on_seed_and_epoch_alone():
    training = np.tile(np.arange(20), (2, 1))
    first = walk(training, 5, [1, 2], epoch=3)
    assert torch.equal(first[:, :1], walk(training[:1], 5, [1], epoch=3))
    assert not torch.equal(first, walk(training, 5, [1, 2], epoch=4))
    assert not torch.equal(first[:, 0], first[:, 1])


def test_a_batch_larger_than_the_table_is_the_table():
    (batch,) = walk(np.arange(7)[None], 1000, [0], epoch=0)
    assert sorted(batch[0].tolist()) == list(range(7))


def test_members_that_are_left_walk_and_are_stopped_as_before():
    split = split_validation(EVENT, 0.13, seeds=[1, 2, 3])
    rows = split.training, split.validation
    batch_source = MemorySource(some_cohort(100), *rows, [1, 2, 3], 16, chunk=5)
    (every,), (left,) = batch_source.training([0, 1, 2], 4), batch_source.training([0, 2], 4)
    assert torch.equal(every.order[:, [0, 2]], left.order)
    held_out = [chunk.order.squeeze(0) for chunk in batch_source.validation([2])]
    assert {len(rows[0]) for rows in held_out} == {5, 3}
    assert torch.cat(held_out, dim=1).tolist() == [split.validation[2].tolist()]


def test_rows_learned_from_are_those_that_some_member_trains_on_each_once():
    split = split_validation(EVENT, 0.6, seeds=[1, 2])
    rows = split.training, split.validation
    batch_source = MemorySource(some_cohort(100), *rows, [1, 2], 16, chunk=30)
    chunks = list(batch_source.learned_from())
    learned_from = np.flatnonzero(split.learned_from())
    assert torch.cat([batch.event for batch in chunks]).tolist() == learned_from.tolist()
    assert max(len(batch.event) for batch in chunks) == 30 < len(learned_from) < 100


def test_the_batch_size_counts_subjects():
    id = np.repeat(np.arange(100), np.random.default_rng(0).integers(1, 5, 100))
    split = split_validation(EVENT, 0.2, seeds=[1, 2], id=id)
    batch_source = MemorySource(
        some_cohort(len(id) + 1),
        split.training,
        split.validation,
        [1, 2],
        batch_size=16,
        rows_per_subject=split.rows_per_subject,
        n_validation=split.n_validation,
    )
    assert batch_source.n_steps == 5
    (chunk,) = batch_source.training([0, 1], epoch=0)
    assert chunk.order.shape == (5, 2, split.training.shape[1] // 5)
    assert batch_source.n_validation == pytest.approx(20 * split.rows_per_subject)
