"""A study by name: run its jobs, write its scores and tables to a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace.errors import SettingError
from survtrace.files import replacing
from survtrace.inspection import clean_subjects
from survtrace.metrics import corrected_t_test
from survtrace.naming import default_cause_name
from survtrace.study.presets import FOREST, OWN_TABLE, PRESETS, SIMPLE, survtrace
from survtrace.study.protocol import SEER, Task, load_task, random_splits
from survtrace.study.published import CONCORDANCE
from survtrace.study.runner import Job, run_jobs
from survtrace.study.setting_search import search_settings, searched_settings
from survtrace.study.tables import as_latex, as_markdown, compare_with, differences, summarise
from survtrace.tables.content_digest import content_digest
from survtrace.tables.files.formats import read_table, split_outcome
from survtrace.tables.files.reading import Reading

MOST_FOREST_ROWS = 50_000


def run_study(
    name: str,
    folder: Path,
    n_splits: int | None = None,
    n_processes: int = 1,
    *,
    today: bool = False,
    search: bool = False,
    seer: Path | None = None,
    load: Callable[[str], Task] = load_task,
) -> str:
    """Run what is not done yet and return the tables as Markdown.

    Writes scores.csv (every split), timings.csv, settings.json, comparison.csv (paired
    differences to SurvTRACE, corrected t-test), tables.md and tables.tex.

    Parameters
    ----------
    name
        A key of `PRESETS`.
    folder
        Where everything is written; a run that was broken off goes on from there.
    n_splits
        Only the first so many splits.
    n_processes
        Jobs at a time, one thread each.
    today
        Also run today's peers, where the study has some.
    search
        Choose the baselines' settings anew on validation rows, instead of taking those in
        searched.json.
    seer
        A SEER export of the user's own, one data set more.
    load
        Finds a data set by name.
    """
    if name not in PRESETS:
        raise SettingError(f"the study must be one of {sorted(PRESETS)}; got {name!r}.")
    preset = PRESETS[name]
    methods = {**preset.methods, **(preset.peers if today else {})}
    data = [*preset.data, *([f"{SEER}{seer}"] if seer else [])]
    if search:
        how: dict[str, Any] = {"load": load, "n_processes": n_processes}
        settings = {
            one: search_settings(one, methods, folder / "search" / one, **how) for one in data
        }
    else:
        searched = searched_settings()
        settings = {
            one: {name: chosen for name, chosen in searched.get(one, {}).items() if name in methods}
            for one in data
        }
    with replacing(folder / "settings.json") as part:
        part.write_text(json.dumps(settings, indent=1) + "\n")
    jobs = [
        Job(one, method, split)
        for one in data
        for method in methods
        for split in range(len(load(one).splits))[:n_splits]
    ]
    scores = run_jobs(jobs, methods, folder, settings=settings, load=load, n_processes=n_processes)
    return _write_tables(scores, preset.columns, folder)


def compare_on_table(
    table: Path,
    folder: Path,
    *,
    duration: str,
    event: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    reading: Reading | None = None,
    censored: Sequence[str] | None = None,
    columns: Any = None,
    n_splits: int = 5,
    methods: dict[str, Callable[..., object]] | None = None,
) -> str:
    """Compare SurvTRACE with baselines on a table of one's own, on random splits.

    Cox chooses its ridge by cross-validation on the learning rows, and its rare levels share a
    column. The forest is left out, with a sentence, where scikit-survival is not installed or
    the table has more than `MOST_FOREST_ROWS` rows. Returns tables as in a study, a sentence on
    each baseline, and what was chosen and left out. Every method gets the columns as
    `clean_subjects` reads them.
    """
    if n_splits < 2:
        raise SettingError(
            f"n_splits must be 2 or more, for an interval of the difference; got {n_splits}. 5 is "
            "usual."
        )
    X, y = split_outcome(read_table(table, reading), duration, event, drop)
    X, y = clean_subjects(X, y, censored=censored, categorical=categorical, columns=columns)
    task = Task(table.stem, X, y, random_splits(len(X), n_splits))
    # What was found on another table of that name, or on other columns, is not taken for this.
    data = f"{task.name}:{content_digest(X, y)[:12]}"
    left_out: list[str] = []
    settings = {}
    if methods is None:
        methods, left_out = _baselines(len(X))
        settings = {data: OWN_TABLE}
    jobs = [Job(data, method, split) for method in methods for split in range(n_splits)]
    scores = run_jobs(jobs, methods, folder, settings=settings, load=lambda name: task)
    tables = _write_tables(scores, (*CONCORDANCE, "IBS"), folder)
    verdicts = [_verdict(scores, name) for name in methods if name != "SurvTRACE"]
    return tables + "\n" + "\n".join([*verdicts, *_ridges(jobs, folder), *left_out])


def _baselines(n_subjects: int) -> tuple[dict[str, Callable[..., object]], list[str]]:
    """SurvTRACE and the baselines a table of this size can be given, and what is left out."""
    methods: dict[str, Callable[..., object]] = {"SurvTRACE": survtrace, **SIMPLE}
    if find_spec("sksurv") is None:
        why = "it needs scikit-survival (pip install 'survtrace[baselines]')"
    elif n_subjects > MOST_FOREST_ROWS:
        why = f"the table has {n_subjects:,} rows, more than {MOST_FOREST_ROWS:,}"
    else:
        return {**methods, **FOREST}, []
    return methods, [f"CS-RSF, a random survival forest, is left out: {why}."]


def _ridges(jobs: Sequence[Job], folder: Path) -> list[str]:
    """Write which ridges were chosen, over all splits."""
    found: dict[str, list[dict[str, float]]] = {}
    for job in jobs:
        ridges = json.loads((folder / "jobs" / job.file).read_text()).get("ridges")
        if ridges is not None:
            found.setdefault(job.method, []).append(ridges)
    return [
        f"{method}: ridge "
        + ", ".join(
            f"{' or '.join(f'{ridge:g}' for ridge in sorted({each[c] for each in chosen}))} "
            f"for {default_cause_name(int(c) if c.isdigit() else c)}"
            for c in chosen[0]
        )
        + "."
        for method, chosen in found.items()
    ]


def _write_tables(scores: pd.DataFrame, columns: Sequence[str], folder: Path) -> str:
    summary = summarise(scores, pd.read_csv(folder / "timings.csv"))
    shown = tuple(column for column in columns if column in summary)
    tables = as_markdown(summary, shown)
    if (scores["method"] == "SurvTRACE").any():
        comparison = compare_with(scores)
        with replacing(folder / "comparison.csv") as part:
            comparison.to_csv(part, index=False, float_format="%.5g")
        tables += "\n" + differences(comparison, shown)
    for name, text in (("tables.md", tables), ("tables.tex", as_latex(summary, shown))):
        with replacing(folder / name) as part:
            part.write_text(text)
    return tables


def _verdict(scores: pd.DataFrame, baseline: str) -> str:
    """Return one sentence on SurvTRACE against a baseline, by integrated Brier score."""
    over_causes = scores.pivot_table("IBS", index="split", columns="method")
    changes = (over_causes["SurvTRACE"] - over_causes[baseline]).to_numpy()
    found = corrected_t_test(changes, test_fraction=0.3)
    change = 100 * found.difference / over_causes[baseline].mean()
    better = "lower" if change < 0 else "higher"
    note = "" if found.p_value < 0.05 else "; no clear difference over these splits"
    return (
        f"SurvTRACE's integrated Brier score is {abs(change):.1f} % {better} than {baseline}'s "
        f"(p = {found.p_value:.2g} over {len(changes)} splits, corrected for their overlap{note})."
    )
