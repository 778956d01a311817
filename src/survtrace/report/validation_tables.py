"""The tables of a validation as pages show them: scores, decisions, groups and centres."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from survtrace.evaluation import Validation
from survtrace.naming import Names, capital
from survtrace.report.formatting import NONE, interval, span

MOST_THRESHOLDS = 8  # rows of a table of decisions
TESTED = ("O/E", "slope", "AUC")  # of groups, written above them
SUMMARISED = ("O/E", "slope", "AUC", "C")  # over centres
IN_GROUPS = {
    "observed": "observed",
    "expected": "expected",
    "ratio": "O/E",
    "slope": "slope",
    "auc": "AUC",
    "brier": "Brier",
}


def spread_rows(validation: Validation) -> list[Any]:
    """Return rows over centres of the scores that are shown."""
    return list(validation.spread[validation.spread["score"].isin(SUMMARISED)].itertuples())


def each_panel(validation: Validation, horizons: Sequence[float]) -> list[tuple[Any, float]]:
    """List all causes and horizons."""
    return [(cause, horizon) for cause in validation.causes for horizon in horizons]


def _cells(scores: pd.DataFrame) -> dict[str, Any]:
    """Scores of one cause, horizon and set of subjects: values, or triples with their interval."""
    rows = scores.set_index("score")
    found = {
        key: tuple(rows.loc[name, ["value", "low", "high"]].astype(float))
        for key, name in IN_GROUPS.items()
    }
    return {**found, "observed": found["observed"][0], "expected": found["expected"][0]}


def _pick(table: pd.DataFrame, cause: Any, horizon: float) -> pd.DataFrame:
    return table[(table["cause"] == cause) & (table["horizon"] == horizon)]


def glance(validation: Validation) -> list[dict[str, Any]]:
    """For each cause a row for each horizon: the most important numbers."""
    groups = []
    for cause in validation.causes:
        rows = [
            {
                "horizon": horizon,
                "events": int(_pick(validation.counts, cause, horizon)["events"].iloc[0]),
                **_cells(_pick(validation.scores, cause, horizon)),
            }
            for horizon in validation.horizons
        ]
        groups.append({"cause": cause, "rows": rows})
    return groups


def score_tables(validation: Validation, names: Names) -> Iterator[dict[str, Any]]:
    """For each cause a row for each score, a cell for each horizon; of one horizon, causes."""
    table, causes = validation.scores, validation.causes
    by = [f"by {span(names, horizon)}" for horizon in validation.horizons]
    if len(by) == 1:
        headings = [names.cause(cause) for cause in causes]
        yield {"title": capital(by[0]), "headings": headings, "rows": _score_rows(table)}
        return
    for cause in causes:
        title, rows = capital(names.cause(cause)), _score_rows(table[table["cause"] == cause])
        yield {"title": title, "headings": by, "rows": rows}


def _score_rows(scores: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"score": score, "cells": [_cell(row) for row in found.itertuples()]}
        for score, found in scores.groupby("score", sort=False)
    ]


def _cell(row: Any) -> str:
    if pd.isna(row.value):
        return NONE
    if pd.isna(row.low):
        return f"{row.value:.3f}" if row.value >= 0.001 else "below 0.001"
    return interval((row.value, row.low, row.high))


def decision_tables(validation: Validation, horizons: Sequence[float]) -> Iterator[dict[str, Any]]:
    """For each cause and horizon some thresholds, evenly chosen."""
    for cause, horizon in each_panel(validation, horizons):
        here = _pick(validation.decisions, cause, horizon)
        if here.empty:
            continue
        ours, everybody = (here[here["strategy"] == name] for name in ("model", "treat all"))
        pairs = list(zip(ours.itertuples(), everybody["value"], strict=True))
        step = -(-len(pairs) // MOST_THRESHOLDS)
        rows = [
            {
                "threshold": row.threshold,
                "treated": row.share_treated,
                "ours": (row.value, row.low, row.high),
                "everybody": of_all,
            }
            for row, of_all in pairs[step - 1 :: step]
        ]
        yield {"cause": cause, "horizon": horizon, "rows": rows}


def group_tables(
    validation: Validation, horizons: Sequence[float], *, of_centres: bool = False
) -> Iterator[dict[str, Any]]:
    """For each cause and horizon the groups of each column, with tests of their difference."""
    table = validation.groups[(validation.groups["column"] == validation.centre) == of_centres]
    kind = "centre" if of_centres else "group"
    for number, (cause, horizon) in enumerate(each_panel(validation, horizons)):
        columns = [
            {
                "name": column,
                "p": _tests(_pick(validation.differences, cause, horizon), column),
                "rows": [_group(group, each) for group, each in found.groupby("group", sort=False)],
            }
            for column, found in _pick(table, cause, horizon).groupby("column", sort=False)
        ]
        if columns:
            key = f"{kind}-{number}"
            yield {"cause": cause, "horizon": horizon, "columns": columns, "key": key}


def _group(name: Any, scores: pd.DataFrame) -> dict[str, Any]:
    first = scores.iloc[0]
    note = first["note"] if scores["value"].isna().all() else ""
    sizes = {"n": int(first["n"]), "events": int(first["events"])}
    return {"group": name, "note": note, **sizes, **_cells(scores)}


def _tests(differences: pd.DataFrame, column: Any) -> str:
    found = differences[differences["column"] == column].set_index("score")["p_value"]
    texts = [
        f"{score} {'below 0.001' if found[score] < 0.001 else f'{found[score]:.3f}'}"
        for score in TESTED
        if score in found and found[score] == found[score]
    ]
    return ", ".join(texts)
