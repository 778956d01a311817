"""When each member has learned enough, and the best it ever was."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


class EarlyStopping:
    """Remembers every member's best validation loss, its epoch, and the parameters of then."""

    def __init__(self, network: nn.Module, n_members: int, patience: int) -> None:
        device = next(network.parameters()).device
        self.patience = patience
        self.best_loss = torch.full((n_members,), torch.inf, device=device)
        self.best_epoch = torch.full((n_members,), -1, device=device)
        self.stopped = torch.zeros(n_members, dtype=torch.bool, device=device)
        self.best = {name: p.detach().clone() for name, p in network.named_parameters()}

    @torch.no_grad()
    def update(
        self, network: nn.Module, loss: Float[Tensor, " member"], epoch: int
    ) -> Bool[Tensor, " member"]:
        """Note the losses after an epoch; tells which members were never better."""
        improved = (loss < self.best_loss) & ~self.stopped
        self.best_loss = torch.where(improved, loss, self.best_loss)
        self.best_epoch = torch.where(improved, epoch, self.best_epoch)
        self.stopped |= epoch - self.best_epoch >= self.patience
        for name, parameter in network.named_parameters():
            chosen = improved.view(-1, *[1] * (parameter.dim() - 1))
            self.best[name] = torch.where(chosen, parameter, self.best[name])
        return improved

    @torch.no_grad()
    def restore(self, network: nn.Module) -> None:
        """Put every member back to its best."""
        for name, parameter in network.named_parameters():
            parameter.copy_(self.best[name])
