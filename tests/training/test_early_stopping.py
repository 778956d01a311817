import torch

from survtrace.training.early_stopping import EarlyStopping


def at(number, n_members=2):
    return torch.full((n_members, 3), float(number))


def test_each_member_keeps_its_own_best():
    stopping = EarlyStopping(at(0), patience=10)
    for epoch, losses in enumerate([[3.0, 3.0], [1.0, 2.0], [2.0, 1.0], [4.0, 4.0]]):
        improved = stopping.update(at(epoch), torch.tensor(losses), epoch)
    assert improved.tolist() == [False, False]
    assert stopping.best_epoch.tolist() == [1, 2]
    assert stopping.best_loss.tolist() == [1.0, 1.0]
    assert stopping.best[:, 0].tolist() == [1.0, 2.0]


def test_a_member_stops_after_its_patience_and_never_starts_again():
    stopping = EarlyStopping(at(0), patience=2)
    for epoch, losses in enumerate([[1.0, 4.0], [2.0, 3.0], [2.0, 2.0]]):
        stopping.update(at(epoch), torch.tensor(losses), epoch)
    assert stopping.stopped.tolist() == [True, False]
    assert stopping.learning.tolist() == [1]
    alone = at(3, n_members=1)  # what has stopped is no longer among the parameters
    assert stopping.update(alone, torch.tensor([0.0]), 3).tolist() == [True]
    assert stopping.best_loss.tolist() == [1.0, 0.0]


def test_an_undefined_loss_is_never_the_best():
    stopping = EarlyStopping(at(0, 1), patience=3)
    stopping.update(at(0, 1), torch.tensor([torch.nan]), 0)
    assert stopping.best_epoch.tolist() == [-1]
    assert stopping.update(at(1, 1), torch.tensor([5.0]), 1).all()
    assert stopping.best[0, 0] == 1.0


def test_the_best_is_a_copy():
    whole = at(0, 1)
    stopping = EarlyStopping(whole, patience=3)
    stopping.update(whole, torch.tensor([1.0]), 0)
    whole.fill_(9.0)
    assert stopping.best[0, 0] == 0.0
