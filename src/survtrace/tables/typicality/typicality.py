"""One number for a whole patient: the share of those learned from who are at least as unusual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.tasks import MANY_ROWS, Run, one_by_one, row_blocks
from survtrace.tables.typicality.normal_scores import NormalScores, Scores, learn_normal_scores
from survtrace.tables.typicality.one_subject import OneSubject
from survtrace.tables.typicality.pair_tables import (
    PairTables,
    count_pairs,
    find_pairs,
    pair_tables,
)
from survtrace.tables.typicality.reference import learn_shares, minus_log_share
from survtrace.tables.typicality.residuals import Residuals, learn_residuals

Array = NDArray[np.float64]
UNLIKE = 0.01  # a typicality below this is called unlike the patients learned from
FEWEST_SUBJECTS = 20  # of fewer, no share of one in a hundred can be told
N_FOLDS = 5
# Measures that differ by less are called equal, and the first is named: the page computes them with
# other rounding, and is to name the same covariates.
EQUAL = 1e-4
TELLING = 0.25  # share of a residual by which another covariate is named beside it
PARTS: dict[str, Any] = {"scores": NormalScores, "pairs": PairTables, "residuals": Residuals}


class Measures(NamedTuple):
    """What may be unusual about a subject, larger is more so.

    Its most unusual value alone; its rarest combination of two; the covariate farthest from what
    all others suggest; and the sum over all pairs. Each finds what the others miss: an extreme
    value is lost in a sum over many pairs, and many small oddities are in no single pair.
    """

    value: Array
    pair: Array
    residual: Array
    pairs: Array


@dataclass(frozen=True)
class Typicality:
    """How usual a patient is, and the distribution of that among the patients learned from.

    What is missing counts as nothing unusual. ``reference`` has, for each measure and for the
    largest of all, which share of the patients reaches a value, each of them judged by what was
    learned from others. Nothing of a single subject is in it.

    Examples
    --------
    >>> from survtrace.tables.covariates.covariates import infer_covariates, open_table
    >>> from survtrace.tables.covariates.encoding import learn_encoding
    >>> sex = np.array(["f", "m"])[np.arange(2_000) % 2]
    >>> pregnant = np.where(np.arange(2_000) % 6 == 0, "yes", "no")
    >>> table = open_table({"sex": sex, "pregnant": pregnant})
    >>> encoding = learn_encoding(table, infer_covariates(table))
    >>> usual = Typicality.learn(encoding, encoding.encode(table), np.arange(2_000))
    >>> new = encoding.encode(open_table({"sex": ["f", "m"], "pregnant": ["yes", "yes"]}))
    >>> (usual.of(new) < 0.01).tolist(), usual.reasons(new)[1]
    ([False, True], ('sex', 'pregnant'))
    """

    encoding: Encoding = field(repr=False)
    scores: NormalScores = field(repr=False)
    pairs: PairTables = field(repr=False)
    residuals: Residuals = field(repr=False)
    reference: Array = field(repr=False)
    n_subjects: int

    @classmethod
    def learn(cls, encoding: Encoding, encoded: Encoded, number: NDArray[np.int64]) -> Self | None:
        """Learn from some subjects; None if they are too few. ``number`` decides their folds."""
        n = len(encoded.rows)
        if n < FEWEST_SUBJECTS:
            return None
        n_bins = int(np.clip(n ** (1 / 3), 4, 12))
        scores = learn_normal_scores(encoding, encoded, n_bins)
        read = scores.read(encoding, encoded)
        chosen = find_pairs(read.bin)
        parts = scores, *_learn_parts(encoding, encoded, scores, read, chosen, n)
        found = _out_of_fold(encoding, encoded, n_bins, chosen, number % N_FOLDS)
        each = np.stack([learn_shares(measure) for measure in found])
        joined = learn_shares(_joined(each, found))
        reference = np.concatenate([each, joined[None]])
        return cls(encoding, *parts, reference, n)

    def of(self, encoded: Encoded, run: Run = one_by_one) -> Array:
        """Compute the share of the patients learned from who are at least as unusual, (subject,).

        ``run`` may run the parts of a large table in threads.
        """
        if len(encoded.rows) == 1:
            row, values = encoded.rows[0].tolist(), encoded.values[0].tolist()
            return np.array([self._one_subject.share(row, values)])
        blocks, found = row_blocks(len(encoded.rows)), np.empty(len(encoded.rows))

        def judge(k: int) -> None:
            some = Encoded(encoded.rows[blocks[k]], encoded.values[blocks[k]])
            joined = _joined(self.reference[:-1], self._measure(some))
            found[blocks[k]] = np.exp(-minus_log_share(self.reference[-1], joined))

        run = run if len(encoded.rows) > MANY_ROWS else one_by_one
        run(judge, len(blocks))
        return found

    @cached_property
    def _one_subject(self) -> OneSubject:
        return OneSubject(self)

    def reasons(self, encoded: Encoded) -> list[tuple[str, ...]]:
        """Name the one or two covariates that make each subject as unusual as it is.

        Of several reasons, each enough to be unlike, the simplest is named.
        """
        read = self.scores.read(self.encoding, encoded)
        residuals = self.residuals.read(self.encoding, encoded, read)
        values, _ = self.residuals.standardise(self.encoding, encoded, read)
        surprise = self.pairs.read(read.bin)
        levels = _levels(self.reference[:-1], _measures(read, residuals, surprise))
        enough = np.interp(-np.log(UNLIKE), *self.reference[-1][::-1])
        names = self.encoding.names.tolist()
        found = list[tuple[str, ...]]()
        for subject, level in enumerate(np.minimum(levels, enough).T):
            which = _first_largest(level)
            if which == 0:
                places = [_first_largest(read.rarity[subject])]
            elif which == 1:
                places = self._rarest_pair(surprise[subject])
            elif which == 2:
                places = self._least_expected(residuals[subject], values[subject])
            else:
                places = self._worst_of_all_pairs(surprise[subject])
            found.append(tuple(names[place] for place in sorted(places)))
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that was learned, for a file."""
        learned = {
            f"{part}.{each.name}": getattr(getattr(self, part), each.name)
            for part, kind in PARTS.items()
            for each in fields(kind)
        }
        return {**learned, "reference": self.reference, "n_subjects": np.array(self.n_subjects)}

    @classmethod
    def from_arrays(cls, encoding: Encoding, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make what `arrays` described."""
        parts = {part: dict[str, NDArray[Any]]() for part in PARTS}
        for name, array in arrays.items():
            part, _, attribute = name.partition(".")
            if part in parts:
                parts[part][attribute] = array
        learned = {part: kind(**parts[part]) for part, kind in PARTS.items()}
        n_subjects = int(arrays["n_subjects"])
        return cls(encoding, **learned, reference=arrays["reference"], n_subjects=n_subjects)

    def _measure(self, encoded: Encoded) -> Measures:
        read = self.scores.read(self.encoding, encoded)
        residuals = self.residuals.read(self.encoding, encoded, read)
        return _measures(read, residuals, self.pairs.read(read.bin))

    def _least_expected(self, residuals: Array, values: Array) -> list[int]:
        """Find the covariate farthest from what others suggest, and the other that says so most."""
        place = _first_largest(np.abs(residuals))
        column, side = self.residuals.column, np.sign(residuals[place])
        total = abs(residuals[place]) * np.sqrt(self.residuals.precision[place, place])
        pull = side * self.residuals.precision[place] * values
        pull[column == column[place]] = 0.0
        other = _first_largest(pull)
        both = [int(column[place]), int(column[other])]
        return both if pull[other] > TELLING * total else both[:1]

    def _rarest_pair(self, surprise: Array) -> list[int]:
        return [int(place) for place in self.pairs.columns[_first_largest(surprise)]]

    def _worst_of_all_pairs(self, surprise: Array) -> list[int]:
        """Find the covariate that the most unusual pairs have in common, and the worst of these."""
        columns = self.pairs.columns
        sums = np.zeros(len(self.encoding.columns))
        np.add.at(sums, columns.ravel(), np.repeat(surprise, 2))
        of_worst = (columns == _first_largest(sums)).any(axis=1)
        return self._rarest_pair(np.where(of_worst, surprise, -np.inf))


def _learn_parts(
    encoding: Encoding,
    encoded: Encoded,
    scores: NormalScores,
    read: Scores,
    chosen: NDArray[np.int64],
    n_subjects: int,
) -> tuple[PairTables, Residuals]:
    tables = pair_tables(count_pairs(read.bin, chosen, scores.n_bins), chosen, n_subjects)
    return tables, learn_residuals(encoding, encoded, read)


def _out_of_fold(
    encoding: Encoding,
    encoded: Encoded,
    n_bins: int,
    chosen: NDArray[np.int64],
    fold: NDArray[np.int64],
) -> Measures:
    """Measure each subject by what was learned from those of other folds."""
    found = np.empty((len(Measures._fields), len(fold)))
    for k in range(N_FOLDS):
        others, some = _take(encoded, fold != k), _take(encoded, fold == k)
        if not len(some.rows):
            continue
        scores = learn_normal_scores(encoding, others, n_bins)
        read = scores.read(encoding, others)
        tables, residuals = _learn_parts(encoding, others, scores, read, chosen, len(fold))
        read = scores.read(encoding, some)
        of_others = residuals.read(encoding, some, read)
        found[:, fold == k] = _measures(read, of_others, tables.read(read.bin))
    return Measures(*found)


def _take(encoded: Encoded, subjects: NDArray[np.bool_]) -> Encoded:
    return Encoded(encoded.rows[subjects], encoded.values[subjects])


def _measures(read: Scores, residuals: Array, surprise: Array) -> Measures:
    return Measures(
        read.rarity.max(axis=1, initial=0.0),
        surprise.max(axis=1, initial=-np.inf) if surprise.size else np.zeros(len(surprise)),
        np.abs(residuals).max(axis=1, initial=0.0),
        surprise.sum(axis=1),
    )


def _levels(reference: Array, measures: Measures) -> Array:
    """Compute minus the log share that reaches each measure, shape (measure, subject)."""
    pairs = zip(reference, measures, strict=True)
    return np.array([minus_log_share(knots, measure) for knots, measure in pairs])


def _first_largest(values: Array) -> int:
    """Find the first of the largest values, those that are equal but for rounding."""
    return int(np.argmax(values >= values.max() - EQUAL))


def _joined(reference: Array, measures: Measures) -> Array:
    """Return the most unusual of the measures, each by its own distribution."""
    joined: Array = _levels(reference, measures).max(axis=0)
    return joined
