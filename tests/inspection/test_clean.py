"""A raw table is cleaned for other methods as `fit` cleans it for the network."""

import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.inspection.clean import clean_subjects


@pytest.fixture
def raw():
    X = pd.DataFrame({"crp": ["1,5", "<0,6"], "sex": ["f", "m"]}, index=["a", "b"])
    y = pd.DataFrame({"event": ["alive", "relapse"], "duration": [3.0, 2.0]}, index=X.index)
    return X, y


def test_numbers_in_text_and_words_for_censored_are_read_with_a_warning(raw):
    with pytest.warns(DataWarning, match="read as numbers: crp .numbers written as text in 2"):
        X, y = clean_subjects(*raw)
    assert X["crp"].tolist() == [1.5, 0.6]
    assert X["sex"].tolist() == ["f", "m"]
    assert y["event"].tolist() == [0, "relapse"]
    assert y["duration"].tolist() == [3.0, 2.0]
    assert list(X.index) == list(y.index) == ["a", "b"]


def test_a_column_that_could_mean_two_numbers_is_asked_about():
    X = pd.DataFrame({"dose": ["1,234", "2,345", "3,456"] * 9})
    y = pd.DataFrame({"event": [0, 1, 1] * 9, "duration": range(1, 28)})
    with pytest.raises(DataError, match="column 'dose'"):
        clean_subjects(X, y)
