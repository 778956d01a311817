"""A question is read by hand: what it must be, and the words for what it is not."""

import time

import pytest
from fastapi.testclient import TestClient

from survtrace.app import create_app
from survtrace.app.service.questions import FormError, read_question, read_subject


@pytest.fixture(scope="module")
def client(fitted_one):
    return TestClient(create_app(fitted_one, hosts=["testserver"]))


def test_a_question_is_read_with_its_defaults():
    question = read_question(b'{"subjects": [{"age": 61, "sex": null}]}')
    assert question.subjects == [{"age": 61, "sex": None}]
    assert (question.times, question.after, question.level) == (None, 0.0, 0.95)
    full = b'{"subjects": [], "times": [1, 2.5], "after": [3], "level": null}'
    assert vars(read_question(full)) == {
        "subjects": [],
        "times": [1.0, 2.5],
        "after": [3.0],
        "level": None,
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"subjects": [{"age": 61, "age": 16}]}', "the name 'age' occurs more than once"),
        (b'{"subjects": [], "subjects": [{}]}', "the name 'subjects' occurs more than once"),
        (b'{"subjects": [3]}', r"body\.subjects\.0: Input should be a valid dictionary"),
        (b'{"subjects": null}', r"body\.subjects: Input should be a valid list"),
        (b'{"subjects": [], "times": 3}', r"body\.times: Input should be a valid list"),
        (b'{"subjects": [], "times": [true]}', r"body\.times\.0: Input should be a valid number"),
        (b'{"subjects": [], "after": null}', r"body\.after: Input should be a valid number"),
        (b'{"subjects": [], "after": [null]}', r"body\.after\.0: Input should be a valid number"),
        (b'{"subjects": [], "level": 0}', r"body\.level: Input should be greater than 0"),
        (b'{"subjects": [], "level": 1}', r"body\.level: Input should be less than 1"),
        (b'{"subjects": [], "level": NaN}', r"body\.level: Input should be greater than 0"),
        (b"\xff\xfe\xff", r"body\.\d: JSON decode error"),
        (b'{"subjects": ' * 3000, "There was an error parsing the body|JSON decode error"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_question_is_refused_with_its_place(body, words):
    with pytest.raises(FormError, match=words):
        read_question(body)


def test_a_name_given_twice_among_very_many_is_found_at_once():
    names = ",".join(f'"{k:x}": 0' for k in range(50_000))
    began = time.process_time()
    with pytest.raises(FormError, match="the name 'c34f' occurs more than once"):
        read_question(f'{{"subjects": [{{{names}, "c34f": 1}}]}}'.encode())
    assert time.process_time() - began < 3


def test_one_subject_is_read_alike():
    assert read_subject(b'{"subject": {"age": 61}}') == {"age": 61}
    with pytest.raises(FormError, match=r"body\.subject: Input should be a valid dictionary"):
        read_subject(b'{"subject": []}')


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Encoding": "br"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Host": "evil.example"}, 400),
        ({"Host": ""}, 400),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "application/vnd.ward+json"}, 200),
    ],
    ids=str,
)
def test_heads_that_are_refused_are_refused_in_words_and_with_the_security_headers(
    client, headers, status
):
    body = b'{"subjects": [{}], "times": [1]}'
    given = {"Content-Type": "application/json", **headers}
    answer = client.post("/predict", content=body, headers=given)
    assert answer.status_code == status
    assert ("detail" in answer.json()) == (status != 200)
    for name in ("content-security-policy", "x-content-type-options", "x-frame-options"):
        assert name in answer.headers


def test_one_subject_at_many_times_is_refused_before_it_is_computed(client):
    answer = client.post("/predict", json={"subjects": [{}], "times": [1.0] * 300_000})
    assert answer.status_code == 413
    assert "at most 1000 times; got 300000" in answer.json()["detail"]
    answer = client.post("/score", content=b"age\n61\n", params={"times": [*range(1001)]})
    assert answer.status_code == 413


def test_a_path_with_a_slash_too_many_is_not_redirected(client):
    assert client.get("/schema/", follow_redirects=False).status_code == 404
