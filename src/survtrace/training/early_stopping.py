"""When each member has learned enough, and the best it ever was."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class EarlyStopping:
    """Remembers every member's best validation loss, its epoch, and the parameters of then."""

    def __init__(self, flat_parameters: Float[Tensor, "member parameter"], patience: int) -> None:
        n_members, device = len(flat_parameters), flat_parameters.device
        self.patience = patience
        self.best_loss = torch.full((n_members,), torch.inf, device=device)
        self.best_epoch = torch.full((n_members,), -1, device=device)
        self.stopped = torch.zeros(n_members, dtype=torch.bool, device=device)
        self.best = flat_parameters.detach().clone()

    @property
    def learning(self) -> Int[Tensor, " learning"]:
        """Members that have not stopped."""
        return torch.nonzero(~self.stopped).squeeze(1)

    @torch.no_grad()
    def update(
        self,
        flat_parameters: Float[Tensor, "learning parameter"],
        loss: Float[Tensor, " learning"],
        epoch: int,
    ) -> Bool[Tensor, " learning"]:
        """Note the losses and parameters after an epoch; tell which are at their best so far."""
        members = self.learning
        improved = loss < self.best_loss[members]
        better = members[improved]
        self.best_loss[better] = loss[improved]
        self.best_epoch[better] = epoch
        self.stopped[members] = epoch - self.best_epoch[members] >= self.patience
        self.best[better] = flat_parameters.detach()[improved]
        return improved
