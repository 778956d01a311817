"""Rows of X and y belong together by label, or by position where one side has no labels."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.tables.outcome.alignment import align_rows

LABELS = ["p1", "p2", "p3", "p4"]
ORDER = [2, 0, 3, 1]
X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0]}, index=LABELS)
Y = pd.DataFrame({"event": [0, 1, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0]}, index=LABELS)


@pytest.mark.parametrize(
    "y", [Y, Y["event"], Y.to_dict("series")], ids=["frame", "series", "mapping"]
)
def test_the_same_labels_in_another_order_are_aligned_with_a_remark(y):
    shuffled = {k: v.iloc[ORDER] for k, v in y.items()} if isinstance(y, dict) else y.iloc[ORDER]
    with pytest.warns(DataWarning, match="same labels in another order; y.* is taken in the order"):
        found = align_rows(X, shuffled, "y")
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(y))


def test_rows_that_were_shuffled_together_stay_where_they_are():
    assert align_rows(X.iloc[ORDER], Y.iloc[ORDER], "y").equals(Y.iloc[ORDER])
    repeated = [1, 1, 2, 2]
    assert align_rows(X.set_axis(repeated), Y.set_axis(repeated), "y").equals(Y.set_axis(repeated))


@pytest.mark.parametrize("y", [Y.to_numpy(), Y.to_records(), [1, 2], None, "y"], ids=str)
def test_what_has_no_labels_goes_by_position(y):
    assert align_rows(X, y, "y") is y
    assert align_rows(X.to_numpy(), y, "y") is y


def test_a_default_index_only_counts_rows():
    fresh = Y.reset_index(drop=True)
    assert align_rows(X, fresh, "y") is fresh
    assert align_rows(X.set_axis([70, 20, 90, 41]), fresh, "y") is fresh
    assert align_rows(X.reset_index(drop=True), Y, "y") is Y


@pytest.mark.parametrize(
    "labels",
    [[2, 0, 3, 1], [1, 2, 3, 4], [2.0, 3.0, 4.0, 5.0], [3, 4, 5, 6], [-3, -2, -1, 0]],
    ids=str,
)
def test_numbers_that_may_be_labels_or_counts_are_refused(labels):
    for one, other in ((X, Y), (Y, X)):
        with pytest.raises(
            DataError, match=r"by label, pass y\.loc\[X\.index\]; to go by position"
        ):
            align_rows(one.set_axis(labels), other.reset_index(drop=True), "y")


def test_other_labels_are_refused_with_their_number():
    with pytest.raises(DataError, match=r"1 of 4 labels of X are not among those of y \(first: 'p"):
        align_rows(X, Y.set_axis(["p1", "p2", "p3", "q4"]), "y")
    with pytest.raises(DataError, match=r"not among those of y \(first: 7\)"):
        align_rows(X.set_axis([7, 8, 9, 12]), Y.set_axis([8, 9, 12, 13]), "y")
    with pytest.raises(DataError, match="4 of 4 labels of X are not among those of sample_weight"):
        align_rows(X, pd.Series(np.ones(4), index=list("abcd")), "sample_weight")
    with pytest.raises(DataError, match="labels of X and y occur more than once"):
        align_rows(X.set_axis(["a", "a", "b", "b"]), Y.set_axis(["a", "b", "a", "b"]), "y")


def test_columns_of_a_mapping_are_aligned_with_each_other():
    y = {"event": Y["event"], "duration": Y["duration"].iloc[ORDER]}
    with pytest.warns(DataWarning, match=r"X and y\['duration'\] have the same labels"):
        found = align_rows(X.to_numpy(), y, "y")
    assert found["duration"].tolist() == Y["duration"].tolist()


def test_another_length_is_left_to_the_check_of_lengths():
    assert align_rows(X, Y[:3], "y") is not None


@pytest.mark.parametrize("labels", [[4, 5, 6, 7], [-4, -3, -2, -1], [1, 2, 3, 5]], ids=str)
def test_numbers_that_cannot_count_the_same_rows_go_by_position(labels):
    fresh, labelled = Y.reset_index(drop=True), Y.set_axis(labels)
    assert align_rows(X.set_axis(labels), fresh, "y") is fresh
    assert align_rows(X.reset_index(drop=True), labelled, "y") is labelled


def test_one_row_goes_by_position():
    one = Y[:1].set_axis([7])
    assert align_rows(X[:1].reset_index(drop=True), one, "y") is one
