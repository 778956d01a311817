"""What a report is doing at the moment, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

Tell = Callable[[str], None]


def say_nothing(words: str) -> None:
    """Show no progress."""


@contextmanager
def progress_of_steps(verbose: bool | str) -> Iterator[Tell]:
    """Show the step at work: always, never, or (``"auto"``) on a terminal only."""
    console = Console(stderr=True)
    shown = console.is_terminal if verbose == "auto" else bool(verbose)
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(
        *columns, console=console, disable=not shown, transient=console.is_terminal
    ) as progress:
        task = progress.add_task("report", total=None)
        yield lambda words: progress.update(task, description=words)
