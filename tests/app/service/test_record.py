"""What is counted and logged has routes and numbers, and nothing that was sent."""

import pytest
from fastapi.testclient import TestClient

from survtrace import SettingError
from survtrace.app import create_app
from survtrace.app.service.metrics import BUCKETS, Metrics

NAMES = ("Smith", "61.25", "Jones", "secret", "nowhere")


@pytest.fixture
def logged(fitted_one, tmp_path):
    """A client, and where its requests are logged."""
    log = tmp_path / "access.log"
    with TestClient(create_app(fitted_one, log=log, token="secret")) as client:
        client.headers["Authorization"] = "Bearer secret"
        yield client, log


def ask_much(client):
    client.post("/predict", json={"subjects": [{"age": 61.25, "sex": "Smith"}], "times": [1]})
    client.post("/predict", json={"subjects": [{"Jones": 1}]})
    client.post("/score?after=Smith", content=b"age,name\n61.25,Jones\n")
    client.get("/nowhere/Smith?name=Jones", headers={"User-Agent": "Smith"})
    client.request("SMITH", "/health")


def test_a_line_of_the_log_has_time_route_status_and_milliseconds(logged):
    client, log = logged
    ask_much(client)
    lines = [line.split() for line in log.read_text().splitlines()]
    assert [(verb, route, int(status)) for _, verb, route, status, *_ in lines] == [
        ("POST", "/predict", 200),
        ("POST", "/predict", 422),
        ("POST", "/score", 422),
        ("GET", "other", 404),
        ("other", "/health", 405),
    ]
    assert all(line[-1] == "ms" for line in lines)


def test_neither_log_nor_metrics_know_what_was_sent(logged, capfd):
    client, log = logged
    ask_much(client)
    shown = log.read_text() + client.get("/metrics").text + "".join(capfd.readouterr())
    assert not [name for name in NAMES if name in shown]


def test_metrics_count_requests_subjects_and_seconds(logged):
    client, _ = logged
    client.post("/predict", json={"subjects": [{}] * 3})
    client.post("/predict", json={"subjects": 3})
    text = client.get("/metrics").text
    assert 'survtrace_requests_total{route="/predict",status="200"} 1\n' in text
    assert 'survtrace_requests_total{route="/predict",status="422"} 1\n' in text
    assert "survtrace_subjects_total 3\n" in text
    assert 'survtrace_request_seconds_count{route="/predict"} 2\n' in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rsplit(" ", 1)[1]) >= 0


def test_a_part_of_a_file_of_the_page_is_counted_as_answered(logged):
    client, _ = logged
    for part in ("0-10", "10000000-"):
        client.get("/page/app.js", headers={"Range": f"bytes={part}"})
    text = client.get("/metrics").text
    assert 'survtrace_requests_total{route="/page",status="206"} 1' in text
    assert 'survtrace_requests_total{route="/page",status="416"} 1' in text


def test_processes_count_in_rows_of_their_own_and_are_summed():
    metrics = Metrics(2)
    for worker in range(2):
        metrics.use_row(worker)
        metrics.count("/predict", 200, 0.003)
    metrics.count("/predict", 418, 99.0)
    lines = metrics.text().splitlines()
    assert 'survtrace_requests_total{route="/predict",status="200"} 2' in lines
    assert 'survtrace_requests_total{route="/predict",status="500"} 1' in lines
    assert f'survtrace_request_seconds_bucket{{route="/predict",le="{BUCKETS[-1]}"}} 2' in lines
    assert 'survtrace_request_seconds_bucket{route="/predict",le="+Inf"} 3' in lines


def test_metrics_ask_for_the_token(logged):
    client, _ = logged
    assert client.get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401


def test_a_fault_is_logged_by_its_place_without_its_message(fitted_one, capfd):
    app = create_app(fitted_one)

    def broken(questions):
        raise ValueError("could not convert string to float: 'Smith'")

    app.state.service.answers.predict_together = broken
    answer = TestClient(app).post("/predict", json={"subjects": [{}]})
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"
    shown = answer.text + "".join(capfd.readouterr())
    assert "fault: ValueError at test_record.py:" in shown
    assert "Smith" not in shown


def test_a_log_that_cannot_be_written_is_the_users_mistake(fitted_one, tmp_path):
    with pytest.raises(SettingError, match="cannot be written to"):
        create_app(fitted_one, log=tmp_path / "nowhere" / "log")
