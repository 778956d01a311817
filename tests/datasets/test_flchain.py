"""The embedded cohort is scikit-survival's, row by row."""

import numpy as np
import pandas as pd
import pytest
from sksurv.datasets import load_flchain as load_reference

from survtrace.datasets import FLCHAIN_CAUSES, load_flchain
from survtrace.tables.outcome.outcome import read_outcome


@pytest.fixture(scope="module")
def reference():
    return load_reference()


def test_it_has_eight_covariates_and_never_the_cause_of_death():
    X, y = load_flchain()
    assert X.shape == (7874, 8)
    assert list(y.columns) == ["event", "duration"]
    assert "chapter" not in X.columns


def test_covariates_agree_with_scikit_survival_row_by_row(reference):
    X, _ = load_flchain()
    for name in X.columns:
        theirs = reference[0][name].astype(X[name].dtype)
        pd.testing.assert_series_equal(X[name], theirs, check_exact=True)


def test_deaths_and_durations_agree_with_scikit_survival_row_by_row(reference):
    _, y = load_flchain(causes=False)
    theirs = reference[1]
    np.testing.assert_array_equal(y["event"] == 1, theirs["death"])
    np.testing.assert_array_equal(
        y["duration"], np.where(theirs["futime"] == 0, 0.5, theirs["futime"])
    )


def test_causes_agree_with_the_chapters_of_scikit_survival(reference):
    _, y = load_flchain()
    chapter = reference[0]["chapter"].astype(object).str.lower()
    named = chapter.isin(["circulatory", "neoplasms", "respiratory"])
    expected = chapter.where(named, "other").where(reference[1]["death"], "alive")
    assert (y["event"].map({0: "alive", **FLCHAIN_CAUSES}) == expected).all()


def test_causes_are_counted_as_published():
    _, y = load_flchain()
    assert y["event"].value_counts().to_dict() == {0: 5705, 1: 745, 2: 567, 3: 245, 4: 612}


def test_its_dtypes_say_what_each_covariate_is():
    X, _ = load_flchain()
    assert list(X.select_dtypes("category")) == ["mgus", "sex"]
    assert X["flc.grp"].between(1, 10).all()
    assert X["sample.yr"].between(1995, 2003).all()
    assert X["creatinine"].isna().sum() == 1350


def test_its_outcome_passes_the_door():
    outcome = read_outcome(load_flchain()[1])
    assert outcome.causes == (1, 2, 3, 4)
    assert outcome.duration.min() == 0.5
