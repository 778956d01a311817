"""Options that several commands share, each declared once; what they name is read from its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from survtrace.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd


def _also_before_the_command(context: typer.Context, value: bool) -> bool:
    """Whether the option stands behind the command, or before it."""
    before = context.parent.params if context.parent else {}
    return value or bool(before.get("quiet"))


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that fit wrote.")]
Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV (both also .gz), Parquet or Feather, or a folder of Parquet files; - is CSV "
        "from standard input.",
    ),
]
Duration = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column with the length of follow-up.")
]
Event = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column with 0 (or censored), or the cause.")
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
Ray = Annotated[
    bool,
    typer.Option(
        "--ray", help="On the Ray cluster that runs, or else on one started on this machine."
    ),
]
Workers = Annotated[int, typer.Option(min=1, help="With --ray: processes that share the work.")]
Gpu = Annotated[bool, typer.Option("--gpu", help="With --ray: a GPU for each worker.")]


def read_subjects(
    table: Path,
    duration: str,
    event: str,
    ids: Sequence[str] | None,
    drop: Sequence[str] | None,
    categorical: Sequence[str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and outcome of a table in a file."""
    from survtrace.data.tables import read_table, split_outcome

    left_out = [*(ids or ()), *(drop or ())]
    return split_outcome(read_table(table), duration, event, left_out, categorical or ())


def first_rows(table: Path, roles: Mapping[str, Any]) -> pd.DataFrame:
    """Covariates of some rows of a Parquet file or a folder of them."""
    import pandas as pd

    from survtrace.data.blocks import CohortFiles
    from survtrace.data.pieces import read_pieces
    from survtrace.data.roles import read_roles

    names = [covariate.name for covariate in CohortFiles(table, read_roles(roles)).covariates()]
    return next(read_pieces(table, names), pd.DataFrame())


def outcomes_in_pieces(table: Path, roles: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """Event and duration of such a table, some rows at a time."""
    from survtrace.data.pieces import read_pieces

    names = [roles["event"], roles["duration"]]
    return (piece.set_axis(["event", "duration"], axis=1) for piece in read_pieces(table, names))


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
