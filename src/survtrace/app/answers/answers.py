"""Covariates in, answers out: what the API says, computed by the portable predictor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.app.answers.certainty import (
    Interval,
    Typicality,
    cuts_of_intervals,
    ends,
    interval_of,
    typicalities,
)
from survtrace.app.answers.limits import Limits
from survtrace.errors import DataError, DataWarning, SurvtraceError, keep_warnings, warn
from survtrace.inference.interval import with_cuts
from survtrace.inference.rolled_attention import attention_rollout
from survtrace.inference.times import read_times
from survtrace.portable import PortableSurvTRACE
from survtrace.rules import near_name
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.typicality.typicality import UNLIKE

Array = NDArray[np.float64]
Kept = list[tuple[str | Warning, type[Warning]]]
NAMED = 20  # columns named in a message, at most


@dataclass(frozen=True)
class Question:
    """Subjects by the names of their covariates, and what is asked of them.

    Curves at ``times``, by default the cuts of the grid, given that a subject is event-free at
    ``after``: a time, or one for each subject. ``level`` is that of the intervals; None for none.
    """

    subjects: Sequence[Mapping[str, Any]]
    times: Sequence[float] | None = None
    after: float | Sequence[float] = 0.0
    level: float | None = 0.95


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


class Asked(NamedTuple):
    """A question that was checked: encoded subjects, how usual they are, and what to warn of."""

    encoded: Encoded
    shares: Array | None
    points: Array
    starts: Array | None
    level: float | None
    words: list[str]


class Answers:
    """A loaded estimator that answers in plain values; remembers no question."""

    def __init__(self, est: PortableSurvTRACE, limits: Limits) -> None:
        self.est, self.limits = est, limits
        self.names = [str(name) for name in est.feature_names_in_]
        self.blank = dict.fromkeys(self.names)
        self.known = {*self.names, *est.encoding_.left_out}
        self.causes = [str(cause) for cause in est.causes_]
        self.predictor = est._predictor()

    def predict(self, question: Question) -> Prediction:
        """Answer one question, or refuse it."""
        (answer,) = self.predict_together([question])
        if isinstance(answer, SurvtraceError):
            raise answer
        return answer

    def predict_together(self, questions: Sequence[Question]) -> list[Prediction | SurvtraceError]:
        """Answer questions in as few passes as can be, or give the error of each.

        A pass takes about as long for eight subjects as for two. What is wrong or unusual in one
        question is said in its own answer alone.
        """
        prepared = self._prepare_all(questions) or [self._prepare(each) for each in questions]
        answers = dict[int, Prediction | SurvtraceError]()
        passes = dict[Any, list[int]]()
        for place, asked in enumerate(prepared):
            if isinstance(asked, SurvtraceError):
                answers[place] = asked
            else:
                alike = asked.starts is None and asked.points.ndim == 1
                key = (asked.points.tobytes(), asked.level) if alike else place
                passes.setdefault(key, []).append(place)
        for places in passes.values():
            found = self._answer_all([prepared[place] for place in places])  # type: ignore[misc]
            answers.update(zip(places, found, strict=True))
        return [answers[place] for place in range(len(questions))]

    def attention(self, subject: Mapping[str, Any]) -> Attention:
        """Compute the attention between the covariates of one subject."""
        with keep_warnings() as kept:
            weights = self.est.attention(self.rows([subject]))
        return Attention(
            covariates=self.names,
            attention=attention_rollout(weights)[0].tolist(),
            warnings=words_of(kept),
        )

    def _prepare_all(self, questions: Sequence[Question]) -> list[Asked | SurvtraceError] | None:
        """Check small questions of one kind together; None where one has to be looked at alone."""
        first = questions[0]
        like_first = all(
            each.times == first.times and each.level == first.level and each.after == 0.0
            for each in questions
        )
        if len(questions) < 2 or not like_first:
            return None
        subjects = [subject for each in questions for subject in each.subjects]
        together = Question(subjects, first.times, 0.0, first.level)
        asked = self._prepare(together)
        if isinstance(asked, SurvtraceError) or asked.words:
            return None
        if asked.shares is not None and (asked.shares < UNLIKE).any():
            return None  # of many subjects one may be unlike without a word; alone it gets one
        parts = list[Asked | SurvtraceError]()
        for part in _slices([len(each.subjects) for each in questions]):
            encoded = Encoded(asked.encoded.rows[part], asked.encoded.values[part])
            shares = None if asked.shares is None else asked.shares[part]
            parts.append(asked._replace(encoded=encoded, shares=shares))
        return parts if all(each.subjects for each in questions) else None

    def _prepare(self, question: Question) -> Asked | SurvtraceError:
        """Check and encode one question; an error is returned, for others go on."""
        n_subjects = len(question.subjects)
        try:
            with keep_warnings() as kept:
                points = self.points(question.times, n_subjects)
                encoded = self.predictor.encode(self.rows(question.subjects), judge=False)
                starts = self._starts(question.after, n_subjects)
                shares = self.predictor.judge(encoded)
        except SurvtraceError as error:
            return error
        return Asked(encoded, shares, points, starts, question.level, words_of(kept))

    def _answer_all(self, questions: list[Asked]) -> list[Prediction | SurvtraceError]:
        """Answer questions with the same times in one pass, each alone if that fails."""
        try:
            mean, std, bounds = self._states(questions)
        except SurvtraceError as error:
            if len(questions) == 1:
                return [error]
            return [found for each in questions for found in self._answer_all([each])]
        parts = _slices([len(each.encoded.rows) for each in questions])
        return [
            self._prediction(each, mean[part], std[part], bounds and [end[part] for end in bounds])
            for each, part in zip(questions, parts, strict=True)
        ]

    def _states(self, questions: list[Asked]) -> tuple[Array, Array, Any]:
        """Predict each state, (subject, state, time), its deviation, and interval ends."""
        asked, encoded = questions[0], questions[0].encoded
        if len(questions) > 1:
            pairs = zip(*(each.encoded for each in questions), strict=True)
            encoded = Encoded(*(np.concatenate(parts) for parts in pairs))
        cuts = cuts_of_intervals(self.est, asked.level)
        points = with_cuts(cuts, asked.points)
        mean, std = self.predictor.curve_of(
            encoded, "states", points, after=asked.starts, with_std=True
        )
        bounds = ends(self.est, mean, std, asked.points, asked.level)
        return mean[..., len(cuts) :], std[..., len(cuts) :], bounds

    def _prediction(self, asked: Asked, mean: Array, std: Array, bounds: Any) -> Prediction:
        deviation: Any = std
        if np.isnan(std).any():  # one member
            deviation = np.where(np.isnan(std), None, std)  # type: ignore[call-overload]
        shares, level = asked.shares, asked.level
        return Prediction(
            times=asked.points.tolist(),
            causes=self.causes,
            survival=mean[:, 0].tolist(),
            survival_std=deviation[:, 0].tolist(),
            incidence=mean[:, 1:].tolist(),
            incidence_std=deviation[:, 1:].tolist(),
            interval=None if bounds is None or level is None else interval_of(level, *bounds),
            typicality=None if shares is None else typicalities(self.est, asked.encoded, shares),
            warnings=asked.words,
        )

    def rows(self, subjects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Give every subject all covariates; other names are refused, not taken for unknown."""
        if not subjects:
            raise DataError("X must have at least one subject; got 0 sample(s).")
        for subject in subjects:
            if not subject.keys() <= self.known:
                name = next(name for name in subject if name not in self.known)
                near = near_name(name, self.names)
                meant = f"did you mean {near!r}?" if near else "leave it out."
                raise DataError(
                    f"there is no covariate {name!r}; {meant} The covariates are "
                    f"{some(self.names)}."
                )
        return [{**self.blank, **subject} for subject in subjects]

    def points(self, times: Sequence[float] | Array | None, n_subjects: int) -> Array:
        """Read times as an array; refuse them if they are too many for so many subjects."""
        grid = self.est.time_grid_
        n_times = len(grid) if times is None else np.shape(times)[-1]
        self.limits.check(n_subjects, n_times, 1 + len(self.causes))
        points, _ = read_times(times, grid, "constant")
        if np.isinf(points).any():
            raise DataError("times must be finite; got infinity. Ask for the end of the grid.")
        return points

    def outside(self, starts: Array) -> NDArray[np.bool_]:
        """Tell which times lie where there are no curves; 0 is the beginning of the grid."""
        first, end = self.est.time_grid_[[0, -1]]
        return np.asarray(~((starts == 0) | (starts >= first) & (starts < end)))

    def _starts(self, after: float | Sequence[float], n_subjects: int) -> Array | None:
        """Tell until when each subject is known to be event-free; None where that is 0 for all."""
        first = float(self.est.time_grid_[0])
        if isinstance(after, float) and after == first == 0.0:
            return None
        starts = np.atleast_1d(np.asarray(after, dtype=np.float64))
        if len(starts) not in (1, n_subjects):
            raise DataError(
                f"after must be one time, or one for each of the {n_subjects} subjects; got "
                f"{len(starts)}."
            )
        outside = starts[self.outside(starts)]
        if len(outside):
            raise DataError(
                f"after must lie between {first:g} and {self.est.time_grid_[-1]:g}, where the "
                f"curves begin and end; got {outside[0]:g}. Give a time there until which the "
                "subject is known to be event-free."
            )
        self.warn_of_late_grid(starts)
        return np.broadcast_to(starts, n_subjects).copy() if starts.any() else None

    def warn_of_late_grid(self, starts: Array) -> None:
        """Warn that curves are those from the first cut on, where no later time was given."""
        first = self.est.time_grid_[0]
        if first > 0 and (starts == 0).any():
            warn(
                f"the curves begin at {first:g}, and no later time until which a subject is "
                "event-free was given: they are those of somebody event-free then. Give `after`.",
                DataWarning,
            )


def words_of(kept: Kept) -> list[str]:
    """List the library's warnings about data, each once."""
    found = [
        (str(words), type(words) if isinstance(words, Warning) else kind) for words, kind in kept
    ]
    return list(dict.fromkeys(words for words, kind in found if issubclass(kind, DataWarning)))


def some(names: Sequence[str]) -> str:
    """Name the first of some columns, for a message."""
    return f"{list(names[:NAMED])}" + (" and more" if len(names) > NAMED else "")


def _slices(sizes: Sequence[int]) -> list[slice]:
    stops = np.cumsum(sizes).tolist()
    return [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
