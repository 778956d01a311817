import pytest
import torch

from survtrace.training.flat_parameters import AdamW, RunningAverage


def stepped(window, values):
    whole = torch.zeros(1, 2)
    average = RunningAverage(whole, window)
    for value in values:
        whole.fill_(value)
        average.update(whole)
    return whole, average


def test_it_is_a_plain_mean_at_first():
    _, average = stepped(100, [1.0, 2.0, 6.0])
    assert average.average[0, 0].item() == pytest.approx(3.0)


def test_then_an_exponential_one():
    _, average = stepped(2, [0.0, 0.0, 1.0, 1.0])
    assert average.average[0, 0].item() == pytest.approx(0.75)


@pytest.mark.parametrize("window", [0, 1])
def test_without_a_window_it_is_the_last_step(window):
    _, average = stepped(window, [5.0, 7.0])
    assert average.average[0, 0].item() == 7.0


def test_the_parameters_are_the_average_for_a_while_only():
    whole, average = stepped(100, [1.0, 3.0])
    with average.in_place(whole):
        assert whole.tolist() == [[2.0, 2.0]]
    assert whole.tolist() == [[3.0, 3.0]]
    with pytest.raises(KeyError, match="broken"), average.in_place(whole):
        raise KeyError("broken")
    assert whole.tolist() == [[3.0, 3.0]]
    assert average.average.tolist() == [[2.0, 2.0]]


def test_steps_of_the_optimiser_are_those_of_torch_to_the_bit():
    torch.manual_seed(0)
    ours, theirs = (torch.nn.Parameter(torch.ones(2, 50)) for _ in range(2))
    optimiser = AdamW(ours, lr=0.01, weight_decay=0.1)
    reference = torch.optim.AdamW([theirs], lr=0.01, weight_decay=0.1, foreach=False, fused=True)
    for _ in range(5):
        ours.grad = torch.randn(2, 50)
        theirs.grad = ours.grad.clone()
        optimiser.step()
        reference.step()
    assert torch.equal(ours, theirs)
    for name, moment in reference.state[theirs].items():
        assert torch.equal(optimiser.state[ours][name], moment)
