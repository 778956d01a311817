import pytest
import torch

from survtrace.losses.auxiliary import annealed, mortality_loss, stay_loss


def test_mortality_is_the_cross_entropy_of_any_event():
    logit = torch.tensor([-2.0, 0.5, 3.0])
    p = torch.sigmoid(logit)
    expected = torch.stack([-torch.log(1 - p[0]), -torch.log(p[1]), -torch.log(p[2])])
    torch.testing.assert_close(mortality_loss(logit, torch.tensor([0, 1, 3])), expected)


def test_stay_is_a_squared_error():
    assert stay_loss(torch.tensor([1.0, -1.0]), torch.tensor([3.0, -1.0])).tolist() == [4.0, 0.0]


@pytest.mark.parametrize(
    ("epoch", "anneal", "expected"), [(0, 5, 2.0), (1, 5, 1.6), (5, 5, 0.0), (50, 5, 0.0)]
)
def test_weights_fade_linearly_and_stay_gone(epoch, anneal, expected):
    assert annealed(2.0, epoch, anneal) == pytest.approx(expected)
    assert annealed(2.0, epoch, None) == 2.0
    assert annealed(0.0, epoch, anneal) == 0.0
