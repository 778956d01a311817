"""Backward of the three losses, the same on every device."""

from typing import Any

import torch
from torch import Tensor


class LossBackward(torch.autograd.Function):
    """A function of three losses whose forward saves the gradient of each by its logits.

    Loss and gradient share their exponentials and logarithms; computing both at once saves a
    second pass over the logits.
    """

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Multiply the saved gradient of each loss by the gradient of the result by that loss."""
        causes, mortality, stay = ctx.saved_tensors
        return (
            causes * gradient[0].view(-1, 1, 1, 1),
            mortality * gradient[1].view(-1, 1),
            stay * gradient[2].view(-1, 1),
            None,
        )
