"""Errors and warnings: whose fault it is, how they name a row, and whose line a warning names."""

import errno
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = str(Path(__file__).parent)
QUOTES = ("'", '"')
# A quoted name, kept with its digits, or a number that is no part of a name nor a key of a dict.
STANDING_NUMBER = re.compile(r"""'[^']*'|"[^"]*"|(?<!\w)\d[\d,.]*(?![\w:])""")


OUT_OF_MEMORY = re.compile("allocate memory|out of memory|bad_alloc|start new thread")


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


class MissingExtraError(DataError, ModuleNotFoundError):
    """A package of one of the extras is needed and not installed."""


class TrainingError(SurvtraceError, RuntimeError):
    """Training could not go on; the best parameters found so far are kept."""


class SavedFileError(SurvtraceError, ValueError):
    """A saved estimator is damaged, foreign, or written by a newer version."""


class StorageError(SurvtraceError, OSError):
    """A file could not be written: no room, no permission, a disk that fails.

    ``errno``, ``strerror`` and ``filename`` are those of the system's error, where there was one.
    """

    def __init__(self, message: str = "", cause: OSError | None = None) -> None:
        super().__init__(message)
        if cause is not None:
            self.errno, self.strerror, self.filename = cause.errno, cause.strerror, cause.filename

    def __str__(self) -> str:
        return self.in_command


class NotEnoughMemoryError(SurvtraceError, MemoryError):
    """There is not enough memory for what was asked."""


def lacks_memory(error: BaseException) -> bool:
    """Tell whether an error says that memory ran out, by its type or, of torch, by its words.

    Examples
    --------
    >>> lacks_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    """
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and OUT_OF_MEMORY.search(str(error)) is not None


@contextmanager
def memory_errors(doing: str, way_out: str) -> Iterator[None]:
    """Say in our words that memory ran out.

    Examples
    --------
    >>> with memory_errors("fit", "Take fewer rows."):
    ...     raise MemoryError
    Traceback (most recent call last):
    survtrace.errors.NotEnoughMemoryError: there is not enough memory to fit. Take fewer rows.
    """
    try:
        yield
    except NotEnoughMemoryError:
        raise
    except (MemoryError, OSError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        message = f"there is not enough memory to {doing}. {way_out}"
        raise NotEnoughMemoryError(message) from error


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


class UnlikePatientsWarning(DataWarning):
    """More subjects are unlike the patients learned from than chance gives."""


class Words(str):
    """A text that the command line says in words of its own, ``in_command``.

    Examples
    --------
    >>> Words("pass sep=';'", in_command="say --sep ';'").in_command
    "say --sep ';'"
    """

    in_command: str

    def __new__(cls, text: str, *, in_command: str | None = None) -> "Words":
        """Return the text, and the same for the command line."""
        words = super().__new__(cls, text)
        words.in_command = text if in_command is None else in_command
        return words


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here, however many calls lie between.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn("a column is constant", DataWarning)
    >>> caught[0].filename.startswith("<doctest")
    True
    """
    if (kept := _kept_warnings.get()) is not None:
        kept.append((message, category))
        return
    # The caller of the outermost function of ours: frames of other libraries (contextlib, for one)
    # lie between our own, so that the first frame that is not ours may still be inside.
    level, outside, frame = 1, 2, sys._getframe()
    while frame.f_back:
        level += 1
        if frame.f_code.co_filename.startswith(PACKAGE):
            outside = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=outside)


# Where warnings go in a thread that is not the caller's, which alone has a line to warn at.
_kept_warnings: ContextVar[list[tuple[str | Warning, type[Warning]]] | None] = ContextVar(
    "kept_warnings", default=None
)


@contextmanager
def keep_warnings() -> Iterator[list[tuple[str | Warning, type[Warning]]]]:
    """Keep what `warn` is called with in a list, for the caller to warn of later.

    Examples
    --------
    >>> with keep_warnings() as kept:
    ...     warn("a column is constant", DataWarning)
    >>> [message for message, category in kept]
    ['a column is constant']
    """
    kept = list[tuple[str | Warning, type[Warning]]]()
    token = _kept_warnings.set(kept)
    try:
        yield kept
    finally:
        _kept_warnings.reset(token)


def require(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an extra, or say which extra to install.

    Examples
    --------
    >>> require("no_such_module", "plots", "figures need")
    Traceback (most recent call last):
    survtrace.errors.MissingExtraError: figures need no_such_module, which is not installed. \
Install it with: pip install 'survtrace[plots]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise missing_extra(package, extra, purpose) from None


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """Make the error that says which extra to install."""
    error = MissingExtraError(
        f"{purpose} {package}, which is not installed. Install it with: "
        f"pip install 'survtrace[{extra}]'"
    )
    error.name = package
    return error


def kind_of_warning(text: str) -> str:
    """Reduce a warning to what it is about: numbers that stand alone go, names keep theirs.

    Two chunks of a table that warn of the same thing then say the same, whatever they counted;
    warnings about two columns stay two.

    Examples
    --------
    >>> kind_of_warning("12 of 100 values of 'x1' are unseen") == (
    ...     kind_of_warning("3 of 80 values of 'x1' are unseen"))
    True
    >>> kind_of_warning("unseen: {'x1': 2}") == kind_of_warning("unseen: {'x2': 2}")
    False
    """
    return STANDING_NUMBER.sub(lambda found: found[0] if found[0][0] in QUOTES else "#", text)


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


def short(value: Any, most: int = 40) -> str:
    """Format a value for a message as Python does, in one line, cut if it is long.

    Examples
    --------
    >>> short([1, 2]), short(10**400, most=8)
    ('[1, 2]', '10000000...')
    """
    try:
        kind = type(value)  # an array without axes is no number, and is shown as what it is
        is_number = kind.__module__ == "numpy" and kind.__name__ != "ndarray" and value.ndim == 0
        plain = value.item() if is_number else value
        text = " ".join(repr(plain).split())
    except Exception:  # an object of somebody else's may raise anything
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}..."
