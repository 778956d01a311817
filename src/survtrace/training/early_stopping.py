"""When each member has learned enough, and the best it ever was."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class EarlyStopping:
    """Remembers every member's best validation loss, its epoch, and the parameters of then.

    The network holds the members still learning, in the order of `learning`.
    """

    def __init__(self, network: nn.Module, n_members: int, patience: int) -> None:
        device = next(network.parameters()).device
        self.patience = patience
        self.best_loss = torch.full((n_members,), torch.inf, device=device)
        self.best_epoch = torch.full((n_members,), -1, device=device)
        self.stopped = torch.zeros(n_members, dtype=torch.bool, device=device)
        self.best = {name: p.detach().clone() for name, p in network.named_parameters()}

    @property
    def learning(self) -> Int[Tensor, " learning"]:
        """Members that have not stopped."""
        return torch.nonzero(~self.stopped).squeeze(1)

    @torch.no_grad()
    def update(
        self, network: nn.Module, loss: Float[Tensor, " learning"], epoch: int
    ) -> Bool[Tensor, " learning"]:
        """Note the losses after an epoch; tells which members were never better."""
        members = self.learning
        improved = loss < self.best_loss[members]
        better = members[improved]
        self.best_loss[better] = loss[improved]
        self.best_epoch[better] = epoch
        self.stopped[members] = epoch - self.best_epoch[members] >= self.patience
        for name, parameter in network.named_parameters():
            self.best[name][better] = parameter[improved]
        return improved

    @torch.no_grad()
    def restore(self, network: nn.Module) -> None:
        """Let the network hold all members again, each at its best."""
        for name, parameter in network.named_parameters():
            parameter.data, parameter.grad = self.best[name].clone(), None
