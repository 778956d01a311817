"""Subjects of a new place are laid out as those of a fit are."""

import pandas as pd

from survtrace.training.local_rows import read_local_rows


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
