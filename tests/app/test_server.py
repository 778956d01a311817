"""Serving: loaded once, on this machine only unless asked otherwise."""

import pytest

from survtrace import SavedFileError
from survtrace.app import server


@pytest.fixture
def started(monkeypatch):
    """What uvicorn was told, in place of a server."""
    calls = []
    monkeypatch.setattr(server.uvicorn, "run", lambda app, **settings: calls.append(settings))
    return calls


@pytest.fixture
def saved(fitted_one, tmp_path):
    fitted_one.save(tmp_path / "est")
    return tmp_path / "est"


def test_it_listens_on_loopback_and_keeps_no_log_of_requests(saved, started, capsys):
    server.serve(saved)
    [settings] = started
    assert settings["host"] == "127.0.0.1"
    assert settings["access_log"] is False
    assert capsys.readouterr().out == "http://127.0.0.1:8000/\n"


def test_the_address_it_prints_carries_the_token_where_no_server_sees_it(saved, started, capsys):
    server.serve(saved, host="::1", port=9000, token="s3cret")
    assert capsys.readouterr().out == "http://[::1]:9000/#token=s3cret\n"


def test_an_open_address_without_a_token_is_warned_of(saved, started):
    with pytest.warns(UserWarning, match="can be reached from other machines"):
        server.serve(saved, host="0.0.0.0")
    server.serve(saved, host="0.0.0.0", token="s3cret")


def test_what_is_no_saved_estimator_is_refused_before_anything_is_served(tmp_path, started):
    with pytest.raises(SavedFileError, match="holds no saved estimator"):
        server.serve(tmp_path / "nowhere")
    assert started == []
