"""Who may ask, how much, and how long: refused early, in words, and never with a 5xx."""

import asyncio
import threading
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

from survtrace.app import create_app
from survtrace.app.answers.limits import LimitError, Limits
from survtrace.app.service.guard import RequestGuard
from survtrace.app.service.metrics import Metrics
from survtrace.app.service.queue import AnswerQueue
from survtrace.app.service.record import Recorder

GUARDED = {"/schema": "get", "/importance": "get", "/predict": "post", "/attention": "post"}


@pytest.fixture(scope="module")
def narrow(fitted_one):
    """A client of an app that allows little."""
    return TestClient(create_app(fitted_one, max_rows=5, max_bytes=2000, max_numbers=40))


@pytest.fixture(scope="module")
def locked(fitted_one):
    """A client of an app with a token."""
    return TestClient(create_app(fitted_one, token="s3cret"))


def test_too_many_subjects_are_refused(narrow):
    assert narrow.post("/predict", json={"subjects": [{}] * 5}).status_code == 200
    answer = narrow.post("/predict", json={"subjects": [{}] * 6})
    assert answer.status_code == 413
    assert "at most 5 subjects; got 6" in answer.json()["detail"]
    answer = narrow.post("/score", content=b"age\n" + b"61\n" * 100)
    assert answer.status_code == 413
    assert "at most 5 subjects" in answer.json()["detail"]


def test_a_too_long_answer_is_refused_before_it_is_computed(narrow):
    answer = narrow.post("/predict", json={"subjects": [{}] * 5, "times": [1, 2, 3, 4, 5]})
    assert answer.status_code == 413
    assert "5 subjects x 5 times x 2 states are 50" in answer.json()["detail"]


def test_what_is_too_large_does_not_wait_for_its_turn(fitted_one, monkeypatch):
    app = create_app(fitted_one, max_rows=5)
    monkeypatch.setattr(app.state.service.queue, "predict", None)
    answer = TestClient(app).post("/predict", json={"subjects": [{}] * 6})
    assert (answer.status_code, answer.json()["detail"][:35]) == (
        413,
        "one request takes at most 5 subject",
    )


def test_a_request_that_was_read_to_its_end_is_refused_without_waiting_for_more(
    narrow, monkeypatch
):
    async def drain(*_):
        raise AssertionError("waits for what will never come")

    monkeypatch.setattr(RequestGuard, "_drain", drain)
    assert narrow.post("/predict", json={"subjects": [{}] * 6}).status_code == 413
    assert narrow.post("/score", content=b"age\n" + b"61\n" * 100).status_code == 413


def test_a_too_large_request_is_refused_announced_or_not(narrow):
    def parts():
        for _ in range(30):
            yield b"a" * 100

    for content in (b"a" * 2001, parts()):
        answer = narrow.post("/score", content=content)
        assert answer.status_code == 413
        assert "at most 2000 bytes" in answer.json()["detail"]
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}], ids=str
)
def test_without_the_token_nothing_is_told_or_read(locked, header):
    for path, method in GUARDED.items():
        answer = getattr(locked, method)(path, headers=header)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer" in answer.json()["detail"]
    assert locked.post("/score", content=b"a" * 10**8, headers=header).status_code == 401
    assert locked.get("/health").status_code == 200
    assert locked.get("/").status_code == 200


def test_with_the_token_everything_is_open(locked):
    header = {"Authorization": "Bearer s3cret"}
    assert locked.get("/schema", headers=header).status_code == 200
    assert locked.post("/predict", json={"subjects": [{}]}, headers=header).status_code == 200


def test_only_names_of_this_machine_may_be_called(fitted_one):
    client = TestClient(create_app(fitted_one, hosts=["127.0.0.1"]), base_url="http://127.0.0.1")
    assert client.get("/health").status_code == 200
    assert client.get("/health", headers={"Host": "evil.example"}).status_code == 400


def test_work_that_takes_too_long_is_told_of_and_work_not_begun_is_dropped():
    worker, done = AnswerQueue(None, seconds=0.1), []
    release = threading.Event()

    async def ask():
        first = asyncio.create_task(worker.run(lambda: release.wait(5)))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(worker.run(lambda: done.append("second")))
        return await asyncio.gather(first, second, return_exceptions=True)

    answers = asyncio.run(ask())
    release.set()
    worker.thread.shutdown(wait=True)
    assert [type(answer) for answer in answers] == [LimitError, LimitError]
    assert answers[0].status == 429
    assert "at most 0.1 seconds" in str(answers[0])
    assert done == []


def test_a_request_that_dribbles_in_is_ended():
    sent = []

    async def never_ends():
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"a", "more_body": True}

    async def send(message):
        sent.append(message)

    door = RequestGuard(None, Limits(seconds=0.1), Recorder(Metrics()))
    scope = {"type": "http", "path": "/score", "headers": [], "method": "POST"}
    began = time.perf_counter()
    asyncio.run(door(scope, never_ends, send))
    assert time.perf_counter() - began < 2
    assert sent[0]["status"] == 408


def test_questions_side_by_side_get_their_own_answers(client, fitted_three):
    answers = {}

    def ask(age):
        answers[age] = client.post("/predict", json={"subjects": [{"age": age}]}).json()

    threads = [threading.Thread(target=ask, args=(age,)) for age in range(45, 61)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for age, answer in answers.items():
        alone = client.post("/predict", json={"subjects": [{"age": age}]}).json()
        np.testing.assert_allclose(answer["incidence"], alone["incidence"], rtol=0, atol=1e-6)
