"""How often intervals of a group's scores hold the truth, and how often equal groups differ.

500 subjects in three groups drawn at random, of which each is scored; two competing causes, 19
("moderate") or 46 % ("heavy") censored by the horizon. The prediction is too high, so that no score
is at a special value. The truth is the score of 200,000 subjects followed to their event. Groups
are alike, so a test at 5 % should find a difference in 5 %.

Run as: nice -n 10 python benchmarks/coverage_groups.py [repeats]
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from coverage_validation import HORIZON, incidence, latent, observed
from survtrace.evaluation.validation_scores import SCALES, Asked, score_rows, too_small
from survtrace.metrics import difference_test
from survtrace.tables.outcome.outcome import Outcome

RESULTS = Path(__file__).parent / "results" / "coverage_groups.json"
N_SUBJECTS, N_GROUPS, N_REPEATS, N_OF_TRUTH = 500, 3, 300, 200_000


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else N_REPEATS
    first, event, x = latent(N_OF_TRUTH, np.random.default_rng(0))
    everybody = asked(Outcome(first, event, (1, 2)), x)
    truth = {row["score"]: row["value"] for row in score_rows(everybody)}
    report: dict[str, Any] = {"subjects": N_SUBJECTS, "groups": N_GROUPS, "repeats": n_repeats}
    for kind in ("moderate", "heavy"):
        held, different = defaultdict(list), defaultdict(list)
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            repeats = list(pool.map(one, [kind] * n_repeats, range(n_repeats), chunksize=10))
        for each in repeats:
            for name, scale in SCALES.items():
                rows = each[name]
                held[name] += [
                    row["low"] <= truth[name] <= row["high"] for row in rows if not row["note"]
                ]
                values = ([row[key] for row in rows] for key in ("value", "standard_error"))
                different[name].append(difference_test(*values, scale=scale)[2] < 0.05)
        report[kind] = {
            name: {
                "coverage": round(float(np.mean(held[name])), 4),
                "called different": round(float(np.mean(different[name])), 4),
                "not scored": N_GROUPS * n_repeats - len(held[name]),
            }
            for name in SCALES
        }
        for name, cell in report[kind].items():
            print(f"{kind:10} {name:12}", *cell.values(), flush=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def one(kind: str, repeat: int) -> dict[str, list[dict[str, Any]]]:
    """Scores of each group, by name."""
    rng, each = np.random.default_rng([21, repeat]), defaultdict(list)
    y, x = observed(N_SUBJECTS, kind, rng)
    group = rng.integers(N_GROUPS, size=N_SUBJECTS)
    for k in range(N_GROUPS):
        part = asked(y, x).take(group == k)
        for row in score_rows(part, too_small(part)):
            each[row["score"]].append(row)
    return dict(each)


def asked(y: Outcome, x: Any) -> Asked:
    return Asked(y, incidence(x, 0.8, 65), HORIZON, 1)


if __name__ == "__main__":
    main()
