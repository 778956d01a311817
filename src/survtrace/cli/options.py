"""Options that several commands share, each declared once, and the tables that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from survtrace.errors import SettingError, rows_named

if TYPE_CHECKING:
    import pandas as pd

    from survtrace import SurvTRACE
    from survtrace.tables.files.reading import Reading


def _also_before_the_command(context: typer.Context, value: bool) -> bool:
    """Check whether the option is given behind the command, or before it."""
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


def _column(help: str, *names: str) -> Any:
    return typer.Option(*names, metavar="COLUMN", help=help)


NO_ENTRY = "none"  # --entry none: everybody is observed from 0 on, unlike in fit
ENTRY = (
    "Column with when observation of the row began, counted from the same origin as --duration "
    "(such as the age at enrolment, beside the age at the end)"
)
# The options --duration, --event and --entry of a command that reads an outcome.
REQUIRED = (
    Annotated[str, _column("Column with the length of follow-up.")],
    Annotated[str, _column("Column with 0 (or censored), or the cause.")],
    Annotated[str | None, _column(f"{ENTRY}; 0 for everybody if left out.")],
)
OPTIONAL = (
    Annotated[str | None, _column("Column with the length of follow-up, if you know it.")],
    Annotated[str | None, _column("Column with 0 (or censored), or the cause, if known.")],
    Annotated[str | None, _column(f"{ENTRY}, if there is one.")],
)
AS_FIT = (
    Annotated[str | None, _column("Column with the length of follow-up; by default as fit.")],
    Annotated[str | None, _column("Column with 0 (or censored), or the cause; as fit.")],
    Annotated[str | None, _column(f"{ENTRY}; as fit. none: 0 for everybody.")],
)
Ids = Annotated[
    list[str] | None,
    _column(
        "Column that names the subject, no covariate; repeatable. With --entry, a subject may have "
        "several rows, each with the covariates of its time; the first such column says whose.",
        "--id",
    ),
]
Keep = Annotated[
    list[str] | None, _column("Column that names the subject, no covariate; repeatable.", "--id")
]
Drop = Annotated[list[str] | None, _column("Column that is no covariate; repeatable.")]
Categorical = Annotated[list[str] | None, _column("Column whose numbers are codes; repeatable.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Only results: no progress, no warnings.",
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
About = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC=TEXT",
        help="What no table holds, such as dates='2004 to 2015' or place=..., for the model card "
        "and the checklist; or a JSON or TOML file of them; repeatable.",
    ),
]


@dataclass(frozen=True)
class OutcomeColumns:
    """The columns of a table that are no covariates."""

    duration: str
    event: str
    left_out: Sequence[str] = ()
    entry: str | None = None
    id: str | None = None  # only beside an entry, where a subject may have several rows

    @property
    def named(self) -> list[str]:
        """List all of them."""
        outcome = (self.duration, self.event, self.entry, self.id)
        return [*(name for name in outcome if name is not None), *self.left_out]


@dataclass(frozen=True)
class TableOptions:
    """Options on which columns of a table hold what, and how its file is written."""

    duration: str | None = None  # the options of these three differ between commands
    event: str | None = None
    entry: str | None = None
    ids: Ids = None
    drop: Drop = None
    categorical: Categorical = None
    sep: Annotated[
        str | None, typer.Option(metavar="MARK", help="What separates columns: , ; or tab.")
    ] = None
    decimal: Annotated[str | None, typer.Option(metavar="MARK", help="Decimal mark: . or ,")] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Text or number that means not known; repeatable."),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the characters, such as cp1252.")
    ] = None
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file, by name or number.")
    ] = None
    censored: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Label of --event that means censored; repeatable."),
    ] = None
    columns: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Data dictionary: CSV with name, kind, unit, label, levels, missing, low, high; "
            "check --write drafts one.",
        ),
    ] = None
    use: Annotated[
        list[str] | None, _column("Use this column whatever it looks like; repeatable.")
    ] = None

    @property
    def outcome(self) -> OutcomeColumns:
        """Return the columns that are no covariates."""
        ids = list(self.ids or ())
        subject = ids.pop(0) if ids and self.entry else None
        left_out = [*ids, *(self.drop or ())]
        return OutcomeColumns(str(self.duration), str(self.event), left_out, self.entry, subject)

    @property
    def dictionary(self) -> dict[str, dict[str, Any]] | None:
        """Merge the entries of --columns and --use, in plain values; None for none."""
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
        """Convert the options on how the file is written."""
        from survtrace.tables.files.reading import Reading

        sep = {"tab": "\t", r"\t": "\t", "space": " "}.get(self.sep or "", self.sep)
        if self.decimal not in (None, ".", ","):
            raise SettingError(f"--decimal must be . or ,; got {self.decimal!r}.")
        sheet = int(self.sheet) if self.sheet and self.sheet.isdecimal() else self.sheet
        return Reading(sep, self.decimal, tuple(self.missing or ()), self.encoding, sheet)


def reads_table(
    outcome: tuple[Any, Any, Any] | None = None, *, learning: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of `TableOptions` to a command, which gets their values as ``how``.

    ``outcome`` holds the options --duration, --event and --entry, for a command that reads them.
    """
    hints = get_type_hints(TableOptions, include_extras=True)
    hints["duration"], hints["event"], hints["entry"] = outcome or (None, None, None)
    absent = {*(() if learning else ("categorical", "columns", "use"))}
    absent |= {*(() if outcome else ("duration", "event", "entry", "ids", "drop", "censored"))}
    added = {name: hint for name, hint in hints.items() if name not in absent}
    required = ("duration", "event") if outcome is REQUIRED else ()
    keyword = inspect.Parameter.KEYWORD_ONLY

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        of_command = {n: each.replace(kind=keyword) for n, each in signature.parameters.items()}
        of_command.pop("how")
        arguments = [of_command.pop(name) for name in ("model", "table") if name in of_command]
        options = [
            inspect.Parameter(
                name,
                keyword,
                default=inspect.Parameter.empty if name in required else None,
                annotation=hint,
            )
            for name, hint in added.items()
        ]
        parameters = [*arguments, *options, *of_command.values()]

        @wraps(command)
        def run(**values: Any) -> None:
            how = TableOptions(**{name: values.pop(name) for name in added})
            command(**values, how=how)

        run.__annotations__ = {}
        vars(run)["__signature__"] = signature.replace(parameters=parameters)
        return run

    return decorate


def rows_as_in(table: Path) -> AbstractContextManager[None]:
    """Let messages name rows as an editor does: lines of a text file, header included, from 1."""
    if table.is_dir() or table.suffix.lower() in (".parquet", ".feather"):
        return rows_named("row", 1)
    return rows_named("row" if table.suffix.lower() in (".xlsx", ".xlsm") else "line", 2)


def read_subjects(
    frame: pd.DataFrame, columns: OutcomeColumns, how: TableOptions
) -> tuple[pd.DataFrame, Any]:
    """Split a table into covariates and outcome."""
    from survtrace.tables.files.formats import require_columns, split_outcome
    from survtrace.tables.outcome.roles import require_distinct

    require_columns(frame.columns, list(how.use or ()))
    roles = {"--duration": columns.duration, "--event": columns.event, "--entry": columns.entry}
    require_distinct({option: name for option, name in roles.items() if name is not None})
    return split_outcome(
        frame,
        columns.duration,
        columns.event,
        columns.left_out,
        censored=how.censored,
        entry=columns.entry,
        id=columns.id,
    )


def read_scored(
    est: SurvTRACE, table: Path, how: TableOptions, *, keep: Sequence[str] = ()
) -> tuple[pd.DataFrame, Any]:
    """Read covariates and outcome to score a model on; drop the columns that fit left out.

    Columns to ``keep`` stay beside the covariates, such as those that groups are made by.
    """
    from survtrace.tables.files.formats import read_table, require_columns

    frame = read_table(table, how.reading)
    require_columns(frame.columns, list(keep))
    columns = outcome_columns(est, how, list(frame.columns))
    dropped_in_fit = est.card_.get("table", {}).get("left_out", ())
    left_out = dict.fromkeys([*columns.left_out, *(n for n in dropped_in_fit if n in frame)])
    X, y = read_subjects(frame, replace(columns, left_out=list(left_out)), how)
    return X.assign(**{name: frame[name] for name in keep if name not in X}), y


def outcome_columns(est: SurvTRACE, how: TableOptions, present: Sequence[str]) -> OutcomeColumns:
    """Return the columns that the options name, or else those of `fit`, kept in the model.

    Of these the entry must be ``present`` in the table; who is whose row need not be known.
    """
    fitted: dict[str, Any] = est.card_.get("table", {})
    found = {
        "--duration": how.duration or fitted.get("duration"),
        "--event": how.event or fitted.get("event"),
    }
    for option, name in found.items():
        if name is None:
            raise SettingError(
                f"the model does not say which column was {option} in fit. Pass {option} COLUMN."
            )
    entry = how.entry or fitted.get("entry")
    if how.entry == NO_ENTRY and NO_ENTRY not in present:
        entry = None
    elif how.entry is None and entry is not None and entry not in present:
        raise SettingError(
            f"the model was fitted with --entry {entry}, and the table has no such column. Pass "
            f"--entry COLUMN, or --entry {NO_ENTRY} if everybody is observed from 0 on."
        )
    ids = how.ids or [str(name) for name in (fitted.get("id"),) if name in present]
    columns = replace(how, duration=found["--duration"], event=found["--event"])
    return replace(columns, entry=entry, ids=ids).outcome


def read_about(texts: Sequence[str] | None) -> dict[str, str]:
    """Read --about: topics with their texts, or files of them; the later ones win.

    Examples
    --------
    >>> read_about(["dates=2004 to 2015", "place = Leiden"])
    {'dates': '2004 to 2015', 'place': 'Leiden'}
    """
    from survtrace.cli.settings import read_config
    from survtrace.rules import near_name
    from survtrace.settings import ABOUT_TOPICS

    found: dict[str, str] = {}
    for text in texts or ():
        topic, equals, words = text.partition("=")
        if equals:
            found[topic.strip()] = words.strip()
        elif text.endswith((".json", ".toml")):
            found |= {key: str(value) for key, value in read_config(Path(text)).items() if value}
        else:
            raise SettingError(
                f"--about takes TOPIC=TEXT, such as dates='2004 to 2015', or a JSON or TOML file; "
                f"got {text!r}."
            )
    for topic in found:
        if topic not in ABOUT_TOPICS:
            near = near_name(topic, ABOUT_TOPICS)
            way_out = f"did you mean {near!r}?" if near else f"they are {list(ABOUT_TOPICS)}."
            raise SettingError(f"--about: there is no topic {topic!r}; {way_out}")
    return found


def read_numbers(text: str, name: str) -> list[float]:
    """Parse numbers with commas between them.

    Examples
    --------
    >>> read_numbers("12, 60", "--times")
    [12.0, 60.0]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        example = "0.1,0.2" if name == "--thresholds" else "12,60"
        raise SettingError(
            f"{name} must be numbers with commas between them, such as {example}; got {text!r}."
        ) from None
