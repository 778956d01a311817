"""Scores and curves with their default weights equal R's, on ten tables, most of them with ties.

R's numbers are stored in r/reference.json, r/concordance.json (pec, of untied durations) and
r/centres.json (metafor, centres of these tables); the .R of the same name makes them.
"""

import json
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLES = json.loads((HERE / "r" / "reference.json").read_text())["tables"]
SCRIPT = HERE.parents[1] / "benchmarks" / "r_agreement.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("name", TABLES)
def test_scores_and_curves(name, script):
    found = script["differences"](TABLES[name])
    assert len(found) >= 9
    scores = {score: gap for score, gap in found.items() if not score.endswith("error")}
    assert max(scores.values()) < 1e-12, scores


@pytest.mark.parametrize("name", TABLES)
def test_standard_errors_count_the_noise_of_the_weights(name, script):
    """R's errors divide by n - 1 and integrate over untied times, so they are only close."""
    found = script["differences"](TABLES[name])
    errors = {score: gap for score, gap in found.items() if score.endswith("error")}
    assert max(errors.values()) < 0.06, errors


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("source", "n_scores"), [("concordance", 1), ("centres", 8)])
def test_concordance_and_spread_between_centres(name, source, n_scores, script):
    stored = json.loads((HERE / "r" / f"{source}.json").read_text())
    pairs = script["SOURCES"][source](TABLES[name], stored["tables"][name], stored)
    found = script["largest"](pairs)
    assert len(found) == n_scores
    assert max(found.values()) < 1e-11, found
