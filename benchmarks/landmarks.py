"""pbcseq: concordance and Brier score at three landmarks, beside Cox at the same landmarks.

312 patients with up to 16 visits, five splits by patient. At each landmark those at risk are
predicted from what is known then, and scored from there on, over the next three years: the event-
free time before the landmark is the condition of all predictions. Cox once with start-stop rows, as
SurvTRACE, and once fitted anew at each landmark to those at risk; both also from first values only.

    python benchmarks/landmarks.py          # writes benchmarks/results/landmarks.json
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from survtrace import SurvTRACE
from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.datasets import load_public
from survtrace.metrics import brier_score_at, concordance_cause_specific
from survtrace.study.protocol import random_splits

RESULTS = Path(__file__).parent / "results" / "landmarks.json"
YEAR = 365.25
LANDMARKS, AHEAD = (1 * YEAR, 3 * YEAR, 5 * YEAR), 3 * YEAR
N_SPLITS = 5
Table = tuple[pd.DataFrame, pd.DataFrame]
Predict = Callable[[pd.DataFrame, float], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = load_public("pbcseq")
    ids = y["id"].unique()
    found = []
    for number, split in enumerate(random_splits(len(ids), given.splits)):
        parts = [y["id"].isin(ids[some]).to_numpy() for some in (split.learn, split.test)]
        learn, test = ((X[part], y[part]) for part in parts)
        found += [{"split": number, **row} for row in scores(learn, test)]
    report = {"years_ahead": AHEAD / YEAR, "rows": found}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(markdown(report))


def scores(learn: Table, test: Table) -> list[dict[str, Any]]:
    """Score every method at every landmark."""
    fits = {
        "SurvTRACE, start-stop rows": (SurvTRACE(random_state=0, verbose=False), learn),
        "SurvTRACE, first values": (SurvTRACE(random_state=0, verbose=False), first_values(*learn)),
        "Cox, start-stop rows": (CauseSpecificCox(ridge="search"), learn),
        "Cox, first values": (CauseSpecificCox(ridge="search"), first_values(*learn)),
        "Aalen-Johansen": (AalenJohansen(), first_values(*learn)),
    }
    estimators = {name: est.fit(*table) for name, (est, table) in fits.items()}
    rows = []
    for at in LANDMARKS:
        estimators["Cox, anew at the landmark"] = CauseSpecificCox(ridge="search").fit(
            *at_landmark(*learn, at)
        )
        (known, outcome), (_, training) = at_landmark(*test, at), at_landmark(*learn, at)
        first = first_values(*test)[0].loc[at_risk(test[1], at)]
        # From the landmark on: nobody enters later, and weights are those of any table.
        later, training = (
            from_landmark(each, at) for each in (outcome, at_landmark(*learn, at)[1])
        )
        for name, est in estimators.items():
            table = first if "first" in name else known
            incidence = est.predict_cumulative_incidence(
                table, [at + AHEAD], cause=1, conditional_after=at
            )[:, 0]
            found = {"landmark": at / YEAR, "method": name, "at_risk": len(later)}
            found["events"] = int(((later["event"] > 0) & (later["duration"] <= AHEAD)).sum())
            found["C"] = float(concordance_cause_specific(later, incidence, AHEAD, cause=1))
            found["Brier"] = float(
                brier_score_at(later, incidence, AHEAD, cause=1, y_train=training)
            )
            rows.append(found)
    return rows


def first_values(X: pd.DataFrame, y: pd.DataFrame) -> Table:
    """One row for each subject: its first covariates, and what ended its follow-up; by id."""
    ended = y.groupby("id")[["event", "duration"]].last()
    return X[~y["id"].duplicated()].set_axis(ended.index), ended


def at_risk(y: pd.DataFrame, at: float) -> Any:
    """The ids of those under observation at a landmark."""
    return y["id"][(y["entry"] <= at) & (at < y["duration"])].to_numpy()


def at_landmark(X: pd.DataFrame, y: pd.DataFrame, at: float) -> Table:
    """The subjects at risk at a landmark, with the covariates of then and their later outcome."""
    now = (y["entry"] <= at) & (at < y["duration"])
    ended = y.groupby("id")[["event", "duration"]].last().loc[at_risk(y, at)]
    return X[now].set_axis(ended.index), ended.assign(entry=at)


def from_landmark(outcome: pd.DataFrame, at: float) -> pd.DataFrame:
    return pd.DataFrame({"event": outcome["event"], "duration": outcome["duration"] - at})


def markdown(report: dict[str, Any]) -> str:
    """Mean and standard deviation over splits; the difference to Cox with start-stop rows."""
    table = pd.DataFrame(report["rows"])
    landmarks = sorted(table["landmark"].unique())
    lines = [
        "| | " + " | ".join(f"after {at:.0f} years: C, Brier" for at in landmarks) + " |",
        "|---|" + "---|" * len(landmarks),
    ]
    for method, some in table.groupby("method", sort=False):
        cells = []
        for at in landmarks:
            scored = some[some["landmark"] == at][["C", "Brier"]]
            mean, spread = scored.mean(), scored.std()
            cells.append(
                f"{mean['C']:.3f} ± {spread['C']:.3f}, {mean['Brier']:.4f} ± {spread['Brier']:.4f}"
            )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
