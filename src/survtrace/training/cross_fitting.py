"""Compare ways of updating: each row is predicted by a network that was updated without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.cohort.subjects import number_rows
from survtrace.errors import keep_warnings
from survtrace.metrics.brier import integrated_brier_scores
from survtrace.metrics.censoring import censoring_survival
from survtrace.metrics.observed_expected import observed_expected_ratio
from survtrace.metrics.score import Score
from survtrace.network.assembly import Network
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.landmarks import after_landmark
from survtrace.tables.outcome.outcome import Outcome
from survtrace.training.local_rows import LocalRows

Array = NDArray[np.float64]
N_TIMES = 25
# Standard errors by which a way must be better than none. Several are tried: at one, chance alone
# would often bring a change, which costs a little where none was needed.
EVIDENCE = 1.64
LANDMARKS = (0.1, 0.5)  # quantiles of the event times, at which those who enter late are scored


class Question(NamedTuple):
    """What is predicted to compare ways: of some rows, at some times, perhaps from a time on.

    ``outcome`` is what became of these rows, counted from there, as ``times`` are.
    """

    rows: NDArray[np.int64]
    times: Array
    after: float | None
    outcome: Outcome


class Compared(NamedTuple):
    """The score of a way, and events of each cause observed over expected."""

    score: Score
    ratios: dict[str, float | None]


# Incidence of all causes, (row, cause, time), by a network, of encoded rows.
Predict = Callable[[Network, Encoded, Question], Array]


def ask(outcome: Outcome, end: float) -> list[Question]:
    """Choose what to predict: all rows from 0 on, or where some enter late, at two landmarks."""
    if outcome.entry is None:
        times = _times(outcome, end)
        return [Question(np.arange(len(outcome)), times, None, outcome)] if len(times) else []
    questions = []
    event_times = outcome.duration[(outcome.event > 0) & (outcome.duration <= end)]
    if not len(event_times):
        return []
    for landmark in np.unique(np.quantile(event_times, LANDMARKS, method="lower")).tolist():
        with keep_warnings():  # of gaps, of which the scores of a user's own would warn
            rows, future = after_landmark(outcome, landmark)
        times = _times(future, end - landmark)
        if len(times):
            questions.append(Question(rows, times, landmark, future))
    return questions


def _times(outcome: Outcome, end: float) -> Array:
    """Choose times between the 5 and 95 % event quantiles at which scores have a weight."""
    event_times = outcome.duration[(outcome.event > 0) & (outcome.duration <= end)]
    if len(event_times) < 2:
        return np.empty(0)
    first, last = np.quantile(event_times, [0.05, 0.95])
    times = np.unique(np.linspace(first, last, N_TIMES))
    usable = censoring_survival(outcome).usable(times)
    return usable if len(usable) > 1 else np.empty(0)


def draw_folds(outcome: Outcome, n_folds: int, seed: int) -> list[NDArray[np.int64]]:
    """Share rows out among folds, the same share of every cause; those of a subject together.

    Examples
    --------
    >>> outcome = Outcome(np.arange(1.0, 7.0), np.array([0, 0, 0, 0, 1, 1]), (1,))
    >>> [sorted(outcome.event[fold].tolist()) for fold in draw_folds(outcome, 2, seed=0)]
    [[0, 0, 1], [0, 0, 1]]
    """
    subjects = number_rows([outcome])
    order = np.random.default_rng([seed, 4]).permutation(subjects.n)
    order = order[np.argsort(subjects.event(outcome.event)[order], kind="stable")]
    of_subject = np.empty(subjects.n, dtype=np.int64)
    of_subject[order] = np.arange(subjects.n) % n_folds
    return [np.flatnonzero(of_subject[subjects.id] == number) for number in range(n_folds)]


def compare_ways(
    local: LocalRows,
    ways: Mapping[str, Callable[[LocalRows], Network]],
    folds: Sequence[NDArray[np.int64]],
    predict: Predict,
) -> dict[str, Compared]:
    """Score each way of updating on rows it was not updated by; of no way, where none can be."""
    questions = ask(local.outcome, float(local.cuts[-1]))
    found = dict[str, Compared]()
    for way, update in ways.items():
        if questions:
            answers = predict_folds(local, update, folds, questions, predict)
            score = mean_score(local.outcome, questions, answers)
            found[way] = Compared(score, ratios(questions[0], answers[0]))
    return found


def predict_folds(
    local: LocalRows,
    update: Callable[[LocalRows], Network],
    folds: Sequence[NDArray[np.int64]],
    questions: Sequence[Question],
    predict: Predict,
) -> list[Array]:
    """Answer the questions for every fold by a network that was updated on the others."""
    everyone, n_causes = np.arange(len(local.outcome)), len(local.outcome.causes)
    answers = [np.empty((len(each.rows), n_causes, len(each.times))) for each in questions]
    for fold in folds:
        network = update(local.take(np.setdiff1d(everyone, fold)))
        for answer, question in zip(answers, questions, strict=True):
            here = np.isin(question.rows, fold)
            if here.any():
                encoded = local.take(question.rows[here]).encoded
                answer[here] = predict(network, encoded, question)
    return answers


def mean_score(outcome: Outcome, questions: Sequence[Question], answers: Sequence[Array]) -> Score:
    """Compute the mean over causes, and landmarks, of the integrated Brier score.

    A subject may be asked about at several landmarks; its influences add up.
    """
    subjects = number_rows([outcome])
    influence, values = np.zeros(subjects.n), []
    for question, incidence in zip(questions, answers, strict=True):
        scores = integrated_brier_scores(
            question.outcome, incidence, question.times, outcome.causes
        )
        values.append(np.mean([float(score) for score in scores]))
        mean = np.mean([score.influence for score in scores], axis=0)
        np.add.at(influence, subjects.id[question.rows], mean / len(questions))
    return Score(float(np.mean(values)), influence)


def ratios(question: Question, incidence: Array) -> dict[str, float | None]:
    """Divide observed by expected events of each cause by the last time; None where undefined."""
    found = {}
    for k, cause in enumerate(question.outcome.causes):
        ratio = float(
            observed_expected_ratio(
                question.outcome, incidence[:, k, -1], float(question.times[-1]), cause=cause
            )
        )
        found[str(cause)] = ratio if np.isfinite(ratio) else None
    return found


def choose_way(scores: Mapping[str, Score]) -> str:
    """Choose the simplest way within one standard error of the best; the first, unless surpassed.

    ``scores`` are in the order of the ways, the simplest first, and lower is better. Standard
    errors are those of differences on the same subjects. A way surpasses the first, which changes
    nothing, if it is better by `EVIDENCE` standard errors.

    Examples
    --------
    >>> close = Score(0.20, np.array([0.01, -0.01])), Score(0.195, np.array([-0.01, 0.01]))
    >>> choose_way({"none": close[0], "level": close[1]})
    'none'
    """
    unchanged = next(iter(scores))
    best = min(scores, key=lambda way: float(scores[way]))
    for way, score in scores.items():
        gain, loss = scores[unchanged].minus(score), score.minus(scores[best])
        surpasses = float(gain) > EVIDENCE * gain.standard_error
        if surpasses and float(loss) <= loss.standard_error:
            return way
    return unchanged
