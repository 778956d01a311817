"""A study by name: run its jobs, write its scores and tables to a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from survtrace.data.tables import read_table, split_outcome
from survtrace.errors import SettingError
from survtrace.metrics import corrected_t_test
from survtrace.study.presets import CONCORDANCE, FLOOR, PRESETS, survtrace
from survtrace.study.protocol import Task, random_splits
from survtrace.study.runner import Job, run_jobs
from survtrace.study.tables import as_latex, as_markdown, compare_with, summarise


def run_study(name: str, folder: Path, n_splits: int | None = None, n_processes: int = 1) -> str:
    """Run what is not done yet and return the tables as Markdown.

    Writes scores.csv (every split), timings.csv, comparison.csv (paired differences to
    SurvTRACE, corrected t-test), tables.md and tables.tex.
    """
    if name not in PRESETS:
        raise SettingError(f"the study must be one of {sorted(PRESETS)}; got {name!r}.")
    preset = PRESETS[name]
    scores = run_jobs(preset.jobs(n_splits), preset.methods, folder, n_processes=n_processes)
    return _write_tables(scores, preset.columns, folder)


def compare_on_table(
    table: Path,
    folder: Path,
    *,
    duration: str,
    event: str,
    drop: Sequence[str] = (),
    n_splits: int = 5,
    methods: dict[str, Callable[..., object]] | None = None,
) -> str:
    """Is the transformer worth it on this table? Tables as in a study, and a sentence."""
    X, y = split_outcome(read_table(table), duration, event, drop)
    own = Task(table.stem, X, y, random_splits(len(X), n_splits))
    methods = methods or {"SurvTRACE": survtrace, **FLOOR}
    jobs = [Job(own.name, method, split) for method in methods for split in range(n_splits)]
    scores = run_jobs(jobs, methods, folder, load=lambda name: own)
    tables = _write_tables(scores, (*CONCORDANCE, "IBS"), folder)
    return tables + "\n" + _verdict(scores)


def _write_tables(scores: pd.DataFrame, columns: Sequence[str], folder: Path) -> str:
    summary = summarise(scores)
    shown = tuple(column for column in columns if column in summary)
    if (scores["method"] == "SurvTRACE").any():
        compare_with(scores).to_csv(folder / "comparison.csv", index=False, float_format="%.5g")
    tables = as_markdown(summary, shown)
    (folder / "tables.md").write_text(tables)
    (folder / "tables.tex").write_text(as_latex(summary, shown))
    return tables


def _verdict(scores: pd.DataFrame, rival: str = "CS-CPH") -> str:
    """One sentence on SurvTRACE against the linear rival, by integrated Brier score."""
    over_causes = scores.pivot_table("IBS", index="split", columns="method")
    differences = (over_causes["SurvTRACE"] - over_causes[rival]).to_numpy()
    found = corrected_t_test(differences, test_fraction=0.3)
    change = 100 * found.difference / over_causes[rival].mean()
    sure = "a clear difference" if found.p_value < 0.05 else "too little to tell from chance"
    better = "lower" if change < 0 else "higher"
    return (
        f"SurvTRACE's integrated Brier score is {abs(change):.1f} % {better} than {rival}'s "
        f"({sure}: p = {found.p_value:.2g} over {len(differences)} splits)."
    )
