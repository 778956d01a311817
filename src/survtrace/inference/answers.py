"""Logits of a batch become the answers of its subjects, by a kernel or by `curves`.

A batch is made of whole blocks of subjects. A subject alone gets the same answer, to the bit, as in
a table: vector instructions round the odd rows at the end of a tensor differently, so that there
must be none. (Where no kernel runs the network, torch's products of some odd sizes round by the
place of a row all the same: such answers are equal to rounding.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from survtrace.inference import curves
from survtrace.ops import find_kernel
from survtrace.tables.covariates.magnitude import not_finite
from survtrace.threads import run_in_few_threads, threads

BLOCK = 32
# Numbers of all members' curves that are computed at once: in a core's cache, in a GPU's memory.
CURVE_ELEMENTS, CURVE_ELEMENTS_ON_GPU = 2**17, 2**24


class Answers:
    """An array of all subjects' answers; the first to be written tells the shape of each."""

    def __init__(self, n_subjects: int) -> None:
        self.n_subjects = n_subjects
        self.array: NDArray[Any]
        self._lock = Lock()

    def of(self, subjects: slice, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """Give the part of some subjects, each with answers of a shape; from any thread."""
        with self._lock:
            if not hasattr(self, "array"):
                self.array = np.empty((self.n_subjects, *shape), dtype)
        return self.array[subjects]

    def write(self, subjects: slice, answers: Tensor) -> None:
        """Write the answers of some subjects; those of what fills up the last block go."""
        dtype = torch.empty(0, dtype=answers.dtype).numpy().dtype
        place = self.of(subjects, tuple(answers.shape[1:]), dtype)
        torch.from_numpy(place).copy_(answers[: len(place)])  # from a GPU without a copy between


@dataclass(frozen=True)
class Question:
    """A curve, by the name of a function of `curves`, and where it is asked.

    ``cause`` is a place on the cause axis.
    """

    kind: str
    at: curves.TimeIndex
    cause: int | None = None

    def states(self, n_causes: int) -> tuple[bool, int, int] | None:
        """Return which states a kernel is to answer for (see its `States`); None if it cannot."""
        if self.at.start is not None:
            return None
        if self.kind == "incidence":
            return (
                (False, 0, n_causes) if self.cause is None else (False, self.cause, self.cause + 1)
            )
        if self.cause is not None:
            return None
        return {"survival": (True, 0, 0), "states": (True, 0, n_causes)}.get(self.kind)

    def member_curves(self, hazard: Tensor, first: int) -> tuple[Tensor, Tensor | None]:
        """Compute each member's curves of some subjects, and its shares of their survivors."""
        curve: curves.Curve = getattr(curves, self.kind)
        at = self.at.of(first, hazard.shape[1])
        if at.start is None or self.kind in curves.OF_AVERAGE:
            found, shares = curve(hazard, at), None
        else:
            found = curve(*curves.after(hazard, at.cuts, at.start, at.points))
            shares = curves.member_shares(hazard, curves.locate_times(at.start, at.cuts))
        return (found if self.cause is None else found[:, :, self.cause]), shares


def write_answers(
    question: Question,
    logits: Tensor,
    factor: Tensor,
    subjects: slice,
    means: Answers,
    deviations: Answers | None,
) -> None:
    """Write the answers of a batch; ``factor`` is that of the recalibration."""
    states = question.states(logits.shape[2])
    if states is not None and (kernel := find_kernel("curves", logits)):
        _write_by_kernel(kernel, question, states, logits, factor, subjects, means, deviations)
        return
    hazards = hazards_of(logits, factor)
    at_once = _subjects_at_once(question, hazards)

    def write(k: int) -> None:
        part = slice(k * at_once, (k + 1) * at_once)
        first = subjects.start + part.start
        some = slice(first, min(first + at_once, subjects.stop))
        with torch.no_grad(), threads(1):
            found, shares = question.member_curves(hazards[:, part], first)
            means.write(some, _mean(found, shares))
            if deviations is not None:
                deviations.write(some, _deviation(found))

    n_parts = -(-hazards.shape[1] // at_once)
    if hazards.device.type == "cpu":
        run_in_few_threads(write, n_parts)
    else:
        for k in range(n_parts):
            write(k)
    # Last, when a GPU has been waited for anyway. No sum of such floats overflows a double.
    if not torch.isfinite(hazards.sum()):
        require_finite(hazards.transpose(0, 1), subjects.start)


def hazards_of(logits: Tensor, factor: Tensor) -> Tensor:
    """Compute hazards as `Network.hazards` defines them, as float64."""
    if kernel := find_kernel("hazards", logits):
        hazards: Tensor = kernel(logits, factor)
        return hazards
    return (softplus(logits) * factor).double()


def _write_by_kernel(
    kernel: Callable[..., int | None],
    question: Question,
    states: tuple[bool, int, int],
    logits: Tensor,
    factor: Tensor,
    subjects: slice,
    means: Answers,
    deviations: Answers | None,
) -> None:
    """Write the answers of a batch by a kernel, in all threads."""
    n_states, n_times = int(states[0]) + states[2] - states[1], question.at.interval.shape[1]
    one_state = question.kind == "survival" or question.cause is not None
    shape = (n_times,) if one_state else (n_states, n_times)
    whole = (subjects.stop - subjects.start, n_states, n_times)
    out = [
        None if answers is None else answers.of(subjects, shape).reshape(whole)
        for answers in (means, deviations)
    ]
    at = question.at.of(subjects.start, subjects.stop - subjects.start)
    place = at.interval.numpy(), at.fraction.numpy()
    if (bad := kernel(logits, factor, *place, states, *out)) is not None:
        raise not_finite(subjects.start + bad)


def _subjects_at_once(question: Question, hazards: Tensor) -> int:
    """Count the subjects whose curves are computed at once: whole blocks."""
    n_members, _, n_causes, n_intervals = hazards.shape
    n_points = question.at.points.shape[1]
    n_points *= curves.N_NODES if question.kind == "cumulative_hazard" else 1
    most = CURVE_ELEMENTS if hazards.device.type == "cpu" else CURVE_ELEMENTS_ON_GPU
    return whole_blocks(max(1, most // (n_members * n_causes * max(n_points, n_intervals))))


def whole_blocks(n_subjects: int) -> int:
    """Round a number of subjects up to whole blocks."""
    return -(-n_subjects // BLOCK) * BLOCK


def _mean(member_curves: Tensor, share: Tensor | None) -> Tensor:
    """Average over members, each weighted by its share of the survivors where there are shares."""
    if share is None:
        return member_curves.mean(0)
    share = share if member_curves.dim() == 3 else share.unsqueeze(2)
    share = share.expand_as(member_curves)  # whose sum is 1 to rounding
    return (share * member_curves).sum(0) / share.sum(0)


def _deviation(member_curves: Tensor) -> Tensor:
    """Compute the standard deviation between members; NaN if there is only one.

    In two passes, which take a tenth of the time of `Tensor.std`.
    """
    if len(member_curves) == 1:
        return torch.full_like(member_curves[0], torch.nan)
    return (member_curves - member_curves.mean(0)).square().mean(0).sqrt()


def require_finite(answers: Tensor, first: int) -> None:
    """Refuse to answer where the network overflows; ``first`` is the number of the first row."""
    finite = torch.isfinite(answers)
    if not finite.all():
        bad = torch.nonzero(~finite.flatten(1).all(1))
        raise not_finite(first + int(bad[0]))
