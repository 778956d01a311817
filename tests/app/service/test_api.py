"""The API says what the estimator says, in the same words where something is wrong."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from survtrace import DataError, DataWarning, SettingError, SurvTRACE
from survtrace.app import create_app
from survtrace.explain import attention_rollout

TIMES = [0.0, 0.5, 2.0, 6.0]


def subjects(X):
    return json.loads(X.to_json(orient="records"))


def ask(client, body, path="/predict"):
    """Post a body that a client's own JSON writer would refuse."""
    return client.post(path, content=body, headers={"Content-Type": "application/json"})


def test_answers_are_those_of_the_estimator(client, fitted_three, three_causes):
    X = three_causes[0].head(40)
    answer = client.post("/predict", json={"subjects": subjects(X), "times": TIMES}).json()
    survival = fitted_three.predict_survival_function(X, TIMES, return_std=True)
    incidence = fitted_three.predict_cumulative_incidence(X, TIMES, return_std=True)
    for name, expected in {
        "survival": survival[0],
        "survival_std": survival[1],
        "incidence": incidence[0],
        "incidence_std": incidence[1],
    }.items():
        np.testing.assert_allclose(answer[name], expected, rtol=0, atol=1e-6, err_msg=name)
    assert answer["times"] == TIMES
    assert answer["causes"] == ["1", "2", "3"]
    assert answer["warnings"] == []


values = st.none() | st.floats(-1e6, 1e6) | st.text(max_size=5) | st.booleans() | st.integers()


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "age": st.none() | st.floats(-1e4, 1e4),
                "size": st.none() | st.integers(-1000, 1000),
                "sex": values,
                "stage": values,
            },
        ),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.floats(0, 50), min_size=1, max_size=4),
)
def test_survival_and_incidences_sum_to_1_for_whatever_is_asked(client, asked, times):
    answer = client.post("/predict", json={"subjects": asked, "times": times})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    states = np.array(found["survival"])[:, None] + np.array(found["incidence"]).sum(1)[:, None]
    np.testing.assert_allclose(states, 1, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("agee", "there is no covariate 'agee'; did you mean 'age'? The covariates are ['age',"),
        ("AGE", "there is no covariate 'AGE'; did you mean 'age'?"),
        ("shoe", "there is no covariate 'shoe'; leave it out."),
    ],
)
def test_a_misspelt_covariate_is_an_error(client, name, words):
    for path, body in (
        ("/predict", {"subjects": [{name: 61}]}),
        ("/attention", {"subject": {name: 1}}),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert words in answer.json()["detail"]


@pytest.mark.parametrize("name", ["agee", "AGE", " age"])
def test_a_misspelt_column_is_an_error(client, name):
    answer = client.post("/score", content=f"{name},size,sex,stage\n61,3,f,I\n".encode())
    assert answer.status_code == 422
    assert f"the table has no column 'age'; is {name!r} meant?" in answer.json()["detail"]


def test_times_are_by_default_the_grid(client, fitted_three):
    answer = client.post("/predict", json={"subjects": [{}]}).json()
    assert answer["times"] == fitted_three.time_grid_.tolist()


def test_a_covariate_left_out_null_or_not_a_number_is_unknown(client, fitted_three):
    left_out, null = [{"sex": "f"}], [{"age": None, "size": None, "sex": "f", "stage": None}]
    answers = [client.post("/predict", json={"subjects": s}).json() for s in (left_out, null)]
    answers.append(ask(client, '{"subjects": [{"sex": "f", "age": NaN}]}').json())
    X = pd.DataFrame({"age": [np.nan], "size": [np.nan], "sex": ["f"], "stage": [None]})
    expected = fitted_three.predict_survival_function(X)
    for answer in answers:
        assert answer["warnings"] == []
        np.testing.assert_allclose(answer["survival"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("subject", "times", "words"),
    [
        ({"sex": "x"}, [1], "categories not seen in fit get the unseen token"),
        ({}, [1e6], "1 of 1 times lie beyond the grid"),
    ],
    ids=["unseen level", "late"],
)
def test_what_the_library_warns_of_is_in_the_answer(client, fitted_three, subject, times, words):
    X = pd.DataFrame([{"age": None, "size": None, "sex": None, "stage": None, **subject}])
    with pytest.warns(DataWarning, match=words) as caught:
        fitted_three.predict_survival_function(X, times)
    answer = client.post("/predict", json={"subjects": [subject], "times": times}).json()
    assert answer["warnings"] == [str(caught[0].message)]


def test_the_future_of_those_event_free_until_a_time(client, fitted_three):
    question = {"subjects": [{"age": 61}], "times": [2.0, 6.0], "after": 3.0}
    answer = client.post("/predict", json=question).json()
    X = pd.DataFrame({"age": [61.0], "size": [np.nan], "sex": [None], "stage": [None]})
    survival = fitted_three.predict_survival_function(X, [2.0, 6.0], conditional_after=3.0)
    np.testing.assert_allclose(answer["survival"], survival, atol=1e-6)
    incidence = np.array(answer["incidence"])
    np.testing.assert_allclose(answer["survival"] + incidence.sum(axis=1), 1)
    late = client.post("/predict", json={**question, "after": 1e6})
    assert "after must lie between 0 and" in late.json()["detail"]


def test_each_subject_may_have_a_time_of_its_own(fitted_by_age):
    with TestClient(create_app(fitted_by_age)) as client:
        question = {"subjects": [{"size": 3}] * 2, "times": [70.0, 75.0], "after": [58.0, 70.0]}
        answer = client.post("/predict", json=question).json()
        X = pd.DataFrame({"size": [3.0, 3.0], "sex": [None] * 2, "stage": [None] * 2})
        expected = fitted_by_age.predict_survival_function(
            X, question["times"], conditional_after=question["after"]
        )
        np.testing.assert_allclose(answer["survival"], expected, atol=1e-6)
        assert answer["survival"][1][0] == 1
        three = client.post("/predict", json={**question, "after": [58.0, 60.0, 62.0]})
        assert "one for each of the 2 subjects; got 3" in three.json()["detail"]
        early = client.post("/predict", json={**question, "after": 40.0})
        assert "after must lie between 50 and" in early.json()["detail"]


def test_values_far_from_the_training_rows_are_told_of(client):
    answer = client.post("/predict", json={"subjects": [{"age": 61}, {"age": 140}]}).json()
    [words] = answer["warnings"]
    assert words.startswith("age lies outside")
    assert "for 1 of 2 subject(s): nearly all training rows are inside" in words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"subjects": []}, "X must have at least one subject; got 0 sample"),
        ({"subjects": [{"age": "old"}]}, "column 'age' is numerical; 1 of 1 values"),
        ({"subjects": [{}], "times": [-1]}, "times must be a flat sequence of numbers of zero or"),
        ({"subjects": [{"age": [61]}]}, "body.subjects.0.age: a covariate is one value a row"),
        ({"subjects": [{"sex": {"at birth": "f"}}]}, "a covariate is one value a row"),
        ({"subjects": [{"age": 1e30}]}, "column 'age' has 1 of 1 values beyond (first: row 0"),
        ({"subjects": [{"age": 1e15}]}, "numerical covariates must be of the size seen in fit"),
        ({"subject": [{}]}, "body.subjects: Field required"),
        ({"subjects": [{}], "time": [1]}, "body.time: Extra inputs are not permitted"),
        ({"subjects": [{}], "times": ["12"]}, "body.times.0: Input should be a valid number"),
        ({"subjects": "age"}, "Input should be a valid list"),
        ([], "openapi.json describes; body: Input should be"),
    ],
    ids=str,
)
def test_a_wrong_question_is_refused_in_words(client, question, words):
    answer = client.post("/predict", json=question)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ('{"subjects": [{"age": Infinity}]}', 422, "numerical covariates must be finite"),
        ('{"subjects": [{"age": 1e999}]}', 422, "numerical covariates must be finite"),
        ('{"subjects": [{"age": 1%s}]}' % ("0" * 400), 422, "covariates must be finite"),
        ('{"subjects": [{}], "times": [Infinity]}', 422, "times must be finite"),
        ('{"subjects": [{}], "times": [NaN]}', 422, "times must be a flat sequence"),
        ('{"subjects": [{"\\ud800": 1, "age": 61}]}', 422, "there is no covariate"),
        ('{"subjects": [{"age": "\\ud800"}]}', 422, "column 'age' is numerical"),
        ('{"subjects": [{"age": 1%s}]}' % ("0" * 5000), 400, "error parsing the body"),
        ("[" * 100_000, 400, "error parsing the body"),
        ('{"subjects": [', 422, "JSON decode error"),
        ("", 422, "Field required"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_hardly_json_is_refused_and_never_breaks_the_server(client, body, status, words):
    answer = ask(client, body)
    assert answer.status_code == status
    assert words in answer.json()["detail"]


LONG = json.dumps("a" * 9000)


@pytest.mark.parametrize(
    "value", ['"\\ud800"', "1" + "0" * 300, "true", "-0.5", LONG], ids=range(5)
)
def test_any_level_not_seen_in_fit_gets_the_unseen_token(client, value):
    answer = ask(client, f'{{"subjects": [{{"sex": {value}}}]}}')
    assert answer.status_code == 200
    assert "unseen token" in answer.json()["warnings"][0]


def test_a_level_beyond_what_a_number_can_hold_is_refused_as_infinite(client):
    answer = ask(client, '{"subjects": [{"sex": 1%s}]}' % ("0" * 4000))
    assert answer.status_code == 422
    assert "texts or finite numbers" in answer.json()["detail"]


def test_attention_is_the_rolled_up_one_with_names(client, fitted_three, three_causes):
    X = three_causes[0].head(1)
    answer = client.post("/attention", json={"subject": subjects(X)[0]}).json()
    assert answer["covariates"] == list(fitted_three.feature_names_in_)
    expected = attention_rollout(fitted_three.attention(X))[0]
    np.testing.assert_allclose(answer["attention"], expected, atol=1e-6)
    np.testing.assert_allclose(np.sum(answer["attention"], axis=1), 1)


def test_attention_refuses_in_words(client):
    answer = client.post("/attention", json={"subject": {"age": 1e30}})
    assert (answer.status_code, "values beyond" in answer.json()["detail"]) == (422, True)

    answer = client.post("/attention", json={"subjects": []})
    assert 'Send for example {"subject"' in answer.json()["detail"]


def test_importance_comes_from_the_file(client, importance_file):
    rows = client.get("/importance").json()
    table = pd.read_csv(importance_file)
    assert [row["covariate"] for row in rows] == table["covariate"].tolist()
    assert rows[0]["low"] is None
    assert rows[1] == {"cause": "1", "covariate": "size", "importance": 0.05, "low": 0, "high": 0.2}


def test_without_a_file_importance_is_not_found_in_words(fitted_one):
    answer = TestClient(create_app(fitted_one)).get("/importance")
    assert answer.status_code == 404
    assert "survtrace explain" in answer.json()["detail"]


def test_a_file_that_holds_no_importances_is_refused(fitted_one, tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("cause,covariate\n1,age\n")
    with pytest.raises(DataError, match=r"lacks \['importance', 'low', 'high'\]"):
        create_app(fitted_one, importance=path)
    path.write_text("cause,covariate,importance,low,high\n1,age,much,0,1\n")
    with pytest.raises(DataError, match="importances that are no numbers"):
        create_app(fitted_one, importance=path)


def test_the_schema_says_what_a_form_needs(client, fitted_three):
    schema = client.get("/schema").json()
    assert schema["causes"] == ["1", "2", "3"]
    assert schema["covariates"][0]["unit"] == "years"
    assert schema["time"] == {
        "unit": "months",
        "name": "time",
        "start": 0.0,
        "end": fitted_three.time_grid_[-1],
        "median": fitted_three.median_event_time_,
        **dict.fromkeys(("now", "step", "ahead")),
    }
    assert (schema["members"], schema["importance"]) == (2, True)


def test_health_the_page_and_the_description_are_there(client):
    assert client.get("/health").json()["status"] == "ok"
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name, kind in {"app.js": "javascript", "style.css": "text/css"}.items():
        assert kind in client.get(f"/page/{name}").headers["content-type"]
    paths = client.get("/openapi.json").json()["paths"]
    asked = {"/schema", "/predict", "/attention", "/importance", "/score"}
    assert set(paths) == asked | {"/health", "/ready", "/metrics"}
    assert client.get("/docs").status_code == 404


def test_who_asks_only_whether_it_runs_gets_no_body(client):
    for path in ("/", "/health", "/ready"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/predictt", 404, "nothing at this address; /openapi.json describes what there is"),
        ("GET", "/page/none.js", 404, "nothing at this address"),
        ("GET", "/predict", 405, "this address takes POST, not GET"),
        ("POST", "/health", 405, "this address takes GET, not POST"),
        ("POST", "/page/app.js", 405, "this address takes GET, HEAD, not POST"),
    ],
)
def test_a_wrong_address_or_method_is_told_the_right_one(client, method, path, status, words):
    answer = client.request(method, path)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert (status == 405) == ("allow" in answer.headers)


def test_every_answer_forbids_keeping_sniffing_and_loading_from_elsewhere(client):
    for path in ("/", "/health", "/schema", "/page/app.js", "/nowhere", "/page/../api.py"):
        headers = client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'self'")


def test_an_unfitted_estimator_is_refused(tiny):
    from sklearn.exceptions import NotFittedError

    from survtrace import SurvTRACE

    with pytest.raises(NotFittedError):
        create_app(SurvTRACE(**tiny))


@pytest.mark.parametrize("token", ["", "two words", "clé", "line\nbreak"])
def test_a_token_no_header_can_carry_is_refused(fitted_one, token):
    with pytest.raises(SettingError, match="token must be printable ASCII"):
        create_app(fitted_one, token=token)


# --- A table of subjects ---------------------------------------------------------------------


def score(client, text, **params):
    content = text if isinstance(text, bytes) else text.encode()
    return client.post("/score", content=content, params=params)


def test_a_scored_table_has_the_probabilities_beside_its_own_columns(
    client, fitted_three, three_causes
):
    X = three_causes[0].head(30)
    answer = score(client, X.to_csv(index=False), times=[2.0, 6.0])
    assert answer.headers["content-type"].startswith("text/csv")
    table = pd.read_csv(io.StringIO(answer.text))
    assert list(table.columns[:4]) == list(X.columns)
    survival = fitted_three.predict_survival_function(X, [2.0, 6.0])
    np.testing.assert_allclose(table[["survival_2", "survival_6"]], survival, atol=1e-6)
    incidence = fitted_three.predict_cumulative_incidence(X, [6.0])[:, :, 0]
    np.testing.assert_allclose(table[[f"incidence_{k}_6" for k in (1, 2, 3)]], incidence, atol=1e-6)


def test_other_columns_are_handed_back_as_the_text_they_were(client):
    answer = score(client, 'id,age,note\n007,61,"a, ""b"""\n1e5,62,\n', times=3)
    table = pd.read_csv(io.StringIO(answer.text), dtype=str, keep_default_na=False)
    assert table["id"].tolist() == ["007", "1e5"]
    assert table["note"].tolist() == ['a, "b"', ""]
    told = json.loads(answer.headers["survtrace-warnings"])
    assert "unknown: ['size', 'sex', 'stage']" in told[0]
    assert "ignored: ['id', 'note']" in told[1]


def test_the_time_is_by_default_the_median_event_time(client, fitted_three):
    header = score(client, "age\n61\n").text.splitlines()[0]
    assert header.startswith(f"age,survival_{fitted_three.median_event_time_!r},incidence_1_")


def test_a_long_table_is_handed_back_whole(client):
    lines = score(client, "age\n" + "61\n" * 2500).text.splitlines()
    assert len(lines) == 2501
    found = np.array([line.split(",") for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(found, found[:1].repeat(2500, axis=0), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "could not be read as CSV"),
        (b"\xff\xfe\x00", "could not be read as CSV in UTF-8"),
        ("age\n", "X must have at least one subject"),
        ("weight,height\n1,2\n", "it has none of ['age', 'size', 'sex', 'stage']"),
        ("age,age\n1,2\n", "column names must differ; ['age'] occur more than once"),
        ("age\nold\n", "column 'age' is numerical"),
        ("age,sex\n61,f,3\n", "could not be read as CSV"),
        ('age\n"61', "could not be read as CSV"),
        ("," * 5000, "a table may have 2000 columns"),
        ('"%s"\n' % ("a" * 200_000), "could not be read as CSV"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_table_that_cannot_be_scored_is_refused_in_words(client, text, words):
    answer = score(client, text)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


@pytest.mark.parametrize("times", ["soon", "nan", "-1", "inf"])
def test_times_of_a_table_are_checked(client, times):
    answer = score(client, "age\n61\n", times=times)
    assert answer.status_code == 422
    assert "times" in answer.json()["detail"]


@given(st.binary(max_size=200) | st.text("age,sizx\n\"';=1.5-\x00é", max_size=80).map(str.encode))
def test_no_bytes_break_the_server(client, content):
    assert score(client, content).status_code in (200, 422)


def test_one_member_has_no_deviation(one_cause, tiny):
    est = SurvTRACE(**{**tiny, "n_members": 1, "max_epochs": 1}).fit(*one_cause)
    with TestClient(create_app(est)) as alone:
        answer = alone.post("/predict", json={"subjects": [{"age": 61}], "times": [1, 2]}).json()
    assert answer["survival_std"] == [[None, None]]
    assert answer["incidence_std"] == [[[None, None]]]
