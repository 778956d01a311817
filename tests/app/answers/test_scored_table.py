"""A scored table keeps the cells it had, reads codes as text, and answers for whom it can."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from survtrace import DataError, SurvTRACE
from survtrace.app import create_app
from survtrace.app.answers.limits import LimitError, Limits
from survtrace.app.answers.scored_table import read_csv


def score(client, text, **params):
    return client.post("/score", content=text.encode(), params=params)


def table_of(answer):
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.fixture(scope="module")
def coded(one_cause, tiny):
    """A client of an estimator whose ward is a code with zeros before it, and grade a number."""
    X, y = one_cause
    rng = np.random.default_rng(0)
    X = X[["age"]].assign(
        ward=rng.choice(["01", "02", "10"], len(X)), grade=rng.integers(1, 4, len(X))
    )
    est = SurvTRACE(**{**tiny, "categorical": ["ward", "grade"]}).fit(X, y)
    with TestClient(create_app(est)) as client:
        yield client


def test_a_code_with_a_zero_before_it_is_the_category_it_was(coded):
    answer = score(coded, "age,ward,grade\n61,01,1\n61,02,2\n", times=2)
    assert json.loads(answer.headers["survtrace-warnings"]) == []
    by_json = coded.post(
        "/predict", json={"subjects": [{"age": 61, "ward": "01", "grade": 1}], "times": [2]}
    ).json()
    found = table_of(answer)
    assert float(found[0]["survival_2"]) == pytest.approx(by_json["survival"][0][0], abs=1e-6)
    assert found[0]["ward"] == "01"


@pytest.mark.parametrize("cell", ["2", "2.0", " 2", "02"])
def test_a_number_that_is_a_category_may_be_written_otherwise(coded, cell):
    found = table_of(score(coded, f"age,ward,grade\n61,01,2\n61,01,{cell}\n", times=2))
    assert float(found[0]["survival_2"]) == pytest.approx(float(found[1]["survival_2"]), abs=1e-6)


def test_a_category_never_seen_is_warned_of(coded):
    answer = score(coded, "age,ward,grade\n61,1,1\n", times=2)
    assert "unseen token" in json.loads(answer.headers["survtrace-warnings"])[0]


@pytest.mark.parametrize("cell", ["", "NA", "nan", "unknown"])
def test_an_empty_cell_is_unknown(client, cell):
    empty = score(client, f"age,size,sex,stage\n{cell},3,f,I\n", times=2)
    assert json.loads(empty.headers["survtrace-warnings"]) == []
    by_json = client.post(
        "/predict", json={"subjects": [{"size": 3, "sex": "f", "stage": "I"}], "times": [2]}
    ).json()
    [row] = table_of(empty)
    assert float(row["survival_2"]) == pytest.approx(by_json["survival"][0][0], abs=1e-6)


def test_cells_of_the_table_come_back_as_they_were_formulas_and_all(client):
    cells = ["=1+1", "+3", "-3", "@x", "<b>", "0x10", '"', "a,b", " ", "1_000"]
    text = io.StringIO()
    csv.writer(text).writerows([["age", "note"], *([61, cell] for cell in cells)])
    found = table_of(score(client, text.getvalue(), times=2))
    assert [row["note"] for row in found] == cells
    added = [name for name in found[0] if name not in ("age", "note")]
    assert all(name.startswith(("survival_", "incidence_")) for name in added)


def test_a_table_that_has_been_scored_is_not_scored_again_into_the_same_columns(client):
    first = score(client, "age\n61\n", times=2).text
    again = score(client, first, times=2)
    assert again.status_code == 422
    assert "already has columns named ['survival_2'" in again.json()["detail"]
    assert score(client, first, times=3).status_code == 200


def test_a_subject_beyond_the_last_time_has_empty_cells_and_the_others_are_answered(fitted_by_age):
    table = "size,sex,stage,age_now\n3,f,I,58\n3,f,I,999\n3,m,II,60\n"
    with TestClient(create_app(fitted_by_age)) as client:
        answer = score(client, table, after="age_now", ahead=5)
        rows = table_of(answer)
        alone = table_of(score(client, table.replace("3,f,I,999\n", ""), after="age_now", ahead=5))
        every = score(client, "size,age_now\n3,999\n3,10\n", after="age_now", ahead=5)
    assert [row["survival_+5"] == "" for row in rows] == [False, True, False]
    assert rows[1]["incidence_1_+5"] == ""
    for row, other in zip((rows[0], rows[2]), alone, strict=True):
        assert float(row["survival_+5"]) == pytest.approx(float(other["survival_+5"]), abs=1e-6)
    [words] = json.loads(answer.headers["survtrace-warnings"])
    assert words.startswith("1 of 3 rows have a time in column 'age_now' that does not lie between")
    assert "(first: row 1, 999); their cells are left empty." in words
    assert every.status_code == 422
    assert "2 of 2 rows have a time" in every.json()["detail"]


@pytest.mark.filterwarnings("ignore::survtrace.DataWarning")  # of the fit
def test_texts_of_a_numerical_covariate_follow_its_own_rules(one_cause, tiny):
    X, y = one_cause
    text = X.assign(age=X["age"].map(lambda age: f"{age:.1f}".replace(".", ",")))
    with TestClient(create_app(SurvTRACE(**tiny).fit(text, y))) as client:
        found = table_of(score(client, 'age\n"61,5"\n61.5\n', times=2))
    assert float(found[0]["survival_2"]) == pytest.approx(float(found[1]["survival_2"]), abs=1e-6)


def test_rows_are_read_as_text_and_short_ones_filled():
    table = read_csv(b'\xef\xbb\xbfid,"a ""b"""\r\n007,"x\ny"\r\n8\r\n\r\n', Limits())
    assert table.names == ["id", 'a "b"']
    assert table.rows == [["007", "x\ny"], ["8", ""]]


def test_more_rows_than_allowed_are_not_read_to_the_end():
    with pytest.raises(LimitError, match="at most 2 subjects; got 3"):
        read_csv(b"age\n" + b"61\n" * 100_000, Limits(rows=2))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,a\n1,2\n", r"column names must differ; \['a'\] occur more than once"),
        (b"a\n1,2\n", "line 2 has 2 cells, and the first line 1"),
        (b'a\n"1', "could not be read as CSV"),
        (b"a\n\xff\n", "could not be read as CSV in UTF-8"),
        (b"\n", "it has no column names"),
    ],
)
def test_what_is_no_table_is_refused(content, words):
    with pytest.raises(DataError, match=words):
        read_csv(content, Limits())


def test_numbers_agree_with_those_that_pandas_reads(client, three_causes):
    X = three_causes[0].head(50)
    rows = json.loads(X.to_json(orient="records"))
    by_json = client.post("/predict", json={"subjects": rows, "times": [2.0]}).json()
    found = pd.DataFrame(table_of(score(client, X.to_csv(index=False), times=2)))
    np.testing.assert_allclose(
        found["survival_2"].astype(float), np.ravel(by_json["survival"]), rtol=0, atol=1e-6
    )


def test_a_digit_of_another_script_is_no_number_here_either(coded):
    answer = score(coded, "age,ward,grade\n\u0666\u0661,01,1\n", times=2)
    assert answer.status_code == 422
    assert "is no number" in answer.json()["detail"]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_table_with_semicolons_is_told_to_have_commas(coded, mark):
    answer = score(coded, f"age{mark}ward\n61,5{mark}01\n", times=2)
    assert answer.status_code == 422
    words = f"cells must be separated by commas; the first line has {mark!r}"
    assert words in answer.json()["detail"]
