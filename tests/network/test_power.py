"""Logits whose hazards are those of others to a power."""

import pytest
import torch
from torch.nn.functional import softplus

from survtrace.network.power import inverse_softplus, raised

LOGITS = torch.linspace(-30, 20, 120).view(2, 5, 3, 4)


def test_a_softplus_is_undone_by_its_inverse():
    logits = LOGITS.double()
    torch.testing.assert_close(inverse_softplus(torch.log(softplus(logits))), logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hazards_of_raised_logits_are_powers_of_the_hazards(dtype):
    logits, power = LOGITS.to(dtype), torch.tensor([0.5, 1.0, 2.0], dtype=dtype)
    wanted = softplus(logits.double()) ** power.double().view(-1, 1)
    found = softplus(raised(logits, power).double())
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=0)


def test_without_powers_logits_stay_what_they_are():
    assert raised(LOGITS, torch.ones(3)) is LOGITS
