"""Show results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

WIDTH_OF_PIPES = 140
SPACE = re.compile(r"(?<=\s)(?=\S)")
DOTS = re.compile(r"(?<=\d\.\.)(?=\S)")  # of an interval, as in 0.71..0.82
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

    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_OF_PIPES)
    columns = [
        [plain(str(name)), *(plain(str(value)) for value in values)]
        for name, values in frame.items()
    ]
    padding, widths = _share_width(columns, console.width)
    around = Text(plain(title), "table.title"), Text(plain(caption), "table.caption")
    table = Table(title=around[0], caption=around[1], padding=(0, padding))
    for column, dtype, width in zip(columns, frame.dtypes, widths, strict=True):
        header = Text(_wrap(column[0], width))
        if is_numeric_dtype(dtype):
            table.add_column(header, justify="right", no_wrap=True)
        else:  # a word too long for its column goes on in the next line, never cut off
            table.add_column(header, overflow="fold")
    for row in zip(*(column[1:] for column in columns), strict=True):
        table.add_row(*(Text(_wrap(*cell)) for cell in zip(row, widths, strict=True)))
    console.print(table)


def _share_width(columns: list[list[str]], width: int) -> tuple[int, list[int]]:
    """Find padding and widths of columns in which every word stays whole, if there are any."""
    words = [max(_width(part) for text in column for part in _parts(text)) for column in columns]
    lines = [
        max(_width(line) for text in column for line in text.split("\n")) for column in columns
    ]
    for padding in (1, 0):
        room = width - len(columns) * (2 * padding + 1) - 1
        for most in range(room, 0, -1):  # the same for all columns that need more
            pairs = zip(words, lines, strict=True)
            widths = [max(word, min(line, most)) for word, line in pairs]
            if sum(widths) <= room:
                return padding, widths
    return 1, lines


def _wrap(text: str, width: int) -> str:
    """Break lines between words; a word too long for that is broken after an interval's dots."""
    done = []
    for line in text.split("\n"):
        begun = ""
        for word in SPACE.split(line):
            for part in [word] if _width(word) <= width else DOTS.split(word):
                if begun and _width(begun + part) > width:
                    done.append(begun.rstrip())
                    begun = ""
                begun += part
        done.append(begun.rstrip())
    return "\n".join(done)


def _parts(text: str) -> list[str]:
    return [part for word in SPACE.split(text) for part in DOTS.split(word)]


def _width(text: str) -> int:
    return cell_len(text.rstrip())


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
    console = Console(stderr=True)
    with console.capture() as shown:
        console.print(text, soft_wrap=True, highlight=False)
    sys.stderr.write(shown.get())  # a progress bar stands in for it, and moves down a line
    sys.stderr.flush()
