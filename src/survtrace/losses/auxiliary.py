"""The auxiliary tasks that teach the shared representation (eq. 21-23)."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits


def mortality_loss(
    logit: Float[Tensor, "*batch"], event: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """Compute the cross-entropy of "did anything happen during follow-up" (eq. 21).

    Examples
    --------
    >>> import torch
    >>> mortality_loss(torch.tensor([0.0]), torch.tensor([2]))
    tensor([0.6931])
    """
    happened = (event > 0).to(logit.dtype)
    return binary_cross_entropy_with_logits(logit, happened, reduction="none")


def stay_loss(
    predicted: Float[Tensor, "*batch"], stay: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """Compute the squared error of the length of stay (eq. 22).

    NOTE[PAPER eq. 22]: on the standardised duration; in months it would drown the other losses.

    Examples
    --------
    >>> import torch
    >>> stay_loss(torch.tensor([0.5]), torch.tensor([-0.5]))
    tensor([1.])
    """
    return (predicted - stay).square()


def annealed(weight: float, epoch: int, anneal: int | None) -> float:
    """Let an auxiliary weight fall linearly to 0 at epoch ``anneal`` (below eq. 23).

    Examples
    --------
    >>> [annealed(1.0, epoch, anneal=4) for epoch in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    >>> annealed(1.0, epoch=9, anneal=None)              # never annealed
    1.0
    """
    return weight if anneal is None else weight * max(0.0, 1 - epoch / anneal)
