"""The curves of each member, and their mean and deviation, of some subjects: kernels without torch.

`survtrace.inference.curves` is the definition.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from survtrace.ops.cpu.compiling import kernel, part

TINY = np.finfo(np.float64).tiny


@part
def hazard_of(logit: Any, factor: Any) -> Any:
    """Compute softplus times factor; exponentials of negative numbers do not overflow."""
    return (max(logit, np.float32(0)) + math.log1p(math.exp(-abs(logit)))) * factor


@kernel
def write_hazards(first: int, size: int, logits: Any, factor: Any, out: Any) -> None:
    """Write the hazards of some subjects."""
    for m in range(len(logits)):
        for subject in range(first, min(first + size, logits.shape[1])):
            for cause in range(logits.shape[2]):
                for i in range(logits.shape[3]):
                    logit = logits[m, subject, cause, i]
                    out[m, subject, cause, i] = hazard_of(logit, factor[m, cause, i])


@kernel
def write_curves(
    first: int,
    size: int,
    logits: Any,
    factor: Any,
    interval: Any,
    fraction: Any,
    event_free: Any,
    first_cause: int,
    end_cause: int,
    mean: Any,
    deviation: Any,
) -> int:
    """Write the curves of some subjects; return the first one that has no finite hazards."""
    n_members, _, n_causes, n_intervals = logits.shape
    n_states, n_times = mean.shape[1], mean.shape[2]
    hazard = np.empty((n_causes, n_intervals))
    total, before = np.empty(n_intervals), np.empty(n_intervals)
    per_hazard, earlier = np.empty(n_intervals), np.empty((n_causes, n_intervals))
    members = np.empty((n_members, n_states, n_times))
    offset = 1 if event_free else 0
    bad = len(mean)
    for subject in range(first, min(first + size, len(mean))):
        row = subject if len(interval) > 1 else 0  # whose times
        for m in range(n_members):
            lived = 0.0
            for i in range(n_intervals):
                total[i] = 0.0
                for cause in range(n_causes):
                    hazard[cause, i] = hazard_of(logits[m, subject, cause, i], factor[m, cause, i])
                    total[i] += hazard[cause, i]
                before[i] = lived
                lived += total[i]
            if not math.isfinite(lived):
                bad = min(bad, subject)
            if first_cause < end_cause:
                _enter_intervals(hazard, total, before, first_cause, end_cause, per_hazard, earlier)
            for t in range(n_times):
                i = interval[row, t]
                part_lived = fraction[row, t] * total[i]
                if event_free:
                    members[m, 0, t] = math.exp(-(before[i] + part_lived))
                if first_cause < end_cause:
                    struck = per_hazard[i] * -math.expm1(-part_lived)
                    for cause in range(first_cause, end_cause):
                        state = offset + cause - first_cause
                        members[m, state, t] = earlier[cause, i] + hazard[cause, i] * struck
        _average(members, mean[subject])
        if len(deviation) > 0:
            _deviate(members, mean[subject], deviation[subject])
    return bad


@part
def _enter_intervals(
    hazard: Any,
    total: Any,
    before: Any,
    first_cause: int,
    end_cause: int,
    per_hazard: Any,
    earlier: Any,
) -> None:
    """Compute survival over the hazard of all causes, and each incidence, before each interval."""
    for cause in range(first_cause, end_cause):
        earlier[cause, 0] = 0.0
    for i in range(len(total)):
        per_hazard[i] = math.exp(-before[i]) / max(total[i], TINY)
        if i + 1 < len(total):
            struck = per_hazard[i] * -math.expm1(-total[i])
            for cause in range(first_cause, end_cause):
                earlier[cause, i + 1] = earlier[cause, i] + hazard[cause, i] * struck


@part
def _average(members: Any, mean: Any) -> None:
    """Write the mean over members of each number."""
    for state in range(mean.shape[0]):
        for t in range(mean.shape[1]):
            total = members[0, state, t]
            for m in range(1, len(members)):
                total += members[m, state, t]
            mean[state, t] = total / len(members)


@part
def _deviate(members: Any, mean: Any, deviation: Any) -> None:
    """Write the standard deviation between members of each number; NaN if there is one member."""
    for state in range(mean.shape[0]):
        for t in range(mean.shape[1]):
            squares = 0.0
            for m in range(len(members)):
                squares += (members[m, state, t] - mean[state, t]) ** 2
            one = len(members) == 1
            deviation[state, t] = np.nan if one else math.sqrt(squares / len(members))
