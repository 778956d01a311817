"""Covariates in, answers out: what the API says, computed by the fitted estimator."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.app.answers.certainty import (
    Interval,
    Typicality,
    cuts_of_intervals,
    intervals,
    typicalities,
)
from survtrace.app.answers.limits import Limits
from survtrace.app.answers.schema import CovariateSchema
from survtrace.errors import DataError, DataWarning, row_name, warn
from survtrace.estimator import SurvTRACE
from survtrace.explain import attention_rollout
from survtrace.inference.interval import with_cuts
from survtrace.inference.times import read_times
from survtrace.naming import prediction_frame, state_names
from survtrace.tables.covariates.covariate import Kind
from survtrace.tables.covariates.covariates import open_table

Array = NDArray[np.float64]
NAMED = 20  # columns named in a message, at most
MAX_COLUMNS = 2_000
CHUNK = 1_000


@dataclass
class Prediction:
    """Curves of each subject; survival and the incidences of all causes sum to 1.

    Standard deviations are between members; null if there is only one. ``interval`` and
    ``typicality`` (one of each subject) are null where the model does not know them.
    """

    times: list[float]
    causes: list[str]
    survival: list[list[float]]
    survival_std: list[list[float | None]]
    incidence: list[list[list[float]]]
    incidence_std: list[list[list[float | None]]]
    interval: Interval | None
    typicality: list[Typicality] | None
    warnings: list[str]


@dataclass
class Attention:
    """How much each covariate (row) drew on each other (column), all layers rolled into one."""

    covariates: list[str]
    attention: list[list[float]]
    warnings: list[str]


@dataclass(frozen=True)
class Scored:
    """A table with its subjects' probabilities beside it."""

    table: pd.DataFrame
    warnings: list[str]

    def csv(self) -> Iterator[str]:
        """The table as text, some rows at a time."""
        for first in range(0, len(self.table), CHUNK):
            part = self.table.iloc[first : first + CHUNK]
            yield part.to_csv(index=False, header=first == 0, lineterminator="\n")


class Answers:
    """A fitted estimator that answers in plain values; remembers no question."""

    def __init__(
        self, est: SurvTRACE, covariates: Sequence[CovariateSchema], limits: Limits
    ) -> None:
        self.est, self.limits = est, limits
        self.covariates = {covariate.name: covariate for covariate in covariates}
        self.left_out: tuple[str, ...] = est.encoding_.left_out
        self.causes = [str(cause) for cause in est.causes_]
        self.predictor = est._predictor()

    def predict(
        self,
        subjects: Sequence[Mapping[str, Any]],
        times: Sequence[float] | None,
        after: float | Sequence[float] = 0.0,
        level: float | None = 0.95,
    ) -> Prediction:
        """Curves of each subject at ``times``, given that it is event-free at ``after``.

        ``after`` is a time, or one for each subject. A covariate not given is unknown. ``level``
        is that of the intervals; None for no intervals.
        """
        with collected_warnings() as words:
            table = self._table(subjects)
            starts = self._starts(after, len(table))
            points = self._points(times, len(table))
            cuts = cuts_of_intervals(self.est, level)
            mean, deviation = self._states(table, with_cuts(cuts, points), starts)
            interval = intervals(self.est, mean, deviation, points, level)
            mean, deviation = mean[..., len(cuts) :], deviation[..., len(cuts) :]
            typicality = typicalities(self.est, table)
        return Prediction(
            times=points.tolist(),
            causes=self.causes,
            survival=mean[:, 0].tolist(),
            survival_std=_or_none(deviation[:, 0]),
            incidence=mean[:, 1:].tolist(),
            incidence_std=_or_none(deviation[:, 1:]),
            interval=interval,
            typicality=typicality,
            warnings=words,
        )

    def attention(self, subject: Mapping[str, Any]) -> Attention:
        """Attention between the covariates of one subject."""
        with collected_warnings() as words:
            weights = self.est.attention(self._table([subject]))
        return Attention(
            covariates=list(self.covariates),
            attention=attention_rollout(weights)[0].tolist(),
            warnings=words,
        )

    def score(
        self,
        content: bytes,
        times: Sequence[float] | None,
        after: str | None = None,
        ahead: Sequence[float] | None = None,
    ) -> Scored:
        """A CSV table with the probability of each state at each time added to its columns.

        ``after`` names a column with a time at which each subject is event-free, such as its age;
        ``ahead`` are times counted from there, in place of ``times``.
        """
        with collected_warnings() as words:
            table, text = read_csv(content, self.limits.rows)
            missing = [name for name in self.covariates if name not in table]
            if len(missing) == len(self.covariates):
                raise DataError(
                    f"the table must have columns named as in /schema; it has none of "
                    f"{_some(missing)}, but {_some(text.columns.to_list())}. Rename them."
                )
            starts = 0.0 if after is None else _now(table, after)
            if ahead and after is None:
                raise DataError(
                    f"ahead={list(ahead)} is counted from a time of each subject's own; after "
                    "names the column that has it. Add for example after=age."
                )
            unused = [name for name in text.columns if name not in (*self.covariates, after)]
            for name in missing:
                if near := get_close_matches(name, unused, n=1):
                    raise DataError(
                        f"the table has no column {name!r}; is {near[0]!r} meant? Rename it, or "
                        f"add an empty column {name!r} if it is not known."
                    )
            if missing:
                warn(
                    f"covariates that are no columns of the table are unknown: {_some(missing)}.",
                    DataWarning,
                )
            completed = table.assign(**dict.fromkeys(missing))
            if after is not None and after not in self.covariates:
                completed = completed.drop(columns=after)
            distinct = list(dict.fromkeys(ahead or times or [self.est.median_event_time_]))
            asked = np.add.outer(starts, distinct) if ahead else distinct
            points = self._points(asked, len(completed))
            mean, _ = self._states(completed, points, self._starts(starts, len(completed)))
        names = state_names(distinct, self.causes, mark="+" if ahead else "")
        return Scored(pd.concat([text, prediction_frame(text, names, mean)], axis=1), words)

    def _points(self, times: Sequence[float] | Array | None, n_subjects: int) -> Array:
        """Times as an array, unless they are too many for so many subjects."""
        points, _ = read_times(times, self.est.time_grid_, "constant")
        if np.isinf(points).any():
            raise DataError("times must be finite; got infinity. Ask for the end of the grid.")
        self.limits.check(n_subjects, points.shape[-1], 1 + len(self.causes))
        return points

    def _states(self, X: pd.DataFrame, points: Array, starts: Array | None) -> tuple[Array, Array]:
        """Probability of each state, (subject, state, time), and its deviation."""
        mean, deviation = self.predictor.curve(X, "states", points, after=starts, with_std=True)
        assert deviation is not None
        return mean, deviation

    def _starts(self, after: float | Sequence[float] | Array, n_subjects: int) -> Array | None:
        """Until when each subject is known to be event-free; None where that is 0 for all."""
        first, end = self.est.time_grid_[[0, -1]]
        starts = np.atleast_1d(np.asarray(after, dtype=np.float64))
        if len(starts) not in (1, n_subjects):
            raise DataError(
                f"after must be one time, or one for each of the {n_subjects} subjects; got "
                f"{len(starts)}."
            )
        outside = starts[~((starts == 0) | (starts >= first) & (starts < end))]
        if len(outside):
            raise DataError(
                f"after must lie between {first:g} and {end:g}, where the curves begin and end; "
                f"got {outside[0]:g}. Give a time there until which the subject is known to be "
                "event-free."
            )
        if first > 0 and (starts == 0).any():
            warn(
                f"the curves begin at {first:g}, and no later time until which a subject is "
                "event-free was given: they are those of somebody event-free then. Give `after`.",
                DataWarning,
            )
        return np.broadcast_to(starts, n_subjects).copy() if starts.any() else None

    def _table(self, subjects: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """A column for each covariate; others are refused: they would be taken for unknown."""
        for name in dict.fromkeys(name for subject in subjects for name in subject):
            if name not in self.covariates and name not in self.left_out:
                near = get_close_matches(name, self.covariates, n=1)
                meant = f"did you mean {near[0]!r}?" if near else "leave it out."
                raise DataError(
                    f"there is no covariate {name!r}; {meant} The covariates are "
                    f"{_some(list(self.covariates))}."
                )
        columns = {
            name: _column([subject.get(name) for subject in subjects], covariate.kind)
            for name, covariate in self.covariates.items()
        }
        return pd.DataFrame(columns)


def _now(table: pd.DataFrame, name: str) -> Array:
    """The column of a table that has the time now of each subject."""
    if name not in table:
        raise DataError(
            f"after must name a column of the table; got {name!r}, which is none of "
            f"{_some(table.columns.to_list())}. Add the column, or correct the name."
        )
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise DataError(
            f"column {name!r} must have a time for each subject; {np.isnan(values).sum()} of "
            f"{len(values)} rows have none (first: {row_name(row)}). Fill them in."
        )
    return values


def read_csv(content: bytes, max_rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    r"""A CSV table as the library reads it, and as the text it is.

    Examples
    --------
    >>> table, text = read_csv(b"id,age\n007,61\n", max_rows=10)
    >>> table["age"].tolist(), text["id"].tolist()
    ([61], ['007'])
    """
    try:
        text = content.decode("utf-8-sig")
        header = next(csv.reader(io.StringIO(text)), [])
        if len(header) > MAX_COLUMNS:
            raise DataError(f"a table may have {MAX_COLUMNS} columns; got {len(header)}.")
        open_table(pd.DataFrame(columns=header))  # names must differ
        read: dict[str, Any] = {"nrows": max_rows + 1, "index_col": False, "low_memory": False}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # longer than the header
            table = pd.read_csv(io.StringIO(text), **read)
            verbatim = pd.read_csv(io.StringIO(text), **read, dtype=str, keep_default_na=False)
    except DataError:
        raise
    except (ValueError, OverflowError, csv.Error, pd.errors.ParserWarning) as error:
        raise DataError(
            f"the table could not be read as CSV in UTF-8 ({error}). Write a line of column "
            "names, then a line for each subject."
        ) from None
    return table, verbatim


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect what the library warns of, each thing once."""
    words: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield words
    messages = [str(w.message) for w in caught if issubclass(w.category, DataWarning)]
    words.extend(dict.fromkeys(messages))


def _or_none(values: Array) -> Any:
    """Lists of numbers, None where they are not known."""
    return np.where(np.isnan(values), None, values).tolist()  # type: ignore[call-overload]


def _column(values: list[Any], kind: Kind) -> Any:
    """A column as the library takes it; a text among numbers is left for it to judge."""
    if kind == "categorical":
        return pd.Series(values, dtype=object)
    values = [np.inf if isinstance(v, int) and abs(v) > sys.float_info.max else v for v in values]
    if any(isinstance(value, str) for value in values):
        return pd.Series(values, dtype=object)
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _some(names: Sequence[str]) -> str:
    return f"{list(names[:NAMED])}" + (" and more" if len(names) > NAMED else "")
