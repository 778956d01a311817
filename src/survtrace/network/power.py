"""Raise hazards to a power for each cause, as an update may have learned it, by their logits.

Kernels and curves take logits, of which they compute the softplus. Logits whose softplus is the
power of the hazard leave all of them as they are; without powers nothing is computed at all.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from survtrace.losses.hazard import log_softplus


def inverse_softplus(log_hazard: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Compute the logit whose softplus has this logarithm.

    With h the hazard it is log(exp(h) - 1) = h + log(1 - exp(-h)), and log(h) + h / 2 where h is
    so small that 1 - exp(-h) would be rounded.

    Examples
    --------
    >>> inverse_softplus(torch.tensor([-200.0, -0.3665129]))
    tensor([-200.,    0.])
    """
    hazard = torch.exp(log_hazard)
    far = log_hazard < -10
    near = torch.where(far, torch.ones_like(hazard), hazard)
    return torch.where(far, log_hazard + hazard / 2, near + torch.log(-torch.expm1(-near)))


def raised(
    logits: Float[Tensor, "member subject cause interval"], power: Float[Tensor, " cause"]
) -> Float[Tensor, "member subject cause interval"]:
    """Give logits whose hazards are these to a power; the same tensor where all powers are 1.

    Examples
    --------
    >>> logits = torch.tensor([[[[-1.0, 2.0]]]])
    >>> hazard = torch.nn.functional.softplus(logits)
    >>> squared = torch.nn.functional.softplus(raised(logits, torch.tensor([2.0])))
    >>> torch.allclose(squared, hazard**2)
    True
    """
    if bool((power == 1).all()):
        return logits
    return inverse_softplus(log_softplus(logits) * power.view(-1, 1))
