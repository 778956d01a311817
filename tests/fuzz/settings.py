"""Settings of the estimator: ``python tests/fuzz/settings.py --count 1000 --seed 0``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from fuzz.arguments import ARRAYS
from fuzz.case import Case, curves_hold
from fuzz.run import main
from fuzz.tables import SETTINGS, parts_of
from fuzz.values import CELLS, pick
from survtrace import SurvTRACE

Rng = np.random.Generator
NAMES = tuple(SurvTRACE().get_params())
VALUES: dict[str, Any] = {
    **ARRAYS,
    **CELLS,
    "0": 0,
    "1": 1,
    "2": 2,
    "3": 3,
    "-1": -1,
    "2**62": 2**62,
    "0.0": 0.0,
    "0.1": 0.1,
    "0.999999": 0.999999,
    "1.5": 1.5,
    "1e-300": 1e-300,
    "1e30": 1e30,
    "1e300": 1e300,
    "a mapping of nothing": {},
    "a mapping of numbers": {1: 2},
    "a data dictionary": {"age": {"kind": "numerical", "low": 0, "high": 200}},
    "a wrong dictionary": {"age": {"kind": "nonsense"}},
    "a dictionary of no column": {"no such": {"kind": "numerical"}},
    "an impossible dictionary": {"age": {"low": 200, "high": 0}},
    "a dictionary of lists": {"age": ["numerical"]},
    "names of causes": {1: "death"},
    "names of no causes": {7: "death"},
    "a time grid": [5.0, 20.0],
    "a falling grid": [20.0, 5.0],
    "a grid beyond all": [1e9, 2e9],
    "a grid before all": [1e-9, 2e-9],
    "cpu": "cpu",
    "cuda:99": "cuda:99",
    "no device": "abacus",
    "shift": "shift",
    "paper": "paper",
    "an empty text": "",
}


def make(rng: Rng) -> Case:
    """Give one setting, sometimes two, an odd value, and fit."""
    parts = parts_of(rng)
    names = rng.choice(NAMES, size=1 + (rng.random() < 0.2), replace=False)
    chosen = {str(name): pick(rng, VALUES) for name in names}
    changed = {name: VALUES[value] for name, value in chosen.items()}
    said = ", ".join(f"{name}={value}" for name, value in chosen.items())
    for name in ("max_epochs", "unknown_steps", "patience"):  # valid, and as long as it says
        if isinstance(changed.get(name), int) and changed[name] > 3:
            changed[name] = 3
    if "checkpoint_dir" in changed and isinstance(changed["checkpoint_dir"], str):
        changed["checkpoint_dir"] = "\0"  # no folder is made here

    def fit() -> SurvTRACE:
        return SurvTRACE(**{**SETTINGS, **changed}).fit(**parts)

    def check(est: SurvTRACE) -> str:
        return curves_hold(est, parts["X"], np.linspace(est.time_grid_[0], est.time_grid_[-1], 5))

    return Case(said, fit, check)


if __name__ == "__main__":
    main("settings", make)
