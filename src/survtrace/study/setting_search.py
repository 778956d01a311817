"""Choose each method's settings on validation rows, so that every method is at its best."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.files import replacing
from survtrace.study.protocol import VALIDATION, Task, load_task
from survtrace.study.runner import Job, Method, run_jobs

SPLITS = 3
SEARCHED = Path(__file__).with_name("searched.json")

Choice = dict[str, dict[str, Any]]


def searched_settings() -> dict[str, Choice]:
    """Read the settings that a search found: data set, method, setting.

    Examples
    --------
    >>> sorted(searched_settings()["metabric"])[:2]
    ['CPH', 'DSM']
    """
    found: dict[str, Choice] = json.loads(SEARCHED.read_text())
    return found


def search_settings(
    data: str,
    methods: Mapping[str, Method],
    folder: Path,
    *,
    load: Callable[[str], Task] = load_task,
    n_splits: int = SPLITS,
    n_processes: int = 1,
) -> Choice:
    """Best settings of each method on a data set, by integrated Brier score, mean over causes.

    ``methods`` maps a name to a function of seed and settings that makes the method, whose
    ``search_space`` holds the values each setting may take; a method without one is left as it
    is. Candidates learn from the training rows of the first splits and are scored on their
    validation rows; test rows are not looked at. Resumable like a study.
    """
    candidates = {
        f"{name} {json.dumps(settings)}": partial(make, **settings)
        for name, make in methods.items()
        for settings in combinations(getattr(make(0), "search_space", {}))
        if settings
    }
    jobs = [
        Job(data + VALIDATION, candidate, split)
        for candidate in candidates
        for split in range(n_splits)
    ]
    scores = run_jobs(jobs, candidates, folder, load=load, n_processes=n_processes)
    best = _best(scores)
    with replacing(folder / "settings.json") as part:
        part.write_text(json.dumps(best, indent=1) + "\n")
    return best


def combinations(space: Mapping[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values.

    Examples
    --------
    >>> list(combinations({"a": (1, 2), "b": (3,)}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for values in product(*space.values()):
        yield dict(zip(space, values, strict=True))


def _best(scores: pd.DataFrame) -> Choice:
    """Return settings of the candidate with the lowest mean score, for each method."""
    means = scores.groupby("method", sort=False)["IBS"].mean()
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    for candidate, mean in means.items():
        name, _, settings = str(candidate).partition(" {")
        if name not in best or mean < best[name][0]:
            best[name] = (mean, json.loads("{" + settings))
    return {name: settings for name, (_, settings) in best.items()}
