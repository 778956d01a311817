"""A connection cannot be held for ever, and what is refused is answered, not reset."""

import http.client
import json
import socket
import time
from contextlib import closing, suppress
from urllib.parse import urlsplit

import pytest

from survtrace.app import create_app
from survtrace.app.service import connections
from survtrace.app.service.connections import LimitedProtocol

QUESTION = json.dumps({"subjects": [{"age": 61}], "times": [1.0]}).encode()


@pytest.fixture(scope="module")
def address(serve_app, fitted_one):
    """Host and port of a running server that takes requests of up to a million bytes."""
    with serve_app(create_app(fitted_one, max_bytes=10**6)) as url:
        yield urlsplit(url).hostname, urlsplit(url).port


def read_all(connection, seconds=10):
    """What is sent until the other side closes."""
    connection.settimeout(seconds)
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def is_answering(address):
    with closing(http.client.HTTPConnection(*address, timeout=10)) as line:
        return ask(line).status == 200


def ask(line):
    line.request("POST", "/predict", QUESTION, {"Content-Type": "application/json"})
    return line.getresponse()


@pytest.mark.parametrize("sent", [b"", b"GET /health HTT", b"GET /health HTTP/1.1\r\nHost: x\r\n"])
def test_a_connection_that_sends_no_whole_head_is_closed(address, monkeypatch, sent):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with socket.create_connection(address) as line:
        line.sendall(sent)
        began = time.monotonic()
        with suppress(ConnectionResetError):
            assert read_all(line) == b""
        assert time.monotonic() - began < 5
    assert is_answering(address)


def test_a_head_that_begins_behind_a_whole_request_has_no_more_time(address, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    with socket.create_connection(address) as line, suppress(ConnectionError):
        line.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nX-A: ")
        line.settimeout(0.05)
        began = time.monotonic()
        while time.monotonic() - began < 5:
            line.sendall(b"a")
            with suppress(TimeoutError):
                if not line.recv(65536):
                    break
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("more", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_an_answer_that_nobody_reads_is_not_kept(address, monkeypatch, more):
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.3)
    question = {"subjects": [{"age": 61}] * 500, "times": list(range(200))}
    body = json.dumps(question).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(address)
        line.sendall(head + body)
        began = line.recv(1000)
        line.sendall(more)
        time.sleep(1)
        size = int(began.split(b"content-length: ")[1].split(b"\r\n")[0])
        with suppress(ConnectionResetError):
            assert len(read_all(line)) < size / 2
    assert is_answering(address)


def test_a_long_head_is_refused_also_when_it_comes_whole(address):
    with socket.create_connection(address) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Name: " + b"a" * 40_000 + b"\r\n\r\n")
        assert read_all(line).startswith(b"HTTP/1.1 431 ")


def test_a_question_that_asks_for_another_protocol_is_told_to_leave_that_out(address):
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    with socket.create_connection(address) as line:
        line.sendall(head + b"Upgrade: h2c\r\nContent-Length: 2\r\n\r\n{}")
        answer = read_all(line)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Leave the header Upgrade out." in answer


def test_many_requests_sent_at_once_are_all_answered(address):
    with socket.create_connection(address) as line:
        request = b"GET /health HTTP/1.1\r\nHost: x\r\n%s\r\n"
        line.sendall(request % b"X-Name: value\r\n" * 8000 + request % b"Connection: close\r\n")
        assert read_all(line).count(b"HTTP/1.1 200 ") == 8001


def test_a_head_without_end_is_refused(address):
    with socket.create_connection(address) as line:
        line.sendall(b"GET /health HTTP/1.1\r\n" + b"X-Name: value\r\n" * 4000)
        assert read_all(line).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("token", [None, "s3cret"])
@pytest.mark.parametrize("more", [b"X-Name: value\r\n", b"a"], ids=["many", "one"])
@pytest.mark.parametrize("before", [b"0\r\n", b"0\r\nX-Name: ", b"2;"], ids=str)
def test_trailers_and_extensions_of_chunks_without_end_are_refused(
    serve_app, fitted_one, token, more, before
):
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    with (
        serve_app(create_app(fitted_one, token=token)) as url,
        suppress(ConnectionError),
        socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as line,
    ):
        line.sendall(head + before)
        for _ in range(200):  # more than lies in buffers on the way
            line.sendall(more * (100_000 // len(more)))
        pytest.fail("all of it was read")


def test_a_short_trailer_is_passed_over(address):
    with socket.create_connection(address) as line:
        head = b"POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        body = b"%x\r\n%s\r\n0\r\nX-Digest: abc\r\n\r\n" % (len(QUESTION), QUESTION)
        line.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + body)
        assert read_all(line).startswith(b"HTTP/1.1 200 ")


def test_empty_lines_do_not_keep_a_connection(address, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with socket.create_connection(address) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 200 ")
        line.sendall(b"\r\n")
        began = time.monotonic()
        with suppress(ConnectionResetError):
            read_all(line)
        assert time.monotonic() - began < 5


def test_what_is_no_http_gets_an_answer_with_the_headers_of_all_others(address):
    with socket.create_connection(address) as line:
        line.sendall(b"hello\r\n\r\n")
        answer = read_all(line).lower()
    assert answer.startswith(b"http/1.1 400 ")
    assert b"x-content-type-options: nosniff" in answer


def test_one_connection_too_many_is_turned_away_and_the_others_are_served(address, monkeypatch):
    monkeypatch.setattr(LimitedProtocol, "most_connections", 5)
    lines = [socket.create_connection(address) for _ in range(40)]
    try:
        assert b"503 Service Unavailable" in read_all(lines[-1])
    finally:
        for line in lines:
            line.close()
    for _ in range(100):
        try:
            assert is_answering(address)
            break
        except (AssertionError, OSError):
            time.sleep(0.05)
    else:
        pytest.fail("the server does not answer any more")


@pytest.mark.parametrize("close", [b"", b"Connection: close\r\n"], ids=["keep", "close"])
@pytest.mark.parametrize("size", [10**6 + 1, 4 * 10**6])
def test_a_request_that_is_too_large_is_answered_while_it_is_still_sent(address, close, size):
    with socket.create_connection(address) as line:
        head = b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n" % (size, close)
        line.sendall(head + b"a" * size)
        line.settimeout(10)
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")
    assert is_answering(address)


def test_a_client_that_waits_for_leave_to_send_is_refused_at_once(address):
    with socket.create_connection(address) as line:
        line.sendall(
            b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n"
            b"Expect: 100-continue\r\n\r\n"
        )
        line.settimeout(10)
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_second_request_on_a_connection_is_answered(address):
    with closing(http.client.HTTPConnection(*address, timeout=10)) as line:
        for _ in range(3):
            answer = ask(line)
            assert (answer.status, len(json.loads(answer.read())["survival"])) == (200, 1)
