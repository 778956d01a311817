"""The way back from the three losses, the same on every device."""

from typing import Any

import torch
from torch import Tensor


class LossBackward(torch.autograd.Function):
    """Forward finds the slopes of each part on its way; they are all that the way back needs."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """The slopes of each part, times what the part is worth."""
        causes, mortality, stay = ctx.saved_tensors
        return (
            causes * gradient[0].view(-1, 1, 1, 1),
            mortality * gradient[1].view(-1, 1),
            stay * gradient[2].view(-1, 1),
            None,
        )
