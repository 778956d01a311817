import torch

from survtrace.network.member import MemberLinear
from survtrace.training.early_stopping import EarlyStopping


def layer(n_members=2):
    made = MemberLinear(n_members, 2, 1)
    with torch.no_grad():
        made.weight.zero_()
        made.bias.zero_()
    return made


def epoch_of(net, number):
    with torch.no_grad():
        net.weight.fill_(float(number))


def test_each_member_keeps_its_own_best():
    net = layer()
    stopping = EarlyStopping(net, 2, patience=10)
    for epoch, losses in enumerate([[3.0, 3.0], [1.0, 2.0], [2.0, 1.0], [4.0, 4.0]]):
        epoch_of(net, epoch)
        improved = stopping.update(net, torch.tensor(losses), epoch)
    assert improved.tolist() == [False, False]
    assert stopping.best_epoch.tolist() == [1, 2]
    assert stopping.best_loss.tolist() == [1.0, 1.0]
    stopping.restore(net)
    assert net.weight[:, 0, 0].tolist() == [1.0, 2.0]


def test_a_member_stops_after_its_patience_and_never_starts_again():
    net = layer()
    stopping = EarlyStopping(net, 2, patience=2)
    for epoch, losses in enumerate([[1.0, 4.0], [2.0, 3.0], [2.0, 2.0]]):
        stopping.update(net, torch.tensor(losses), epoch)
    assert stopping.stopped.tolist() == [True, False]
    assert stopping.learning.tolist() == [1]
    alone = layer(1)  # what has stopped is no longer in the network
    assert stopping.update(alone, torch.tensor([0.0]), 3).tolist() == [True]
    assert stopping.best_loss.tolist() == [1.0, 0.0]


def test_an_undefined_loss_is_never_the_best():
    net = layer(1)
    stopping = EarlyStopping(net, 1, patience=3)
    stopping.update(net, torch.tensor([torch.nan]), 0)
    assert stopping.best_epoch.tolist() == [-1]
    epoch_of(net, 1)
    assert stopping.update(net, torch.tensor([5.0]), 1).all()
    stopping.restore(net)
    assert net.weight[0, 0, 0] == 1.0


def test_the_best_is_a_copy():
    net = layer(1)
    stopping = EarlyStopping(net, 1, patience=3)
    stopping.update(net, torch.tensor([1.0]), 0)
    epoch_of(net, 9)
    stopping.restore(net)
    assert net.weight[0, 0, 0] == 0.0
