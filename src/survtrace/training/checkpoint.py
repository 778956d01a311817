"""A fit that was killed goes on where it was: its whole state in one file, replaced whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from survtrace.errors import SavedFileError, SettingError
from survtrace.training.early_stopping import EarlyStopping
from survtrace.training.history import History

FILE = "training.safetensors"


class Checkpoint:
    """The state after an epoch: parameters, optimiser, best parameters, history.

    ``fingerprint`` identifies data and settings; a folder that holds another fit is refused.
    """

    def __init__(self, folder: str | Path, fingerprint: str) -> None:
        self.path = Path(folder) / FILE
        self.fingerprint = fingerprint

    def save(
        self,
        epoch: int,
        network: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        stopping: EarlyStopping,
        history: History,
    ) -> None:
        """Write the state beside the old one, then replace that in one step."""
        tensors = {
            **{f"parameter.{name}": p.detach() for name, p in network.named_parameters()},
            **{f"best.{name}": best for name, best in stopping.best.items()},
            **_optimiser_tensors(network, optimiser),
            "stopping.best_loss": stopping.best_loss,
            "stopping.best_epoch": stopping.best_epoch,
            "stopping.stopped": stopping.stopped,
        }
        tensors = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
        note = {"fingerprint": self.fingerprint, "epoch": epoch, "history": history.records}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        half_written = self.path.with_suffix(".part")
        save_file(tensors, half_written, metadata={"note": json.dumps(note)})
        with half_written.open("rb") as file:
            os.fsync(file.fileno())
        half_written.replace(self.path)

    def restore(
        self,
        network: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        stopping: EarlyStopping,
        history: History,
    ) -> int:
        """Load the state if there is one; returns the first epoch still to do."""
        if not self.path.exists():
            return 0
        note, tensors = self._read()
        if note["fingerprint"] != self.fingerprint:
            raise SettingError(
                f"the checkpoint folder {self.path.parent} holds a fit of other data or settings. "
                "Choose another folder, or delete this one to start anew."
            )
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(tensors[f"parameter.{name}"])
                stopping.best[name].copy_(tensors[f"best.{name}"])
        _restore_optimiser(network, optimiser, tensors)
        for field in ("best_loss", "best_epoch", "stopped"):
            getattr(stopping, field).copy_(tensors[f"stopping.{field}"])
        history.records[:] = note["history"]
        return int(note["epoch"]) + 1

    def _read(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        try:
            with safe_open(self.path, framework="pt") as file:
                note = json.loads(file.metadata()["note"])
                return note, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise SavedFileError(
                f"{self.path} is not a readable checkpoint ({error}). Delete it to start anew."
            ) from None


def _optimiser_tensors(
    network: torch.nn.Module, optimiser: torch.optim.Optimizer
) -> dict[str, torch.Tensor]:
    return {
        f"optimiser.{name}.{key}": value
        for name, parameter in network.named_parameters()
        for key, value in optimiser.state[parameter].items()
    }


def _restore_optimiser(
    network: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    tensors: dict[str, torch.Tensor],
) -> None:
    for name, parameter in network.named_parameters():
        prefix = f"optimiser.{name}."
        optimiser.state[parameter] = {
            key.removeprefix(prefix): value.to(parameter.device)
            for key, value in tensors.items()
            if key.startswith(prefix)
        }
