"""DeepSurv, DeepHit and PC-Hazard (pycox's), behind the contract.

The three share most settings: fields of dataclasses add up by inheritance.
pycox is unmaintained, so all that touches it is in this file, and only what still works is used:
the losses and the training loop. Cuts and curves are ours; its scores are broken by current SciPy.
"""

from __future__ import annotations

import tempfile
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from survtrace.baselines.contract import (
    Baseline,
    Floats,
    OneCauseBaseline,
    in_chunks,
    library,
    linear_values,
)
from survtrace.baselines.seeds import seeded, validation_rows
from survtrace.errors import TrainingError
from survtrace.metrics import StepFunction
from survtrace.tables.outcome.outcome import Outcome

Inputs = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(kw_only=True, eq=False)
class PycoxNetwork(Baseline):
    """A multi-layer perceptron trained by pycox's loop, stopped on rows of its own.

    Parameters
    ----------
    nodes
        Width of each hidden layer.
    dropout
        Share of hidden values dropped in training.
    lr, batch_size
        Of Adam.
    max_epochs, patience
        Training ends after ``max_epochs``, or ``patience`` epochs without a better loss on the
        validation rows; the best parameters are kept.
    validation_fraction
        Share of the training rows held out for that.
    categorical
        Columns to treat as categorical whatever their dtype.
    random_state
        Seed of the draw, the initial parameters, the batches and the dropout.
    """

    from_start_only: ClassVar = "pycox's losses count everybody as at risk from 0 on"
    search_space: ClassVar = {
        "nodes": ((64, 64), (256, 256)),
        "dropout": (0.1, 0.5),
        "lr": (1e-2, 1e-3),
    }

    nodes: Sequence[int] = (64, 64)
    dropout: float = 0.1
    lr: float = 1e-2
    batch_size: int = 256
    max_epochs: int = 200
    patience: int = 10
    validation_fraction: float = 0.1
    categorical: Sequence[str | int] | None = None
    random_state: int | None = None

    def _fit(self, design: Floats, outcome: Outcome) -> None:
        pycox = library("pycox.models")
        held_out = validation_rows(outcome, self.validation_fraction, self.random_state)
        with seeded(self.random_state), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._train(pycox, design.astype(np.float32), outcome, held_out)
        self.network_.eval()

    @abstractmethod
    def _train(self, pycox: Any, inputs: Inputs, outcome: Outcome, held_out: Mask) -> None:
        """Build the network and its targets, and run the loop."""

    def _perceptron(self, n_inputs: int, n_outputs: int, *, bias: bool = True) -> Any:
        return library("torchtuples").practical.MLPVanilla(
            n_inputs, list(self.nodes), n_outputs, dropout=self.dropout, output_bias=bias
        )

    def _adam(self) -> Any:
        return library("torchtuples").optim.Adam(lr=self.lr)

    def _loop(self, trainer: Any, inputs: Inputs, target: tuple[Any, ...], held_out: Mask) -> None:
        """Train on the rows not held out, and keep the network at its best, without pycox."""
        batch_size = self.batch_size
        while (~held_out).sum() % batch_size == 1:
            batch_size += 1  # batch normalisation cannot take a last batch of one
        with tempfile.TemporaryDirectory() as folder:
            stopping = library("torchtuples").callbacks.EarlyStopping(
                patience=self.patience, file_path=Path(folder) / "best.pt"
            )
            trainer.fit(
                inputs[~held_out],
                tuple(part[~held_out] for part in target),
                batch_size=batch_size,
                epochs=self.max_epochs,
                callbacks=[stopping],
                verbose=False,
                val_data=(inputs[held_out], tuple(part[held_out] for part in target)),
            )
        if not np.isfinite(stopping.cur_best):
            raise TrainingError(
                f"the validation loss of {type(self).__name__} was never finite; lower lr."
            )
        self.network_: torch.nn.Module = trainer.net

    def _outputs(self, design: Floats) -> Floats:
        with torch.no_grad():
            outputs = [
                self.network_(torch.from_numpy(some.astype(np.float32)))
                for some in in_chunks(design, 8192)
            ]
        return torch.cat(outputs).double().numpy()


@dataclass(kw_only=True, eq=False)
class DeepSurv(PycoxNetwork, OneCauseBaseline):
    """Proportional hazards with a network for the log hazard ratio; one cause.

    Katzman et al. 2018. Breslow's baseline is taken over all training rows. Settings are those
    of `PycoxNetwork`.
    """

    def _train(self, pycox: Any, inputs: Inputs, outcome: Outcome, held_out: Mask) -> None:
        def loss(log_ratio: Any, duration: Any, event: Any) -> Any:
            # pycox divides by the number of events, which a small batch may lack
            if not event.any():
                return 0.0 * log_ratio.sum()
            return pycox.loss.cox_ph_loss(log_ratio, duration, event)

        network = self._perceptron(inputs.shape[1], 1, bias=False)
        trainer = pycox.CoxPH(network, self._adam(), device="cpu", loss=loss)
        target = (outcome.duration.astype(np.float32), (outcome.event > 0).astype(np.float32))
        self._loop(trainer, inputs, target, held_out)
        hazard = trainer.compute_baseline_hazards(inputs, (outcome.duration, target[1]))
        self.event_times_ = hazard.index.to_numpy(dtype=np.float64)
        self.baseline_hazard_ = hazard.to_numpy(dtype=np.float64).cumsum()

    def _survival(self, design: Floats, times: Floats) -> Floats:
        baseline = StepFunction(self.event_times_, self.baseline_hazard_).at(times)
        return np.exp(-np.exp(self._outputs(design)) * baseline)


@dataclass(kw_only=True, eq=False)
class DeepHit(PycoxNetwork):
    """A probability for every cause and interval, trained with a ranking loss; any causes.

    Lee et al. 2018, one path for one cause and for many. Unlike the paper, pycox lets subjects
    stay event-free beyond the last cut. Incidences are linear between cuts.

    Parameters
    ----------
    n_intervals
        Cuts are quantiles of the training event times.
    alpha, sigma
        Share of the likelihood against the ranking loss, and the latter's scale, as in pycox.
    others
        As for `PycoxNetwork`.
    """

    search_space: ClassVar = {"n_intervals": (10, 30), "alpha": (0.2, 0.8), "dropout": (0.1, 0.5)}

    nodes: Sequence[int] = (32, 32)
    n_intervals: int = 10
    alpha: float = 0.2
    sigma: float = 0.1

    def _train(self, pycox: Any, inputs: Inputs, outcome: Outcome, held_out: Mask) -> None:
        self.cuts_ = event_quantiles(outcome, self.n_intervals)
        interval = discrete_interval(outcome, self.cuts_)
        seen = interval >= 0  # censored before the first cut: no part in either loss
        shape = (len(outcome.causes), len(self.cuts_))
        network = torch.nn.Sequential(
            self._perceptron(inputs.shape[1], int(np.prod(shape))), torch.nn.Unflatten(1, shape)
        )
        trainer = pycox.DeepHit(
            network, self._adam(), device="cpu", alpha=self.alpha, sigma=self.sigma
        )
        self._loop(trainer, inputs[seen], (interval[seen], outcome.event[seen]), held_out[seen])

    def _incidence(self, design: Floats, times: Floats) -> Floats:
        logits = torch.from_numpy(self._outputs(design))
        stay = torch.zeros(len(logits), 1, dtype=logits.dtype)
        every = torch.cat([logits.flatten(1), stay], dim=1).softmax(dim=1)
        mass = every[:, :-1].reshape(logits.shape).numpy()
        incidence = np.pad(mass, ((0, 0), (0, 0), (1, 0))).cumsum(axis=-1)
        return linear_values(np.append(0.0, self.cuts_), incidence, times)


@dataclass(kw_only=True, eq=False)
class PCHazard(PycoxNetwork, OneCauseBaseline):
    """A hazard that is constant within intervals; one cause.

    Kvamme and Borgan 2021.

    Parameters
    ----------
    n_intervals
        Cuts are 0 and quantiles of the training event times.
    others
        As for `PycoxNetwork`.
    """

    search_space: ClassVar = {
        "n_intervals": (10, 30),
        "nodes": ((64, 64), (256, 256)),
        "dropout": (0.1, 0.5),
    }

    n_intervals: int = 10

    def _train(self, pycox: Any, inputs: Inputs, outcome: Outcome, held_out: Mask) -> None:
        self.cuts_ = np.append(0.0, event_quantiles(outcome, self.n_intervals))
        network = self._perceptron(inputs.shape[1], len(self.cuts_) - 1)
        trainer = pycox.PCHazard(network, self._adam(), device="cpu", duration_index=self.cuts_)
        self._loop(trainer, inputs, interval_fraction(outcome, self.cuts_), held_out)

    def _survival(self, design: Floats, times: Floats) -> Floats:
        hazard = np.logaddexp(0.0, self._outputs(design))  # softplus, integrated over the interval
        cumulative = np.pad(hazard, ((0, 0), (1, 0))).cumsum(axis=1)
        return np.exp(-linear_values(self.cuts_, cumulative, times))


def event_quantiles(outcome: Outcome, n_intervals: int) -> Floats:
    """Return the right ends of intervals that hold as many events each; ties make them fewer."""
    event_times = outcome.duration[outcome.event > 0]
    return np.unique(np.quantile(event_times, np.arange(1, n_intervals + 1) / n_intervals))


def discrete_interval(outcome: Outcome, cuts: Floats) -> NDArray[np.int64]:
    """Find the cut at which each row counts: events at the next, censoring at the last (-1: none).

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 5, 5, 6, 1]), np.array([1, 1, 0, 0, 0]), (1,))
    >>> discrete_interval(outcome, np.array([2.0, 5.0])).tolist()
    [0, 1, 1, 1, -1]
    """
    event_place = np.searchsorted(cuts, outcome.duration, side="left")
    censored_place = np.searchsorted(cuts, outcome.duration, side="right") - 1
    return np.where(outcome.event > 0, event_place, censored_place).astype(np.int64)


def interval_fraction(
    outcome: Outcome, cuts: Floats
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Find the interval of each duration, whether an event ends it, and the part lived through.

    Examples
    --------
    >>> outcome = Outcome(np.array([1.0, 5.0, 9.0]), np.array([1, 0, 0]), (1,))
    >>> [part.tolist() for part in interval_fraction(outcome, np.array([0.0, 2.0, 6.0]))]
    [[0, 1, 1], [1.0, 0.0, 0.0], [0.5, 0.75, 1.0]]
    """
    duration = np.minimum(outcome.duration, cuts[-1])
    interval = np.searchsorted(cuts, duration, side="left") - 1
    fraction = (duration - cuts[interval]) / np.diff(cuts)[interval]
    event = (outcome.event > 0).astype(np.float32)
    return interval.astype(np.int64), event, fraction.astype(np.float32)
