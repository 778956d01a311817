"""A covariate that may rather say when observation of a row began is found by name and values."""

import numpy as np
import pytest

from survtrace import DataWarning, SurvTRACE
from survtrace.inspection.entry_columns import find_entry, is_named_like_entry

STOP = np.arange(1.0, 41.0)
START = STOP - 1  # of subjects 0, 1, ..., 9 with four rows each
SUBJECT = np.repeat(np.arange(10), 4)


@pytest.mark.parametrize(
    "name", ["start", "t_start", "tstart", "entry", "Entry time", "age_at_entry", "from", "Beginn"]
)
def test_names_of_a_begin(name):
    assert is_named_like_entry(name)


@pytest.mark.parametrize("name", ["start_dose", "age", "left ventricle", "restart", "entry grade"])
def test_names_of_covariates(name):
    assert not is_named_like_entry(name)


def test_rows_that_touch_are_found_whatever_their_name():
    found = find_entry("x1", START, STOP, SUBJECT)
    assert (found.n_touching, found.n_pairs) == (30, 30)
    assert "'x1' and 'x2' look like start-stop rows: 30 of 30 rows" in found.in_words("x1", "x2")
    assert find_entry("x1", START, STOP) is None
    assert find_entry("x1", START / 2, STOP, SUBJECT) is None


@pytest.mark.parametrize(
    "values", [START + 9, START - 1, START * np.nan, START * 0, (START > 9).astype(float)], ids=str
)
def test_what_cannot_be_the_begin_of_every_row_is_a_covariate(values):
    assert find_entry("start", values, STOP, SUBJECT) is None


def test_a_fit_points_to_a_covariate_that_is_named_like_the_begin(one_cause, tiny):
    X, y = one_cause
    odd = X.assign(start=y["duration"] * np.random.default_rng(0).uniform(0, 0.9, len(X)))
    with pytest.warns(DataWarning, match="start .*named like the start of a row"):
        SurvTRACE(**tiny).fit(odd, y)
    SurvTRACE(**tiny, columns={"start": {"kind": "numerical"}}).fit(odd, y)
    settings = {**tiny, "mortality_weight": 0.0, "stay_weight": 0.0}
    SurvTRACE(**settings).fit(X, y.assign(entry=odd["start"]))


def test_an_age_below_that_at_the_end_is_asked_about_whatever_its_name():
    """With age as the clock and nobody's entry named, everybody would count as seen from birth."""
    rng = np.random.default_rng(0)
    age = rng.uniform(40, 80, 200)
    found = find_entry("age", age, age + rng.uniform(0.1, 12, 200))
    assert found.rising > 0.9
    assert "as an age at enrolment does" in found.in_words("age", "end")
    months = rng.uniform(0.1, 144, 200)
    assert find_entry("age", age, months) is None  # not always before the end
    assert find_entry("age", age, 100 + months) is None  # before it, and says nothing of it
