import numpy as np
import pytest
import torch

from survtrace.batch import Batch
from survtrace.cohort.batch_source import MemorySource, ValidationSplit, split_validation

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
    )


def test_a_batch_gives_each_member_its_own_subjects():
    batch = some_cohort(6).take(torch.tensor([[0, 5], [3, 3]]))
    assert batch.event.tolist() == [[0, 5], [3, 3]]
    assert batch.rows.shape == (2, 2, 3)
    assert batch.ips.shape == (2, 2, 2)
    assert batch.to(torch.device("cpu")).event is not None


def test_every_member_is_stopped_by_its_own_rows_with_the_same_share_of_causes():
    draws = split_validation(EVENT, 0.2, seeds=[1, 2, 3])
    assert draws.validation.shape == (3, 20)
    for training, validation in zip(*draws, strict=True):
        assert np.array_equal(np.sort(np.concatenate([training, validation])), np.arange(100))
        assert np.bincount(EVENT[validation]).tolist() == [12, 6, 2]
    assert not np.array_equal(draws.validation[0], draws.validation[1])


def test_the_draw_of_a_member_depends_on_its_seed_alone():
    together = split_validation(EVENT, 0.1, seeds=[4, 5, 6])
    alone = split_validation(EVENT, 0.1, seeds=[5])
    np.testing.assert_array_equal(together.validation[1], alone.validation[0])
    np.testing.assert_array_equal(together.training[1], alone.training[0])


@pytest.mark.parametrize("fraction", [1e-9, 0.013, 0.5, 0.97])
def test_the_size_of_the_draw_is_the_fraction_but_at_least_one(fraction):
    draws = split_validation(EVENT, fraction, seeds=[0])
    assert draws.validation.shape[1] == max(1, round(fraction * 100))


def walk(training, batch_size, seeds, epoch):
    """The batches of an epoch in memory, (step, member, row)."""
    draws = ValidationSplit(training, np.zeros((len(training), 1), dtype=int))
    batch_source = MemorySource(some_cohort(100), draws, seeds, batch_size)
    (pool,) = batch_source.training(list(range(len(training))), epoch)
    assert len(pool.order) == batch_source.n_steps
    return pool.order


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
    draws = split_validation(EVENT, 0.13, seeds=[1, 2, 3])
    batch_source = MemorySource(some_cohort(100), draws, [1, 2, 3], 16, chunk=5)
    (every,), (left,) = batch_source.training([0, 1, 2], 4), batch_source.training([0, 2], 4)
    assert torch.equal(every.order[:, [0, 2]], left.order)
    held_out = [pool.order.squeeze(0) for pool in batch_source.validation([2])]
    assert {len(rows[0]) for rows in held_out} == {5, 3}
    assert torch.cat(held_out, dim=1).tolist() == [draws.validation[2].tolist()]
