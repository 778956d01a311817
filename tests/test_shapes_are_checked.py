"""The import hook of conftest.py truly checks the shapes that signatures promise."""

import pytest
import torch
from jaxtyping import TypeCheckError

from survtrace.inference.curves import locate_times
from survtrace.losses.hazard import negative_log_likelihood
from survtrace.network.member import MemberLinear


def test_a_wrong_number_of_axes_is_caught():
    with pytest.raises(TypeCheckError, match="times"):
        locate_times(torch.zeros(3), torch.zeros(4))


def test_axes_that_must_agree_are_compared():
    logits, interval = torch.zeros(5, 2, 3), torch.zeros(4, dtype=torch.int64)
    with pytest.raises(TypeCheckError, match="interval"):
        negative_log_likelihood(logits, interval, torch.zeros(5), interval)


def test_layers_are_checked_too():
    with pytest.raises(TypeCheckError, match="Float"):
        MemberLinear(2, 3, 4)(torch.zeros(2, 3))
