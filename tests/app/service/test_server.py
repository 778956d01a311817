"""Serving: loaded once, on this machine only unless asked otherwise."""

import sys

import pytest

from survtrace import SavedFileError, SettingError
from survtrace.app.service import server


@pytest.fixture
def started(monkeypatch):
    """The settings and addresses of servers that were started, in place of a server."""
    calls = []

    def run(self, sockets):
        calls.append((self.config, [each.getsockname() for each in sockets]))

    monkeypatch.setattr(server.uvicorn.Server, "run", run)
    return calls


@pytest.fixture
def free():
    """A port that nobody listens on."""
    with server.listen("127.0.0.1", 0) as listener:
        return listener.getsockname()[1]


@pytest.fixture
def saved(fitted_one, tmp_path):
    fitted_one.save(tmp_path / "est")
    return tmp_path / "est"


def test_a_log_does_not_go_into_the_model(saved):
    with pytest.raises(SettingError, match=r"lies in the model's folder. Name a file elsewhere"):
        server.serve(saved, log=saved / "tensors.safetensors")


def test_it_listens_on_loopback_and_keeps_no_log_of_requests(saved, started, free, capsys):
    server.serve(saved, port=free)
    [(config, addresses)] = started
    assert addresses == [("127.0.0.1", free)]
    assert config.access_log is False
    assert capsys.readouterr().out == f"http://127.0.0.1:{free}/\n"


def test_port_0_is_one_that_is_free(saved, started, capsys):
    server.serve(saved, port=0)
    [(_, [(_, port)])] = started
    assert port > 0
    assert capsys.readouterr().out == f"http://127.0.0.1:{port}/\n"


def test_a_busy_port_is_the_users_mistake(saved, started):
    with server.listen("127.0.0.1", 0) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingError, match=f"port={port + 1}") as error:
            server.serve(saved, port=port)
    assert "Address already in use" in str(error.value)
    assert f"--port {port + 1}" in error.value.in_command
    assert started == []


def test_a_port_that_there_is_not_is_the_users_mistake(saved, started):
    with pytest.raises(SettingError, match="from 0 to 65535; got 70000"):
        server.serve(saved, port=70_000)


def test_it_starts_where_standard_output_is_closed(saved, started, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    server.serve(saved, port=0)
    assert len(started) == 1


def test_an_address_of_another_machine_is_the_users_mistake(saved, started):
    with pytest.raises(SettingError, match=r"cannot listen on 192\.0\.2\.1"):
        server.serve(saved, host="192.0.2.1", token="s3cret")


def test_the_address_it_prints_carries_the_token_where_no_server_sees_it(
    saved, started, free, capsys
):
    server.serve(saved, host="::1", port=free, token="s3cret")
    assert capsys.readouterr().out == f"http://[::1]:{free}/#token=s3cret\n"


def test_an_open_address_without_a_token_is_warned_of(saved, started):
    with pytest.warns(UserWarning, match="can be reached from other machines"):
        server.serve(saved, host="0.0.0.0", port=0)
    server.serve(saved, host="0.0.0.0", port=0, token="s3cret")


def test_what_is_no_saved_estimator_is_refused_before_anything_is_served(tmp_path, started):
    with pytest.raises(SavedFileError, match="holds no saved estimator"):
        server.serve(tmp_path / "nowhere")
    assert started == []
