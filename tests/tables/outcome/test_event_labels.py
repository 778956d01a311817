"""Labels as hospitals, R and other languages write them."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError
from survtrace.tables.outcome.event_labels import is_date, is_usual, looks_censored, plain_label
from survtrace.tables.outcome.outcome import read_outcome

CENSORED = """0|False|FALSE|no|No|none|censored|Censored|CENSORED.|alive|ALIVE|Still alive|living|
lost|Lost to follow-up|lost to followup|LTFU|withdrawn|event-free|no event|No_event|end of study|
zensiert|lebt|nein|ereignisfrei|vivant|Vivante|en vie|perdu de vue|censuré|non|vivo|censurado|
sin evento|perdido de seguimiento|não|in leven|gecensureerd|0:LIVING|0 = alive|
0: none""".replace("\n", "").split("|")
DOUBTFUL = """alive with disease|lost contact|not dead|0 = dead|disease free|DiseaseFree|unknown|
no relapse|ohne Rezidiv|sans récidive|still on treatment|withdrawn consent|censored (moved)|
discharged alive|NED|AWD|emigrated|Moved abroad|verzogen|Date last seen|data cut-off|
Study completed|rezidivfrei""".replace("\n", "").split("|")
CAUSES = """dead|died of cancer|died during follow-up|relapse|non-relapse mortality|uncensored|
transplant|completed treatment|Removed|death without relapse|progression|Tod|décédé|fallecido|
cardiovascular""".replace("\n", "").split("|")


@pytest.mark.parametrize("label", [0, False, 0.0, "0", "0.0", " 0 ", *CENSORED])
def test_usual_words_mean_censored_in_any_case(label):
    assert is_usual(plain_label(label))


@pytest.mark.parametrize("label", DOUBTFUL)
def test_other_words_about_censoring_are_doubtful(label):
    assert not is_usual(label)
    assert looks_censored(label)


@pytest.mark.parametrize("label", [1, 2, *CAUSES])
def test_causes_are_not_doubted(label):
    assert not is_usual(label)
    assert looks_censored(label) is False


@pytest.mark.parametrize(
    "value", [1, 1.0, "1", "1.0", " 1 ", True, "TRUE", np.float32(1), np.int8(1)]
)
def test_whole_numbers_are_integers_however_written(value):
    assert plain_label(value) == 1
    assert type(plain_label(value)) is int


@pytest.mark.parametrize(
    "value", ["", "  ", None, np.nan, pd.NA, pd.NaT, "NA", "n/a", "NaN", "-", "?", Decimal("NaN")]
)
def test_what_says_nothing_is_missing(value):
    assert plain_label(value) is None


def test_other_texts_keep_their_spelling():
    assert [plain_label(text) for text in (" Relapse ", "01", "1.5", "+", b"dead")] == [
        "Relapse",
        "01",
        "1.5",
        "+",
        "dead",
    ]


@pytest.mark.parametrize(
    "value",
    [
        *("2021-03-04", "4.3.2021", "03/04/21", "04-Mar-2021", "2021-03-04 12:30:00"),
        *(pd.Timestamp("2021-03-04"), np.datetime64("2021-03-04"), datetime.date(2021, 3, 4)),
    ],
)
def test_dates_are_known_in_any_form(value):
    assert is_date(plain_label(value))


@pytest.mark.parametrize("value", [1, "relapse", "1.5", "T2 N0 M0", "10 mg"])
def test_other_labels_are_no_dates(value):
    assert not is_date(plain_label(value))


def test_bytes_that_are_no_text_stay_bytes_so_that_two_labels_stay_two():
    assert [plain_label(each) for each in (b"\xe4", b"\xf6")] == [b"\xe4", b"\xf6"]
    with pytest.raises(DataError, match=r"event must be .* as text; 1 of 2 are not .*\\xe4"):
        read_outcome({"event": [0, b"\xe4"], "duration": [1.0, 2.0]})
