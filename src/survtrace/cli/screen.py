"""Show results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

WIDTH_OF_PIPES = 140
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and ends of lines


def plain(text: str) -> str:
    r"""Escape what would steer a terminal, or what no file could hold: texts may be of others.

    Examples
    --------
    >>> print(plain("sex\x1b[2J"))
    sex\x1b[2J
    """
    shown = text.encode("utf-8", "backslashreplace").decode()
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", shown)


def say(message: str, *, quiet: bool = False) -> None:
    """Print a message to standard error."""
    if not quiet:
        _print(Text(plain(message)))


def show_error(message: str) -> None:
    """Print an error to standard error."""
    _print(Text.assemble(("error: ", "bold red"), plain(message)))


def warn_once() -> Callable[..., None]:
    """Return a function for `warnings.showwarning` that shows each warning once."""
    shown = set[str]()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(getattr(message, "in_command", message))
        if text not in shown:
            shown.add(text)
            _print(Text.assemble(("warning: ", "bold yellow"), plain(text)))

    return show


def show_json(value: Any) -> None:
    """Print a result as JSON, for programs."""
    print(json.dumps(value, indent=1))


def records(frame: pd.DataFrame) -> Any:
    """Convert the rows of a frame to what JSON holds, null for NaN."""
    return json.loads(frame.to_json(orient="records", double_precision=15))


def show_frame(frame: pd.DataFrame, *, title: str = "", caption: str = "") -> None:
    """Print a result as a table, for people; in a pipe it is wider."""
    from pandas.api.types import is_numeric_dtype

    around = Text(plain(title), "table.title"), Text(plain(caption), "table.caption")
    table = Table(title=around[0], caption=around[1])
    for name in frame:
        text = not is_numeric_dtype(frame[name])
        header = Text(plain(str(name)))
        if text:  # a name too long for its column goes on in the next line, never cut off
            table.add_column(header, overflow="fold")
        else:
            table.add_column(header, justify="right", no_wrap=True)
    for row in frame.itertuples(index=False):
        table.add_row(*(Text(plain(str(value))) for value in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_OF_PIPES)
    console.print(table)


@contextmanager
def hushed(quiet: bool) -> Iterator[None]:
    """Keep progress and warnings off standard error, if quiet."""
    if not quiet:
        yield
        return
    with open(os.devnull, "w") as devnull, redirect_stderr(devnull):
        yield


@contextmanager
def counting(total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal's standard error; yield a function to advance it."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        *([BarColumn()] if total else []),
        TextColumn("{task.completed:,} rows"),
        TimeRemainingColumn() if total else TimeElapsedColumn(),
    )
    shown = console.is_terminal and not quiet
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task("predicting", total=total)
        yield lambda n_rows: progress.advance(task, n_rows)


def _print(text: Text) -> None:
    Console(stderr=True).print(text, soft_wrap=True, highlight=False)
    sys.stderr.flush()
