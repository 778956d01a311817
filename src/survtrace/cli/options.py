"""Options that several commands share, each declared once; what they name is read from its file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.errors import SettingError, rows_named

if TYPE_CHECKING:
    import pandas as pd

    from survtrace import SurvTRACE
    from survtrace.tables.files.reading import Reading


def _also_before_the_command(context: typer.Context, value: bool) -> bool:
    """Whether the option stands behind the command, or before it."""
    before = context.parent.params if context.parent else {}
    return value or bool(before.get("quiet"))


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that fit wrote.")]
Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV or other text (also .gz), Excel, Parquet or Feather, or a folder of Parquet "
        "files; - is CSV from standard input.",
    ),
]
Duration = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column with the length of follow-up.")
]
Event = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column with 0 (or censored), or the cause.")
]
MaybeDuration = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the length of follow-up, if you know it."),
]
MaybeEvent = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with 0 (or censored), or the cause, if known."),
]
KnownDuration = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the length of follow-up; by default as fit."),
]
KnownEvent = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with 0 (or censored), or the cause; as fit."),
]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--id", metavar="COLUMN", help="Column that names the subject, no covariate; repeatable."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column that is no covariate; repeatable."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column whose numbers are codes; repeatable."),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Only results: no progress, no remarks.",
        callback=_also_before_the_command,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what is at --out; never an input of the command.")
]
Ray = Annotated[
    bool,
    typer.Option(
        "--ray", help="On the Ray cluster that runs, or else on one started on this machine."
    ),
]
Workers = Annotated[int, typer.Option(min=1, help="With --ray: processes that share the work.")]
Gpu = Annotated[bool, typer.Option("--gpu", help="With --ray: a GPU for each worker.")]


@dataclass(frozen=True)
class TableOptions:
    """What a user says about a table: how its file is written, and which label means censored."""

    sep: str | None = None
    decimal: str | None = None
    missing: Sequence[str] | None = None
    encoding: str | None = None
    sheet: str | None = None
    censored: Sequence[str] | None = None
    columns: Path | None = None
    use: Sequence[str] | None = None

    @property
    def dictionary(self) -> dict[str, dict[str, Any]] | None:
        """What is said of columns, by file and by --use, in plain values; None for nothing."""
        from survtrace.inspection import read_dictionary

        entries = {
            name: {
                key: value for key, value in asdict(entry).items() if value not in ("", (), None)
            }
            for name, entry in read_dictionary(self.columns).items()
        }
        for name in self.use or ():
            entries[name] = {**entries.get(name, {}), "kind": "covariate"}
        return entries or None

    @property
    def reading(self) -> Reading:
        """How the file is written."""
        from survtrace.tables.files.reading import Reading

        sep = {"tab": "\t", r"\t": "\t", "space": " "}.get(self.sep or "", self.sep)
        if self.decimal not in (None, ".", ","):
            raise SettingError(f"--decimal must be . or ,; got {self.decimal!r}.")
        sheet = int(self.sheet) if self.sheet and self.sheet.isdecimal() else self.sheet
        return Reading(sep, self.decimal, tuple(self.missing or ()), self.encoding, sheet)


FILE_OPTIONS: dict[str, Any] = {
    "sep": Annotated[
        str | None, typer.Option(metavar="MARK", help="What separates columns: , ; or tab.")
    ],
    "decimal": Annotated[str | None, typer.Option(metavar="MARK", help="Decimal mark: . or ,")],
    "missing": Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Text or number that means not known; repeatable."),
    ],
    "encoding": Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the characters, such as cp1252.")
    ],
    "sheet": Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file, by name or number.")
    ],
}
CENSORED = Annotated[
    list[str] | None,
    typer.Option(metavar="LABEL", help="Label of --event that means censored; repeatable."),
]


LEARNING_OPTIONS: dict[str, Any] = {
    "columns": Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Data dictionary: CSV with name, kind, unit, label, levels, missing, low, high; "
            "check --write drafts one.",
        ),
    ],
    "use": Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Use this column whatever it looks like; repeatable."),
    ],
}


def reads_table(
    *, outcome: bool = True, learning: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add to a command the options of `TableOptions`, which it is given as ``how``."""
    added = {**FILE_OPTIONS, **({"censored": CENSORED} if outcome else {})}
    added |= LEARNING_OPTIONS if learning else {}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != "how"]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in added.items()
        ]
        last = [inspect.Parameter.KEYWORD_ONLY] * len(own)
        own = [each.replace(kind=kind) for each, kind in zip(own, last, strict=True)]

        @wraps(command)
        def run(**given: Any) -> None:
            how = TableOptions(**{name: given.pop(name) for name in added})
            command(**given, how=how)

        run.__annotations__ = {}
        vars(run)["__signature__"] = signature.replace(parameters=[*own, *more])
        return run

    return decorate


def rows_as_in(table: Path) -> AbstractContextManager[None]:
    """Let messages name rows as an editor does: lines of a text file, header included, from 1."""
    if table.is_dir() or table.suffix in (".parquet", ".feather"):
        return rows_named("row", 1)
    return rows_named("row" if table.suffix in (".xlsx", ".xlsm") else "line", 2)


def read_subjects(
    frame: pd.DataFrame, columns: OutcomeColumns, how: TableOptions
) -> tuple[pd.DataFrame, Any]:
    """Covariates and outcome of a table."""
    from survtrace.tables.files.formats import require_columns, split_outcome

    require_columns(frame.columns, list(how.use or ()))
    return split_outcome(
        frame, columns.duration, columns.event, columns.left_out, censored=how.censored
    )


def read_scored(
    est: SurvTRACE, table: Path, columns: OutcomeColumns, how: TableOptions
) -> tuple[pd.DataFrame, Any]:
    """Covariates and outcome of subjects for a model; columns that fit left out are left out."""
    from survtrace.tables.files.formats import read_table

    frame = read_table(table, how.reading)
    known: dict[str, Any] = est.card_.get("table", {})
    left_out = [name for name in known.get("left_out", ()) if name in frame]
    left_out = list(dict.fromkeys([*columns.left_out, *left_out]))
    return read_subjects(frame, OutcomeColumns(columns.duration, columns.event, left_out), how)


@dataclass(frozen=True)
class OutcomeColumns:
    """The columns of a table that are no covariates."""

    duration: str
    event: str
    left_out: Sequence[str] = ()


def outcome_columns(
    est: SurvTRACE,
    duration: str | None,
    event: str | None,
    ids: Sequence[str] | None,
    drop: Sequence[str] | None,
) -> OutcomeColumns:
    """The columns as told, or else as `fit` was told, which the model remembers."""
    known: dict[str, Any] = est.card_.get("table", {})
    found = {
        "--duration": duration or known.get("duration"),
        "--event": event or known.get("event"),
    }
    for option, name in found.items():
        if name is None:
            raise SettingError(
                f"the model does not say which column was {option} in fit. Pass {option} COLUMN."
            )
    return OutcomeColumns(
        str(found["--duration"]), str(found["--event"]), [*(ids or ()), *(drop or ())]
    )


def read_numbers(text: str, name: str) -> list[float]:
    """Numbers with commas between them.

    Examples
    --------
    >>> read_numbers("12, 60", "--times")
    [12.0, 60.0]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(
            f"{name} must be numbers with commas between them, such as 12,60; got {text!r}."
        ) from None
