"""The first promise, measured: survival and incidences sum to 1 and never turn back.

10,000 random subjects, 500 random times, two causes; a network with random parameters and a
fitted one. Writes benchmarks/results/coherence.json.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from survtrace import SurvTRACE
from survtrace.datasets import make_cohort

RESULTS = Path(__file__).parent / "results"


def measure(est: SurvTRACE, X, times: np.ndarray) -> dict[str, float]:
    survival = est.predict_survival_function(X, times)
    incidence = est.predict_cumulative_incidence(X, times)
    order = np.argsort(times)
    return {
        "largest |S + sum F - 1|": float(np.abs(survival + incidence.sum(1) - 1).max()),
        "largest rise of survival": float(np.diff(survival[:, order], axis=-1).max()),
        "largest fall of an incidence": float(-np.diff(incidence[..., order], axis=-1).min()),
    }


def main() -> None:
    rng = np.random.default_rng(0)
    X, y = make_cohort(10_000, random_state=1)
    est = SurvTRACE(random_state=0, max_epochs=3, verbose=False).fit(X[:3000], y[:3000])
    times = rng.uniform(0, est.time_grid_[-1], 500)
    found = {"fitted": measure(est, X, times)}
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in est.network_.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    found["random parameters"] = measure(est, X, times)
    for name, figures in found.items():
        print(name, {what: f"{value:.2e}" for what, value in figures.items()})
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "coherence.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
