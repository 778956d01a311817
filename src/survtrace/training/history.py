"""What happened in each epoch, as a frame and as a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

PARTS = ("survival_loss", "mortality_loss", "stay_loss")


class History:
    """One row for each epoch and member still learning."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.interrupted = True  # until training ends by itself
        self._clock = time.perf_counter()

    def add(
        self,
        epoch: int,
        members: list[int],
        training: torch.Tensor,
        validation: torch.Tensor,
        improved: torch.Tensor,
    ) -> None:
        """Note the mean training losses (part, member) and validation losses of some members."""
        now = time.perf_counter()
        seconds, self._clock = now - self._clock, now
        columns = training.T.tolist(), validation.tolist(), improved.tolist()
        for member, losses, loss, better in zip(members, *columns, strict=True):
            self.records.append(
                {
                    "epoch": epoch,
                    "member": member,
                    **dict(zip(PARTS, losses, strict=True)),
                    "validation_loss": loss,
                    "improved": better,
                    "seconds": seconds,
                }
            )

    def frame(self) -> pd.DataFrame:
        """Return the history as a frame."""
        columns = ["epoch", "member", *PARTS, "validation_loss", "improved", "seconds"]
        return pd.DataFrame(self.records, columns=columns)


@contextmanager
def progress_bar(
    verbose: bool | str, max_epochs: int, device: torch.device
) -> Iterator[Callable[[int, torch.Tensor, torch.Tensor], None]]:
    """Draw a bar on standard error: always, never, or (``"auto"``) on a terminal only.

    The function it gives takes an epoch, the validation losses and who has stopped, and redraws.
    """
    console = Console(stderr=True)
    shown = console.is_terminal if verbose == "auto" else bool(verbose)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}"),
        TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[left]}"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, disable=not shown, transient=console.is_terminal
    ) as progress:
        task = progress.add_task(f"training on {device}", total=max_epochs, loss="", left="")

        def show(epoch: int, loss: torch.Tensor, stopped: torch.Tensor) -> None:
            # Short words: a terminal has 80 letters for them, the bar and the time.
            words = f"validation {loss.mean().item():.4f}"
            left = f"{int((~stopped).sum())} of {len(stopped)} learning"
            progress.update(task, completed=epoch + 1, loss=words, left=left)

        yield show
