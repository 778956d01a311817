"""Scores and curves with their default weights equal R's, on ten tables, most of them with ties.

R's numbers are stored in r/reference.json; r/reference.R makes them.
"""

import json
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLES = json.loads((HERE / "r" / "reference.json").read_text())["tables"]
SCRIPT = HERE.parents[1] / "benchmarks" / "r_agreement.py"


@pytest.fixture(scope="module")
def differences():
    return runpy.run_path(str(SCRIPT))["differences"]


@pytest.mark.parametrize("name", TABLES)
def test_scores_and_curves(name, differences):
    found = differences(TABLES[name])
    assert len(found) >= 9
    scores = {score: gap for score, gap in found.items() if not score.endswith("error")}
    assert max(scores.values()) < 1e-12, scores


@pytest.mark.parametrize("name", TABLES)
def test_standard_errors_count_the_noise_of_the_weights(name, differences):
    """R's errors divide by n - 1 and integrate over untied times, so they are only close."""
    found = differences(TABLES[name])
    errors = {score: gap for score, gap in found.items() if score.endswith("error")}
    assert max(errors.values()) < 0.06, errors
