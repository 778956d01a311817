"""pbcseq: concordance and Brier score at three landmarks, beside Cox at the same landmarks.

312 patients with up to 16 visits, five splits by patient. At each landmark those at risk are
predicted from what is known then, and scored from there on, over the next three years. SurvTRACE
and Cox learn from

- start-stop rows, from visit to visit: a prediction holds the covariates of the landmark;
- the rows of six landmarks, once a year from the start: covariates of then, and what happens in the
  three years after (one fit, which knows the landmark as one more covariate);
- first values only.

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

from survtrace import SurvTRACE, landmark
from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.datasets import load_public
from survtrace.metrics import aalen_johansen, brier_score_at, concordance_cause_specific
from survtrace.study.protocol import random_splits

RESULTS = Path(__file__).parent / "results" / "landmarks.json"
YEAR = 365.25
LANDMARKS, AHEAD = (1 * YEAR, 3 * YEAR, 5 * YEAR), 3 * YEAR
STACK = tuple(year * YEAR for year in range(6))
N_SPLITS = 5
START_STOP, STACKED, FIRST = "start-stop rows", "rows of landmarks", "first values"
METHODS: dict[str, Callable[[], Any]] = {
    "SurvTRACE": lambda: SurvTRACE(random_state=0, verbose=False),
    "Cox": lambda: CauseSpecificCox(ridge="search"),
}
Table = tuple[pd.DataFrame, pd.DataFrame]


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
    rows_of = {
        START_STOP: learn,
        STACKED: stacked(*learn),
        FIRST: first_values(*learn),
    }
    estimators: dict[tuple[str, str], Any] = {
        (method, rows): make().fit(*table)
        for rows, table in rows_of.items()
        for method, make in METHODS.items()
    }
    estimators["Aalen-Johansen", "no covariates"] = AalenJohansen().fit(*rows_of[FIRST])
    found = []
    for at in LANDMARKS:
        (known, outcome), (_, training) = at_landmarks(*test, at), at_landmarks(*learn, at)
        first = first_values(*test)[0].loc[known.index]
        # From the landmark on: nobody enters later, and weights are those of any table.
        later, training = (from_landmark(each, at) for each in (outcome, training))
        n_events = int(((later["event"] > 0) & (later["duration"] <= AHEAD)).sum())
        observed = float(aalen_johansen(later, 1).at([AHEAD])[0])
        for (method, rows), est in estimators.items():
            # Where the landmark is no covariate, it is one column too many, and left out.
            incidence = est.predict_cumulative_incidence(
                first if rows == FIRST else known, [at + AHEAD], cause=1, conditional_after=at
            )[:, 0]
            weights = {"cause": 1, "y_train": training}
            found.append(
                {
                    "landmark": at / YEAR,
                    "method": f"{method}, {rows}",
                    "at_risk": len(later),
                    "events": n_events,
                    "predicted": float(incidence.mean()),
                    "observed": observed,
                    "C": float(concordance_cause_specific(later, incidence, AHEAD, **weights)),
                    "Brier": float(brier_score_at(later, incidence, AHEAD, **weights)),
                }
            )
    return found


def first_values(X: pd.DataFrame, y: pd.DataFrame) -> Table:
    """One row for each subject: its first covariates, and what ended its follow-up; by id."""
    ended = y.groupby("id")[["event", "duration"]].last()
    return X[~y["id"].duplicated()].set_axis(ended.index), ended


def at_landmarks(X: pd.DataFrame, y: pd.DataFrame, *at: float) -> Table:
    """The subjects at risk at some landmarks, with the covariates of then, by id."""
    table = landmark(X.assign(**y), at=at).set_index("id")
    outcome = ["entry", "duration", "event"]
    return table.drop(columns=outcome), table[outcome]


def stacked(X: pd.DataFrame, y: pd.DataFrame) -> Table:
    """The rows of all landmarks, each followed for the time ahead only."""
    known, outcome = at_landmarks(X, y, *STACK)
    last = outcome["entry"] + AHEAD
    outcome["event"] = outcome["event"].where(outcome["duration"] <= last, 0)
    outcome["duration"] = outcome["duration"].clip(upper=last)
    return known.reset_index(drop=True), outcome.reset_index(drop=True)


def from_landmark(outcome: pd.DataFrame, at: float) -> pd.DataFrame:
    return pd.DataFrame({"event": outcome["event"], "duration": outcome["duration"] - at})


def markdown(report: dict[str, Any]) -> str:
    """Mean and standard deviation over splits; below, differences of SurvTRACE to Cox by split."""
    table = pd.DataFrame(report["rows"]).pivot_table(
        index="split", columns=["method", "landmark"], values=["C", "Brier"]
    )
    landmarks = sorted(table.columns.unique("landmark"))
    lines = [
        "| | "
        + " | ".join(f"after {at:.0f} year{'s' * (at > 1)}: C, Brier" for at in landmarks)
        + " |",
        "|---|" + "---|" * len(landmarks),
    ]
    scored = {name: table.xs(name, axis=1, level="method") for name in _methods(report)}
    for rows in (START_STOP, STACKED, FIRST):
        gap = scored[f"SurvTRACE, {rows}"] - scored[f"Cox, {rows}"]
        scored[f"SurvTRACE - Cox, {rows}"] = gap
    for method, values in scored.items():
        sign = "+" if " - " in method else ""
        mean, spread = values.mean(), values.std()
        cells = [
            f"{mean['C', at]:{sign}.3f} ± {spread['C', at]:.3f}, "
            f"{mean['Brier', at]:{sign}.4f} ± {spread['Brier', at]:.4f}"
            for at in landmarks
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _methods(report: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in report["rows"]))


if __name__ == "__main__":
    main()
