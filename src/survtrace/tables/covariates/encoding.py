"""Learn scales and categories on training rows; encode a table by them as rows and values."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataWarning, warn
from survtrace.tables.covariates.covariate import Covariate, Kind
from survtrace.tables.covariates.magnitude import is_within_reach, require_within_reach
from survtrace.tables.covariates.missing import LEVELS, MARKERS
from survtrace.tables.covariates.summary import Counts, Summary, nearest_quantiles, summarise
from survtrace.tables.covariates.values import Column, Levels, plain_text
from survtrace.tables.tasks import MANY_ROWS, Run, map_in_order, one_by_one, row_blocks

if TYPE_CHECKING:
    import narwhals as nw
    from scipy import sparse

MISSING, UNSEEN = 0, 1
SAVED = ("mean", "deviation", "low", "typical", "high", "levels")
MISSING_TEXTS = tuple(mark for mark in MARKERS if mark not in LEVELS)


class Encoded(NamedTuple):
    """Each token as a row of the embedding table and a value that multiplies it."""

    rows: NDArray[np.int32]
    values: NDArray[np.float32]

    def design(self, n_rows: int) -> sparse.csr_matrix:
        """Make the matrix for linear models: one column per row of the embedding table."""
        from scipy import sparse

        n, n_tokens = self.rows.shape
        starts = np.arange(0, n * n_tokens + 1, n_tokens)
        return sparse.csr_matrix(
            (self.values.ravel().astype(np.float64), self.rows.ravel(), starts), (n, n_rows)
        )


@dataclass(frozen=True)
class Scale:
    """A numerical covariate: two rows of the embedding table, for missing and for present values.

    A ``deviation`` of 0 says that all values of the training rows were the same, to rounding:
    nothing was learned from them, and any value is encoded as 0 (a missing one still as missing).
    """

    mean: float
    deviation: float
    low: float  # the 1, 50 and 99 % quantiles of the training rows
    typical: float
    high: float
    n_rows: ClassVar[int] = 2
    n_silent: ClassVar[int] = 1


def standardise(
    values: NDArray[np.float64], mean: NDArray[np.float64], deviation: NDArray[np.float64]
) -> Encoded:
    """Standardise numbers, (subject, covariate); a missing one becomes 1 times the missing row.

    Examples
    --------
    >>> values, mean, deviation = np.array([[61.0], [np.nan]]), np.array([51.0]), np.array([10.0])
    >>> standardise(values, mean, deviation).values.tolist()
    [[1.0], [1.0]]
    """
    missing = np.isnan(values)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = ((values - mean) / deviation).astype(np.float32)  # the caller refuses infinity
    if not deviation.all():
        scaled[:, deviation == 0] = 0.0
    scaled[missing] = 1.0
    return Encoded((~missing).astype(np.int32), scaled)


@dataclass(frozen=True)
class Categories:
    """A categorical covariate: the rows "missing", "unseen", then one per level."""

    levels: tuple[str, ...]
    typical: str | None = None  # the level most training rows have; None if all are missing
    n_silent: ClassVar[int] = 2

    @property
    def n_rows(self) -> int:
        """Count its rows of the embedding table."""
        return len(self.levels) + self.n_silent

    def rows_of(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Look up the row of each text; behind them stands that of code -1, missing.

        A text that differs from just one level in case and spaces is that level; a usual mark of
        missing values, such as "unknown", is missing where it is no level.

        Examples
        --------
        >>> Categories(("f", "m")).rows_of(["m", "F ", "x", "unknown"]).tolist()
        [3, 2, 1, 0, 0]
        """
        rows = self._rows
        row_of_text = [rows.get(text, UNSEEN) for text in texts]
        if UNSEEN in row_of_text:
            alike = self._rows_alike
            row_of_text = [
                alike.get(plain_text(text), UNSEEN) if row == UNSEEN else row
                for text, row in zip(texts, row_of_text, strict=True)
            ]
        return np.array([*row_of_text, MISSING], dtype=np.int32)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {level: number + self.n_silent for number, level in enumerate(self.levels)}

    @cached_property
    def _rows_alike(self) -> dict[str, int]:
        """Map texts without case and spaces to the only level they can be, or to missing."""
        n_alike = Counter(plain_text(level) for level in self.levels)
        by_plain_text = {plain_text(level): row for level, row in self._rows.items()}
        alike = dict.fromkeys(MISSING_TEXTS, MISSING)
        return alike | {text: row for text, row in by_plain_text.items() if n_alike[text] == 1}


@dataclass(frozen=True)
class Encoding:
    """What was learned of each covariate, in token order.

    ``left_out`` names columns of the table that are no covariates: identifiers, dates, free text,
    the outcome. A prediction takes tables with and without them.
    """

    covariates: tuple[Covariate, ...]
    columns: tuple[Scale | Categories, ...]
    left_out: tuple[str, ...] = ()

    @property
    def names(self) -> NDArray[np.object_]:
        """Return the names of the covariates, in token order."""
        return np.array([covariate.name for covariate in self.covariates], dtype=object)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """Return where each covariate's block of the embedding table begins and the last ends."""
        return np.cumsum([0, *(column.n_rows for column in self.columns)])

    @cached_property
    def numerical(self) -> NDArray[np.intp]:
        """Return the places of the numerical covariates."""
        return np.flatnonzero([isinstance(column, Scale) for column in self.columns])

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Tell of each covariate whether it is categorical."""
        return np.array([isinstance(column, Categories) for column in self.columns], dtype=np.bool_)

    @cached_property
    def missing_rows(self) -> NDArray[np.int64]:
        """Return the rows of the missing values of numerical covariates."""
        return self.first_rows[self.numerical] + MISSING

    @cached_property
    def _mean_and_deviation(self) -> NDArray[np.float64]:
        scales = [column for column in self.columns if isinstance(column, Scale)]
        return np.array([[each.mean, each.deviation] for each in scales]).reshape(-1, 2).T

    @property
    def silent_rows(self) -> tuple[int, ...]:
        """Return the rows of "missing" and "unseen"."""
        return tuple(
            int(first) + silent
            for first, column in zip(self.first_rows, self.columns, strict=False)
            for silent in range(column.n_silent)
        )

    def encode(
        self, table: nw.DataFrame[Any], first_row: int = 0, run: Run = one_by_one
    ) -> Encoded:
        """Encode every token of a table as row and value; warn once of unseen categories.

        ``first_row`` is what errors call the first row, if the table is a chunk of another; ``run``
        may run the parts of a large table in threads.
        """
        # Here, since they need pandas and narwhals: columns that were read are encoded without.
        from survtrace.tables.covariates.columns import read_columns
        from survtrace.tables.covariates.covariates import select_columns

        table = select_columns(table, self.covariates, self.left_out)
        run = run if len(table) > MANY_ROWS else one_by_one
        columns = read_columns(table, self.covariates, first_row, run)
        return self.encode_columns(columns, len(table), first_row, run)

    def encode_columns(
        self, read: Sequence[Any], n_subjects: int, first_row: int = 0, run: Run = one_by_one
    ) -> Encoded:
        """Encode columns (`Column`) that were read already, in the order of the covariates."""
        shape, blocks = (n_subjects, len(self.columns)), row_blocks(n_subjects)
        whole = Encoded(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32))
        first_rows, numbers, given = self.first_rows.tolist(), self.numerical, list(read)
        row_of_code = {
            j: column.rows_of(given[j].text) + np.int32(first_rows[j])
            for j, column in enumerate(self.columns)
            if isinstance(column, Categories)
        }
        unseen = {j: first_rows[j] + UNSEEN for j in row_of_code}
        unseen = {j: row for j, row in unseen.items() if row in row_of_code[j]}
        far = set[int]()

        def encode_block(k: int) -> None:
            some = blocks[k]
            whole.values[some] = 1
            for j, row_of in row_of_code.items():
                whole.rows[some, j] = row_of[given[j].codes[some]]
            if not len(numbers):
                return
            # All at once: of one subject, each step takes as long as for many.
            raw = np.empty((some.stop - some.start, len(numbers)))
            for i, j in enumerate(numbers.tolist()):
                raw[:, i] = given[j][some]
            rows, values = standardise(raw, *self._mean_and_deviation)
            whole.rows[some, numbers] = rows + self.first_rows[numbers]
            whole.values[some, numbers] = values
            if not is_within_reach(values):
                far.add(k)

        run(encode_block, len(blocks))
        for j in numbers.tolist() if far else ():
            require_within_reach(whole.values[:, j], self.covariates[j].name, first_row)
        counts = {
            self.covariates[j].name: n
            for j, row in unseen.items()
            if (n := int(np.count_nonzero(whole.rows[:, j] == row)))
        }
        if counts:
            warn(
                "categories not seen in fit get the unseen token; subjects concerned, by "
                f"column: {counts}.",
                DataWarning,
            )
        return whole

    def leaving_out(self, names: Sequence[str]) -> Encoding:
        """Return the same encoding for tables that have these columns beside the covariates."""
        return replace(self, left_out=tuple(dict.fromkeys([*self.left_out, *names])))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        plain: dict[str, Any] = {}
        for covariate, column in zip(self.covariates, self.columns, strict=True):
            learned = vars(column)
            plain[covariate.name] = {name: learned[name] for name in SAVED if name in learned}
            if written := covariate.as_dict():
                plain[covariate.name]["written"] = written
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any], left_out: Sequence[str] = ()) -> Encoding:
        """Make the encoding that `as_dict` described."""
        covariates, columns = list[Covariate](), list[Scale | Categories]()
        for name, entry in plain.items():
            learned = {key: value for key, value in entry.items() if key != "written"}
            kind: Kind = "categorical" if "levels" in learned else "numerical"
            if kind == "categorical":
                columns.append(Categories(tuple(learned["levels"]), learned.get("typical")))
            else:
                columns.append(Scale(**learned))
            covariates.append(Covariate.from_dict(name, kind, entry.get("written", {})))
        return cls(tuple(covariates), tuple(columns), tuple(left_out))


def learn_encoding(
    table: nw.DataFrame[Any],
    covariates: Sequence[Covariate],
    left_out: Sequence[str] = (),
    notes: str = "",
) -> Encoding:
    """Learn scales and categories from training rows.

    Columns that carry no information are named in one warning, behind ``notes``.

    Examples
    --------
    >>> from survtrace.tables.covariates.covariates import infer_covariates, open_table
    >>> table = open_table({"age": [40.0, 60.0, None], "sex": ["f", "m", "f"]})
    >>> encoding = learn_encoding(table, infer_covariates(table))
    >>> encoding.encode(table).rows.tolist()       # age: 0 missing, 1 value; sex: 2 + 2 silent
    [[1, 4], [1, 5], [0, 4]]
    >>> encoding.encode(table).values.tolist()
    [[-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    from survtrace.tables.covariates.columns import read_column

    columns = [read_column(table, covariate) for covariate in covariates]
    numerical = [column for column in columns if not isinstance(column, Levels)]
    summaries, copies = [summarise(column) for column in columns], find_copies(covariates, columns)
    return learn_from_summaries(covariates, summaries, numerical, left_out, notes, copies)


def learn_from_summaries(
    covariates: Sequence[Covariate],
    summaries: Sequence[Summary],
    numerical: Iterable[NDArray[np.float64]],
    left_out: Sequence[str] = (),
    notes: str = "",
    copies: Sequence[str] = (),
    weight: NDArray[np.float64] | None = None,
) -> Encoding:
    """Learn scales and categories from summaries, and quantiles from values or a sample of them.

    ``weight`` is that of each row of the values, where the summaries have weights, too.
    """
    warn_of_idle_columns(covariates, summaries, copies, notes)
    samples, learned = iter(numerical), list[Scale | Categories]()
    for summary in summaries:
        if isinstance(summary, Counts):
            learned.append(Categories(tuple(sorted(summary.levels)), summary.typical))
            continue
        values = next(samples)
        is_present = ~np.isnan(values)
        present, of_present = values[is_present], None if weight is None else weight[is_present]
        if not len(present):
            present, of_present = np.array([summary.mean]), None
        quantiles = nearest_quantiles(present, [0.01, 0.5, 0.99], of_present)
        deviation = 0.0 if summary.is_constant else summary.deviation
        learned.append(Scale(summary.mean, deviation, *quantiles))
    return Encoding(tuple(covariates), tuple(learned), tuple(left_out))


def warn_of_idle_columns(
    covariates: Sequence[Covariate],
    summaries: Sequence[Summary],
    copies: Sequence[str] = (),
    notes: str = "",
) -> None:
    """Warn of columns without information: empty, constant, or a copy of another."""
    idle: dict[str, list[str]] = {"all missing": [], "constant": [], "a copy of another": []}
    for covariate, summary in zip(covariates, summaries, strict=True):
        if summary.n == 0:
            idle["all missing"].append(covariate.name)
        elif summary.is_constant and summary.n_missing == 0:
            idle["constant"].append(covariate.name)
        elif covariate.name in copies:
            idle["a copy of another"].append(covariate.name)
    found = {reason: names for reason, names in idle.items() if names}
    messages = [notes] if notes else []
    if found:
        messages.append(
            f"some columns carry no information of their own: {found}. They are kept; drop them "
            "to train faster."
        )
    if messages:
        in_command = "\n".join(getattr(each, "in_command", each) for each in messages)
        warn(DataWarning("\n".join(messages), in_command=in_command))


def find_copies(
    covariates: Sequence[Covariate], columns: Sequence[Column], run: Run = one_by_one
) -> list[str]:
    """Name the covariates whose column is that of an earlier one."""
    copies, seen = [], set[bytes]()
    for covariate, digest in zip(covariates, map_in_order(_digest, columns, run), strict=True):
        if digest in seen:
            copies.append(covariate.name)
        seen.add(digest)
    return copies


def _digest(column: Column) -> bytes:
    content = column.codes if isinstance(column, Levels) else column
    return hashlib.sha256(np.ascontiguousarray(content).data).digest()
