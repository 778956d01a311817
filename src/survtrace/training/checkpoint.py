"""A fit that was killed goes on where it was: its whole state in one file, replaced whole."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from survtrace.errors import SavedFileError, SettingError
from survtrace.files import replacing
from survtrace.network.assembly import Network
from survtrace.training.flat_parameters import release
from survtrace.training.history import History
from survtrace.training.state import State

FILE = "training.safetensors"
MOMENT = "optimiser."


class Checkpoint:
    """The state after an epoch, in a folder.

    ``fingerprint`` identifies data and settings; a folder that holds another fit is refused.
    """

    def __init__(self, folder: str | Path, fingerprint: str) -> None:
        self.path = Path(folder) / FILE
        self.fingerprint = fingerprint

    def save(self, epoch: int, state: State) -> None:
        """Write the state beside the old one, then replace that in one step."""
        tensors = {name: t.detach().contiguous().cpu() for name, t in _tensors(state).items()}
        note = {
            "fingerprint": self.fingerprint,
            "epoch": epoch,
            "sha256": _digest(tensors),
            "history": state.history.records,
        }
        with replacing(self.path) as part:
            save_file(tensors, part, metadata={"note": json.dumps(note)})

    def restore(self, state: State) -> int:
        """Load the state if there is one; returns the first epoch still to do."""
        if not self.path.exists():
            return 0
        note, tensors = self._read()
        state.keep(~tensors["stopping.stopped"].to(state.stopping.stopped.device))
        state.optimiser.state[state.flat_parameters] = {
            name.removeprefix(MOMENT): value.to(state.flat_parameters.device)
            for name, value in tensors.items()
            if name.startswith(MOMENT)
        }
        with torch.no_grad():
            for name, tensor in _tensors(state).items():
                tensor.copy_(tensors[name])
        state.history.records[:] = note["history"]
        return int(note["epoch"]) + 1

    def load(self, network: Network, history: History) -> None:
        """Load the best parameters of each member, and the history; nothing is trained."""
        note, tensors = self._read()
        release(network, tensors["stopping.best"].to(network.device))
        network.eval()
        history.records[:] = note["history"]

    def _read(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        try:
            with safe_open(self.path, framework="pt") as file:
                note = json.loads(file.metadata()["note"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if note["sha256"] != _digest(tensors):
                raise ValueError("its content is not what was saved")
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise SavedFileError(
                f"{self.path} is not a readable checkpoint ({error}). Delete it to start anew."
            ) from None
        if note["fingerprint"] != self.fingerprint:
            raise SettingError(
                f"the checkpoint folder {self.path.parent} holds a fit of other data or settings. "
                "Choose another folder, or delete this one to start anew."
            )
        return note, tensors


def _digest(tensors: dict[str, torch.Tensor]) -> str:
    """Identifies the content of all tensors."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].numpy().tobytes())
    return digest.hexdigest()


def _tensors(state: State) -> dict[str, torch.Tensor]:
    """Every tensor of the state, by name."""
    stopping, average = state.stopping, state.average
    moments = state.optimiser.state[state.flat_parameters]
    return {
        "stopping.best_loss": stopping.best_loss,
        "stopping.best_epoch": stopping.best_epoch,
        "stopping.stopped": stopping.stopped,
        "stopping.best": stopping.best,
        "average.average": average.average,
        "average.n_steps": average.n_steps,
        "parameters": state.flat_parameters,
        **{MOMENT + name: value for name, value in moments.items()},
    }
