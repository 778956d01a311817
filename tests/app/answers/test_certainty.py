"""Intervals and typicality in an answer are the estimator's own, or null where it has none."""

import json

import numpy as np
import pytest
from fastapi.testclient import TestClient

from survtrace import SurvTRACE
from survtrace.app import create_app

TIMES = [0.5, 2.0, 6.0]


@pytest.fixture(scope="module")
def fitted(three_causes, tiny):
    return SurvTRACE(**{**tiny, "intervals": True}).fit(*three_causes)


@pytest.fixture(scope="module")
def client(fitted):
    with TestClient(create_app(fitted)) as client:
        yield client


def subjects(X):
    return json.loads(X.to_json(orient="records"))


@pytest.mark.parametrize("after", [0.0, 1.5], ids=["from 0", "later"])
def test_ends_of_an_interval_are_those_of_predict_interval(client, fitted, three_causes, after):
    X = three_causes[0].head(30)
    question = {"subjects": subjects(X), "times": TIMES, "level": 0.8, "after": after}
    answer = client.post("/predict", json=question).json()
    assert answer["interval"]["level"] == 0.8
    for kind in ("survival", "incidence"):
        ends = fitted.predict_interval(X, TIMES, kind=kind, level=0.8, conditional_after=after)
        for name, end in zip(("low", "high"), ends, strict=True):
            np.testing.assert_allclose(answer["interval"][f"{kind}_{name}"], end, atol=1e-6)
        assert (np.array(answer["interval"][f"{kind}_low"]) <= answer[kind]).all()
        assert (np.array(answer["interval"][f"{kind}_high"]) >= answer[kind]).all()


def test_the_level_is_95_per_cent_unless_asked_for_and_null_gives_none(client):
    question = {"subjects": [{"age": 61}], "times": TIMES}
    assert client.post("/predict", json=question).json()["interval"]["level"] == 0.95
    assert client.post("/predict", json={**question, "level": None}).json()["interval"] is None
    refused = client.post("/predict", json={**question, "level": 95})
    assert refused.status_code == 422
    assert "level" in refused.json()["detail"]


def test_who_is_unlike_is_told_with_the_covariates_that_make_it_so(client, fitted, three_causes):
    X = three_causes[0].head(20).copy()
    X.loc[X.index[3], "size"] = 1e4
    answer = client.post("/predict", json={"subjects": subjects(X), "times": TIMES}).json()
    found = answer["typicality"]
    shares, reasons = fitted.typicality(X, reasons=True)
    np.testing.assert_allclose([each["share"] for each in found], shares)
    assert [each["unlike"] for each in found] == (shares < 0.01).tolist()
    assert found[3] == {"share": shares[3], "unlike": True, "because": list(reasons[3])}
    assert "size" in found[3]["because"]
    assert all(not each["because"] for each in found if not each["unlike"])


def test_the_warning_of_the_library_is_in_the_answer_too(client):
    odd = {"subjects": [{"size": 1e4}], "times": TIMES}
    [words] = [w for w in client.post("/predict", json=odd).json()["warnings"] if "unlike" in w]
    assert "unlike the patients learned from" in words  # the page says it in words of its own


def test_both_are_null_where_the_estimator_knows_none(fitted, monkeypatch):
    monkeypatch.setattr(fitted, "interval_", None)
    monkeypatch.setattr(fitted, "typicality_", None)
    client = TestClient(create_app(fitted))
    answer = client.post("/predict", json={"subjects": [{"age": 61}], "times": TIMES}).json()
    assert (answer["interval"], answer["typicality"]) == (None, None)
    assert client.get("/schema").json()["intervals"] is False
