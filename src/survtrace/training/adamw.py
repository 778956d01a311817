"""AdamW for one tensor of parameters, by torch's own formula."""

from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw


class AdamW:
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019), with torch's names.

    torch's class does the same, but imports torch's compiler when it is made: some 870 modules,
    and a second and a half of every process that fits.
    """

    def __init__(self, parameters: Tensor, lr: float, weight_decay: float = 0.0) -> None:
        self.param_groups: list[dict[str, Any]] = [
            {
                "params": [parameters],
                "lr": lr,
                "betas": (0.9, 0.999),
                "eps": 1e-8,
                "weight_decay": weight_decay,
            }
        ]
        self.state: dict[Tensor, dict[str, Tensor]] = {
            parameters: {
                "step": torch.zeros((), device=parameters.device),
                "exp_avg": torch.zeros_like(parameters, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(parameters, requires_grad=False),
            }
        }

    @torch.no_grad()
    def step(self) -> None:
        """Take a step along the parameters' gradient.

        Examples
        --------
        >>> weight = torch.nn.Parameter(torch.ones(2))
        >>> weight.grad = torch.tensor([3.0, -0.5])
        >>> AdamW(weight, lr=0.1).step()
        >>> weight.tolist()
        [0.8999999761581421, 1.100000023841858]
        """
        group = self.param_groups[0]
        (parameters,), (beta1, beta2) = group["params"], group["betas"]
        moments = self.state[parameters]
        adamw(
            [parameters],
            [parameters.grad],
            [moments["exp_avg"]],
            [moments["exp_avg_sq"]],
            [],
            [moments["step"]],
            foreach=False,
            # Made for many tensors, it would use one multiprocessor of a GPU for one.
            fused=not parameters.is_cuda,
            capturable=parameters.is_cuda,
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )
