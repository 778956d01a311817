import pandas as pd
import pytest

from survtrace import DataWarning
from survtrace.evaluation.subgroups import read_groups


def test_values_with_labels_are_taken_in_the_order_of_the_table():
    table = pd.DataFrame({"age": [40.0, 50.0, 60.0]}, index=list("abc"))
    ward = pd.Series(["north", "north", "south"], index=list("bca"))
    with pytest.warns(DataWarning, match="ward is taken in the order of X"):
        groups = read_groups(table, {"ward": ward})
    assert {group.name: group.rows.tolist() for group in groups} == {
        "north": [False, True, True],
        "south": [True, False, False],
    }
