import pytest
import torch

from survtrace.network.member import MemberLinear
from survtrace.training.averaging import RunningAverage


def stepped(horizon, values):
    net = MemberLinear(1, 1, 1)
    average = RunningAverage(net, horizon)
    with torch.no_grad():
        for value in values:
            net.weight.fill_(value)
            net.bias.fill_(value)
            average.update()
    return net, average


def test_it_is_a_plain_mean_at_first():
    _, average = stepped(100, [1.0, 2.0, 6.0])
    assert average.average[0].item() == pytest.approx(3.0)


def test_then_an_exponential_one():
    _, average = stepped(2, [0.0, 0.0, 1.0, 1.0])
    assert average.average[0].item() == pytest.approx(0.75)


@pytest.mark.parametrize("horizon", [0, 1])
def test_without_a_horizon_it_is_the_last_step(horizon):
    _, average = stepped(horizon, [5.0, 7.0])
    assert average.average[0].item() == 7.0


def test_the_network_holds_the_average_for_a_while_only():
    net, average = stepped(100, [1.0, 3.0])
    with average.in_place():
        assert net.weight.item() == 2.0
    assert net.weight.item() == 3.0
    with pytest.raises(KeyError, match="broken"), average.in_place():
        raise KeyError("broken")
    assert net.weight.item() == 3.0
    assert average.average[0].item() == 2.0
