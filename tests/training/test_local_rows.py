"""Subjects of a new place are laid out as those of a fit are."""

import numpy as np
import pandas as pd
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.tables.outcome.outcome import Outcome
from survtrace.training.local_rows import _on_grid, read_local_rows


def test_rows_of_subjects_that_are_cut_in_two_weigh_twice(fitted_three, three_causes):
    """So that a mean over as many rows as there are subjects is a sum over all their time."""
    X, y = three_causes
    half = y["duration"] / 2
    first = y.assign(id=range(len(y)), entry=0.0, duration=half, event=0)
    second = y.assign(id=range(len(y)), entry=half)
    rows, parts = (pd.concat(both, ignore_index=True) for both in ([X, X], [first, second]))
    for table, weight in (((rows, parts), 2.0), ((X, y), 1.0)):
        cohort = read_local_rows(fitted_three, *table).cohort(0.1, [1, 2])
        assert (cohort.layout.tensors(cohort.store).weight == weight).all()


def test_on_a_grid_from_0_on_an_event_at_0_is_kept_and_who_is_censored_there_is_not():
    outcome = Outcome(np.array([0.0, 0.0, 3.0]), np.array([1, 0, 1]), (1,))
    with pytest.warns(DataWarning, match="1 of 3 subjects are censored at duration 0") as warned:
        kept = _on_grid(outcome, np.array([0.0, 2.0, 4.0]))
    assert kept.tolist() == [True, False, True]
    assert len(warned) == 1


def test_rows_that_end_before_the_grid_begins_are_left_out():
    outcome = Outcome(np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), (1,))
    with pytest.warns(DataWarning, match="2 of 3 rows have no follow-up between 2 and 4"):
        kept = _on_grid(outcome, np.array([2.0, 3.0, 4.0]))
    assert kept.tolist() == [False, False, True]
    in_years = Outcome(outcome.duration / 12, outcome.event, (1,))
    with pytest.warns(DataWarning, match="2 of 3 rows have no follow-up"):
        assert _on_grid(in_years, np.array([2.0, 3.0, 4.0]) / 12).tolist() == kept.tolist()


def test_what_is_missing_is_counted_beside_what_was_in_the_fit(fitted_three, three_causes):
    X, y = three_causes
    name, before = X.columns[0], fitted_three.card_["n_missing"]
    here = X.assign(**{name: X[name].where(X.index >= X.index[3])})
    counts = read_local_rows(fitted_three, here, y).counts()
    expected = {each: before[each] + here[each].isna().sum() for each in X}
    assert counts.n_missing == expected
    assert counts.n_missing[name] >= 3
    assert counts.n_rows == fitted_three.card_["n_rows"] + len(X)


def test_covariates_of_other_rows_than_the_outcomes_are_refused(fitted_three, three_causes):
    X, y = three_causes
    with pytest.raises(DataError, match="same subjects"):
        read_local_rows(fitted_three, X.head(20), y.head(30))


def test_two_subjects_are_enough_and_one_is_not(fitted_three, three_causes):
    X, y = three_causes
    assert len(read_local_rows(fitted_three, X[:2], y[:2]).outcome) == 2
    with pytest.raises(
        DataError, match=r"at least two subjects with follow-up; got 1 row\(s\) of 1"
    ):
        read_local_rows(fitted_three, X[:1], y[:1])
