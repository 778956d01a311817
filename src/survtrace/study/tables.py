"""Scores of many splits become tables: mean (sd), rank, and the paired difference to SurvTRACE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from survtrace.metrics import corrected_t_test
from survtrace.study.published import CONCORDANCE, printed
from survtrace.study.scoring import SCORES

SECONDS = ("fit_seconds", "predict_seconds")


def summarise(scores: pd.DataFrame, seconds: pd.DataFrame | None = None) -> pd.DataFrame:
    """Compute mean and standard deviation over splits, and the rank of each method in each cell.

    With the seconds of each job, also their means.

    Examples
    --------
    >>> scores = pd.DataFrame({"data": "d", "cause": 1, "method": ["a", "b"], "split": 0,
    ...                        "C25": [0.7, 0.6], "IBS": [0.2, 0.1]})
    >>> summarise(scores)[["method", "C25 rank", "IBS rank"]].values.tolist()
    [['a', 1, 2], ['b', 2, 1]]
    """
    shown = _present(scores)
    groups = scores.groupby(["data", "cause", "method"], sort=False)[shown]
    mean, deviation = groups.mean(), groups.std()
    table = mean.copy()
    for name in shown:
        ranks = (
            mean[name]
            .groupby(level=["data", "cause"])
            .rank(ascending=name not in CONCORDANCE, method="min")
        )
        table[f"{name} sd"], table[f"{name} rank"] = deviation[name], ranks.astype("Int64")
    table = table.reset_index()
    if seconds is None:
        return table
    mean_seconds = seconds.groupby(["data", "method"])[list(SECONDS)].mean().reset_index()
    return table.merge(mean_seconds, on=["data", "method"], how="left")


def compare_with(
    scores: pd.DataFrame, reference: str = "SurvTRACE", test_fraction: float = 0.3
) -> pd.DataFrame:
    """Paired difference of each method to the reference in each score, by the corrected t-test.

    Splits overlap, so the variance of the mean difference is that of Nadeau and Bengio.
    """
    rows = []
    index = ["data", "cause", "split"]
    shown = _present(scores)
    of_reference = scores[scores["method"] == reference].set_index(index)
    for method, theirs in scores[scores["method"] != reference].groupby("method", sort=False):
        changes = theirs.set_index(index)[shown] - of_reference[shown]
        for (data, cause), group in changes.groupby(level=["data", "cause"], sort=False):
            for name in shown:
                values = group[name].dropna().to_numpy()
                if len(values) < 2 or np.ptp(values) == 0:
                    continue
                found = corrected_t_test(values, test_fraction)
                size = found.difference / found.standard_error
                rows.append((data, cause, method, name, found.difference, size, found.p_value))
    return pd.DataFrame(rows, columns=["data", "cause", "method", "score", "difference", "t", "p"])


def as_markdown(summary: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return a table for each data set and cause; the best of each column in bold.

    ``rank`` is the mean rank over the columns. Where the paper printed a number it stands beside.
    """
    parts = []
    for data, cause, group in _groups(summary):
        heads, rows = _columns(group, data, cause, columns, "**{}**")
        lines = [f"{_title(summary, data, cause)}\n", f"| method | {' | '.join(heads)} |"]
        lines.append("|---" * (len(heads) + 1) + "|")
        lines += [f"| {method} | {' | '.join(cells)} |" for method, cells in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def as_latex(summary: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return the same tables as LaTeX tabulars."""
    parts = []
    for data, cause, group in _groups(summary):
        heads, rows = _columns(group, data, cause, columns, r"\textbf{{{}}}")
        lines = [f"% {data}, cause {cause}", r"\begin{tabular}{l" + "r" * len(heads) + "}"]
        lines.append("method & " + " & ".join(heads) + r" \\ \hline")
        lines += [f"{method} & {' & '.join(cells)} \\\\" for method, cells in rows]
        parts.append("\n".join([*lines, r"\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


def differences(comparison: pd.DataFrame, columns: Sequence[str]) -> str:
    """Markdown of what `compare_with` found: each method minus SurvTRACE, corrected t, p."""
    parts = []
    for data, cause, group in _groups(comparison):
        title = f"{_title(comparison, data, cause)}: difference to SurvTRACE (corrected t, p)\n"
        shown = [name for name in columns if (group["score"] == name).any()]
        lines = [title, f"| method | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
        for method, rows in group.groupby("method", sort=False):
            found = {
                row.score: f"{row.difference:+.4f} ({row.t:.1f}, {row.p:.2g})"
                for row in rows.itertuples()
            }
            cells = [found.get(name, "-") for name in shown]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _present(scores: pd.DataFrame) -> list[str]:
    return [name for name in SCORES if name in scores and scores[name].notna().any()]


def _groups(table: pd.DataFrame) -> Iterator[tuple[str, object, pd.DataFrame]]:
    for (data, cause), group in table.groupby(["data", "cause"], sort=False):
        yield str(data), cause, group


def _title(table: pd.DataFrame, data: str, cause: object) -> str:
    several = len(table.loc[table["data"] == data, "cause"].unique()) > 1
    return f"**{data}, cause {cause}**" if several else f"**{data}**"


def _columns(
    group: pd.DataFrame, data: str, cause: object, columns: Sequence[str], bold: str
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return heads of the columns, and each method with its cells."""
    rank = group[[f"{name} rank" for name in columns]].astype(float).mean(axis=1)
    methods = list(group["method"])
    of_paper = {name: [printed(data, cause, each, name) for each in methods] for name in columns}
    beside = [name for name in columns if any(value is not None for value in of_paper[name])]
    timed = [name for name in SECONDS if name in group]
    heads = [*columns, "rank", *(f"paper's {name}" for name in beside)]
    heads += [name.replace("_seconds", " s") for name in timed]
    rows = []
    for place, (_, row) in enumerate(group.iterrows()):
        cells = [_cell(row, name, bold) for name in columns]
        cells.append(f"{rank.iloc[place]:.1f}")
        cells += [_number(of_paper[name][place], "{:.3f}") for name in beside]
        cells += [_number(row[name], "{:.3g}") for name in timed]
        rows.append((row["method"], cells))
    return heads, rows


def _cell(row: pd.Series, name: str, bold: str) -> str:
    if np.isnan(row[name]):
        return "-"
    spread = row[f"{name} sd"]
    text = f"{row[name]:.4f}" + (f" ({spread:.3f})" if np.isfinite(spread) else "")
    return bold.format(text) if row[f"{name} rank"] == 1 else text


def _number(value: float | None, form: str) -> str:
    return "-" if value is None or np.isnan(value) else form.format(value)
