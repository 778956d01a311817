"""What can go wrong, whose fault it is, and how errors name a row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Answer(NamedTuple):
    """A way to settle a question: when it is the right one, and the options that say so."""

    when: str
    options: tuple[str, ...]


class SurvtraceError(Exception):
    """Root of every error this package raises on purpose.

    ``in_command`` is the message in the words of the command line, where its way out is another
    (an option in place of an argument). ``answers`` are the options that settle a question, one
    for each reading of the table.
    """

    def __init__(
        self, message: str = "", *, in_command: str | None = None, answers: Sequence[Answer] = ()
    ) -> None:
        super().__init__(message)
        self.in_command = message if in_command is None else in_command
        self.answers = tuple(answers)


class DataError(SurvtraceError, ValueError):
    """A table breaks a rule: the message names the rule, what was seen, and the way out."""


class SettingError(SurvtraceError, ValueError):
    """A setting of the estimator has a value it cannot take."""


class TrainingError(SurvtraceError, RuntimeError):
    """Training could not go on; the best parameters found so far are kept."""


class SavedFileError(SurvtraceError, ValueError):
    """A saved estimator is damaged, foreign, or written by a newer version."""


class DataWarning(UserWarning):
    """Something in a table deserves a look, but the answer is still well defined.

    ``in_command`` is the message in the words of the command line, where they differ.
    """

    def __init__(self, message: str = "", *, in_command: str | None = None) -> None:
        super().__init__(message)
        self.in_command = getattr(message, "in_command", None) or message
        if in_command is not None:
            self.in_command = in_command


class LearnedRowsWarning(DataWarning):
    """A model is scored on rows it seems to have learned from."""


class Words(str):
    """A text that the command line says in words of its own, ``in_command``.

    Examples
    --------
    >>> Words("pass sep=';'", in_command="say --sep ';'").in_command
    "say --sep ';'"
    """

    in_command: str

    def __new__(cls, text: str, *, in_command: str | None = None) -> "Words":
        """The text, and the same for the command line."""
        words = super().__new__(cls, text)
        words.in_command = text if in_command is None else in_command
        return words


# What a row is called, and the number of the first: positions from 0 in Python; the command line
# counts the lines of a text file from 1, the header included, as an editor does.
_row_naming: ContextVar[tuple[str, int]] = ContextVar("row_naming", default=("row", 0))


def row_name(position: int) -> str:
    """Name the row at a position of a table, as the reader of the message counts rows.

    Examples
    --------
    >>> row_name(3)
    'row 3'
    >>> with rows_named("line", first=2):
    ...     row_name(3)
    'line 5'
    """
    word, first = _row_naming.get()
    return f"{word} {int(position) + first}"


def row_span(first: int, n_rows: int) -> str:
    """Name some rows of a table that follow each other.

    Examples
    --------
    >>> row_span(200, 100)
    'rows 200 to 299'
    """
    word, start = _row_naming.get()
    return f"{word}s {first + start:,} to {first + start + n_rows - 1:,}"


@contextmanager
def rows_after(n_rows: int) -> Iterator[None]:
    """Let errors and warnings about a piece of a table count the rows before it, too."""
    word, first = _row_naming.get()
    with rows_named(word, first + n_rows):
        yield


@contextmanager
def rows_named(word: str, first: int) -> Iterator[None]:
    """Let errors and warnings call rows by another word, counted from ``first``."""
    token = _row_naming.set((word, first))
    try:
        yield
    finally:
        _row_naming.reset(token)
