"""Questions that wait are answered together, each in its own words; too many are refused."""

import asyncio
import threading

import numpy as np
import pytest
from fastapi.testclient import TestClient

from survtrace import DataError
from survtrace.app import create_app
from survtrace.app.answers.answers import Question
from survtrace.app.answers.limits import LimitError
from survtrace.app.service.queue import AnswerQueue, BusyError


@pytest.fixture(scope="module")
def answers(fitted_three):
    return create_app(fitted_three).state.service.answers


def ask_all(queue, questions):
    async def asked():
        tasks = [asyncio.ensure_future(queue.predict(each)) for each in questions]
        return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(asked())


def test_questions_of_one_moment_are_one_pass(answers, monkeypatch):
    queue, passes = AnswerQueue(answers, 5.0), []
    curve_of = answers.predictor.curve_of

    def counted(encoded, *args, **kwargs):
        passes.append(len(encoded.rows))
        return curve_of(encoded, *args, **kwargs)

    object.__setattr__(answers.predictor, "curve_of", counted)
    try:
        found = ask_all(queue, [Question([{"age": 50.0 + k}], [2.0]) for k in range(8)])
    finally:
        object.__delattr__(answers.predictor, "curve_of")
    assert passes == [8]
    alone = [answers.predict(Question([{"age": 50.0 + k}], [2.0])) for k in range(8)]
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.incidence, other.incidence, rtol=0, atol=1e-6)


def test_a_bad_question_and_an_odd_one_leave_the_others_alone(answers):
    good = Question([{"age": 61.0}], [2.0])
    odd = Question([{"sex": "x"}], [2.0])
    wrong = [Question([{"agee": 61.0}], [2.0]), Question([{"age": "old"}], [2.0]), Question([])]
    found = ask_all(AnswerQueue(answers, 5.0), [good, *wrong, odd, good])
    assert [type(each) for each in found[1:4]] == [DataError] * 3
    assert "there is no covariate 'agee'" in str(found[1])
    assert found[0].warnings == found[5].warnings == []
    assert "unseen token" in found[4].warnings[0]
    assert found[4].warnings == answers.predict(odd).warnings
    np.testing.assert_allclose(found[0].survival, answers.predict(good).survival, atol=1e-6)


def test_questions_with_other_times_levels_and_starts_get_their_own(answers):
    questions = [
        Question([{"age": 61.0}], [2.0]),
        Question([{"age": 61.0}, {"age": 70.0}], [1.0, 2.0]),
        Question([{"age": 61.0}], [2.0], 1.0),
        Question([{"age": 61.0}], None, 0.0, None),
    ]
    found = ask_all(AnswerQueue(answers, 5.0), questions)
    for question, answer in zip(questions, found, strict=True):
        alone = answers.predict(question)
        assert answer.times == alone.times
        np.testing.assert_allclose(answer.survival, alone.survival, atol=1e-6)


def test_more_than_may_wait_are_refused_and_the_others_answered(answers):
    queue = AnswerQueue(answers, 5.0, most=3)
    found = ask_all(queue, [Question([{"age": 61.0}], [2.0])] * 5)
    assert [isinstance(each, BusyError) for each in found] == [False] * 3 + [True] * 2
    assert queue.n_waiting == 0


def test_a_question_that_waited_too_long_is_told_so(answers):
    [found] = ask_all(AnswerQueue(answers, -1.0), [Question([{"age": 61.0}], [2.0])])
    assert isinstance(found, LimitError)
    assert found.status == 429


def test_the_client_of_a_full_queue_is_told_when_to_come_back(fitted_one):
    app = create_app(fitted_one, max_waiting=0)
    with TestClient(app) as client:
        answer = client.post("/predict", json={"subjects": [{}]})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200
    app.state.service.queue.most = 8
    with TestClient(app) as client:
        assert client.get("/ready").json()["status"] == "ready"
        app.state.service.is_stopping = True
        assert client.get("/ready").status_code == 503


def test_large_work_is_bounded_too_and_counted_off_when_done(answers):
    queue, release = AnswerQueue(answers, 5.0, most=8), threading.Event()

    async def asked():
        first = asyncio.ensure_future(queue.run(lambda: release.wait(5)))
        await asyncio.sleep(0)
        assert queue.n_waiting == 1
        with pytest.raises(BusyError, match="Try again in a second"):
            await queue.run(lambda: None)
        release.set()
        return await first

    assert asyncio.run(asked())
    assert queue.n_waiting == 0
    queue.close()


def test_a_fault_of_ours_reaches_everybody_who_waits(answers, monkeypatch):
    def broken(questions):
        raise ZeroDivisionError

    monkeypatch.setattr(answers, "predict_together", broken)
    found = ask_all(AnswerQueue(answers, 5.0), [Question([{}])] * 2)
    assert [type(each) for each in found] == [ZeroDivisionError] * 2
