"""A study by name: run its jobs, write its scores and tables to a folder."""

from __future__ import annotations

from pathlib import Path

from survtrace.errors import SettingError
from survtrace.study.presets import PRESETS
from survtrace.study.runner import run_jobs
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
    summary = summarise(scores)
    columns = tuple(column for column in preset.columns if column in summary)
    if "SurvTRACE" in preset.methods:
        compare_with(scores).to_csv(folder / "comparison.csv", index=False, float_format="%.5g")
    tables = as_markdown(summary, columns)
    (folder / "tables.md").write_text(tables)
    (folder / "tables.tex").write_text(as_latex(summary, columns))
    return tables
