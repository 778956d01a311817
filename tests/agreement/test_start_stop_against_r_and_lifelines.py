"""Start-stop rows are those of R's tmerge and of lifelines' add_covariate_to_timeline."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, to_start_stop

STORED = json.loads(Path(__file__).with_name("r").joinpath("start_stop.json").read_text())
MEASURED = ["ascites", "bili", "albumin", "protime", "alk.phos"]


def test_pbcseq_is_cut_as_in_the_vignette_of_survival():
    visits, outcomes = pd.DataFrame(STORED["visits"]), pd.DataFrame(STORED["outcomes"])
    names = {"time": "day", "duration": "time", "event": "status"}
    with pytest.raises(DataError, match=r"a visit must not come after the subject's end; .* of"):
        to_start_stop(visits, outcomes, **names)
    rows = to_start_stop(visits, outcomes, **names, after_end="drop")
    expected = pd.DataFrame(STORED["rows"])
    pairs = {"tstart": "entry", "tstop": "time", "death": "status"}
    for theirs in ("id", "age", "sex", *pairs, *MEASURED):
        ours = rows[pairs.get(theirs, theirs)]
        assert ours.tolist() == expected[theirs].tolist(), theirs


def test_a_timeline_is_cut_as_lifelines_does():
    utils = pytest.importorskip("lifelines.utils")
    rng = np.random.default_rng(0)
    outcomes = pd.DataFrame(
        {"id": range(30), "duration": rng.integers(20, 40, 30), "event": rng.integers(0, 2, 30)}
    )
    days = [sorted(rng.choice(np.arange(1, 45), 4, replace=False)) for _ in range(30)]
    visits = pd.DataFrame(
        {"id": np.repeat(np.arange(30), 5), "time": np.ravel([[0, *each] for each in days])}
    ).assign(marker=rng.normal(size=150), dose=rng.normal(size=150))
    ours = to_start_stop(visits, outcomes, after_end="drop")
    base = utils.to_long_format(outcomes, duration_col="duration")
    theirs = utils.add_covariate_to_timeline(base, visits.copy(), "id", "time", "event")
    for name, other in {
        "entry": "start",
        "duration": "stop",
        "marker": "marker",
        "dose": "dose",
    }.items():
        np.testing.assert_array_equal(ours[name], theirs[other])
    np.testing.assert_array_equal(ours["event"], theirs["event"])
