"""Columns of a file get their roles by name."""

from pathlib import Path

import pytest

from survtrace import DataError
from survtrace.tables.outcome.roles import Roles, read_roles
from survtrace.tables.table import is_path


def test_all_other_columns_are_covariates():
    roles = read_roles({"event": "cause", "duration": "months", "weight": "w", "drop": ["id"]})
    assert roles == Roles("cause", "months", "w", ("id",))
    assert roles.covariates(["id", "age", "months", "w", "sex", "cause"]) == ["age", "sex"]


def test_entry_and_id_are_columns_of_the_outcome_and_no_covariates():
    roles = read_roles({"event": "cause", "stop": "until", "start": "since", "id": "patient"})
    assert roles == Roles("cause", "until", entry="since", id="patient")
    assert roles.covariates(["patient", "age", "since", "until", "cause"]) == ["age"]
    assert list(roles.outcome.values()) == ["event", "duration", "entry", "id"]


def test_labels_that_mean_censored_are_no_columns():
    roles = read_roles({"event": "cause", "time": "months", "censored": ["alive", 1.0]})
    assert roles.censored == ("alive", 1)
    assert roles.covariates(["age", "cause", "months"]) == ["age"]
    assert read_roles({"event": "cause", "time": "months", "censored": []}).censored == ()


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"no column 'month'; did you mean 'months'\?"):
        Roles("cause", "month").covariates(["cause", "months"])
    with pytest.raises(DataError, match="no column 'patient'"):
        Roles("cause", "months", drop=("patient",)).covariates(["cause", "months"])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "y must say which of its columns"),
        ([1, 0], "y must say which of its columns"),
        ({"event": "cause"}, r"y must name the columns of event and duration.*got \['event'\]"),
        ({"event": "c", "time": "t", "duration": "d"}, "y must name the columns"),
        ({"event": "c", "time": "t", "ward": "w"}, r"got \['event', 'time', 'ward'\]"),
        ({"event": "c", "time": "t", "start": "s", "entry": "e"}, "y must name the columns"),
        ({"event": "c", "time": "t", "entry": "t"}, "duration and entry must be two columns"),
        ({"event": "c", "time": "t", "id": ["a", "b"]}, r"id must be one column; got \['a', 'b'\]"),
        ({"event": [0, 1], "duration": [1.0, 2.0]}, "y must hold names of its columns"),
        ({"event": 1, "duration": "d"}, "y must hold names of its columns; got int"),
        ({"event": ["a", "b"], "duration": "d"}, r"event must be one column; got \['a', 'b'\]"),
        ({"event": "a", "duration": "a"}, "event and duration must be two columns; got 'a'"),
    ],
    ids=str,
)
def test_what_names_no_columns_is_refused(y, words):
    with pytest.raises(DataError, match=words):
        read_roles(y)


def test_texts_and_paths_are_paths():
    assert is_path("t.parquet")
    assert is_path(Path("t.parquet"))
    assert not is_path([["t.parquet"]])
