"""Scores of many splits become tables: mean (sd), rank, and the paired difference to SurvTRACE."""

from __future__ import annotations

import numpy as np
import pandas as pd

from survtrace.metrics import corrected_t_test
from survtrace.study.scoring import SCORES

HIGHER_IS_BETTER = ("C25", "C50", "C75")


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over splits, and the rank of each method in each cell.

    Examples
    --------
    >>> scores = pd.DataFrame({"data": "d", "cause": 1, "method": ["a", "b"], "split": 0,
    ...                        "C25": [0.7, 0.6], "IBS": [0.2, 0.1]})
    >>> summarise(scores)[["method", "C25 rank", "IBS rank"]].values.tolist()
    [['a', 1, 2], ['b', 2, 1]]
    """
    shown = [name for name in SCORES if name in scores and scores[name].notna().any()]
    groups = scores.groupby(["data", "cause", "method"], sort=False)[shown]
    mean, deviation = groups.mean(), groups.std()
    table = mean.copy()
    for name in shown:
        ranks = (
            mean[name]
            .groupby(level=["data", "cause"])
            .rank(ascending=name not in HIGHER_IS_BETTER, method="min")
        )
        table[f"{name} sd"], table[f"{name} rank"] = deviation[name], ranks.astype("Int64")
    return table.reset_index()


def compare_with(
    scores: pd.DataFrame, reference: str = "SurvTRACE", test_fraction: float = 0.3
) -> pd.DataFrame:
    """Paired difference of each method to the reference in each score, by the corrected t-test.

    Splits overlap, so the variance of the mean difference is that of Nadeau and Bengio.
    """
    rows = []
    index = ["data", "cause", "split"]
    shown = [name for name in SCORES if name in scores and scores[name].notna().any()]
    own = scores[scores["method"] == reference].set_index(index)
    for method, theirs in scores[scores["method"] != reference].groupby("method", sort=False):
        differences = theirs.set_index(index)[shown] - own[shown]
        for (data, cause), group in differences.groupby(level=["data", "cause"], sort=False):
            for name in shown:
                values = group[name].dropna().to_numpy()
                if len(values) < 2 or np.ptp(values) == 0:
                    continue
                found = corrected_t_test(values, test_fraction)
                rows.append(
                    {
                        "data": data,
                        "cause": cause,
                        "method": method,
                        "score": name,
                        "difference": found.difference,
                        "p": found.p_value,
                    }
                )
    return pd.DataFrame(rows)


def as_markdown(summary: pd.DataFrame, columns: tuple[str, ...]) -> str:
    """A table for each data set and cause; the best of each column in bold."""
    parts = []
    for (data, cause), group in summary.groupby(["data", "cause"], sort=False):
        several = len(summary.loc[summary["data"] == data, "cause"].unique()) > 1
        head = f"**{data}, cause {cause}**" if several else f"**{data}**"
        lines = [f"{head}\n", "| method | " + " | ".join(columns) + " |"]
        lines.append("|---" * (len(columns) + 1) + "|")
        for _, row in group.iterrows():
            cells = [_cell(row, name, "**{}**") for name in columns]
            lines.append(f"| {row['method']} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def as_latex(summary: pd.DataFrame, columns: tuple[str, ...]) -> str:
    """The same tables as LaTeX tabulars."""
    parts = []
    for (data, cause), group in summary.groupby(["data", "cause"], sort=False):
        lines = [f"% {data}, cause {cause}", r"\begin{tabular}{l" + "r" * len(columns) + "}"]
        lines.append("method & " + " & ".join(columns) + r" \\ \hline")
        for _, row in group.iterrows():
            cells = [_cell(row, name, r"\textbf{{{}}}") for name in columns]
            lines.append(f"{row['method']} & " + " & ".join(cells) + r" \\")
        parts.append("\n".join([*lines, r"\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


def _cell(row: pd.Series, name: str, bold: str) -> str:
    if np.isnan(row[name]):
        return "-"
    spread = row[f"{name} sd"]
    text = f"{row[name]:.4f}" + (f" ({spread:.3f})" if np.isfinite(spread) else "")
    return bold.format(text) if row[f"{name} rank"] == 1 else text
