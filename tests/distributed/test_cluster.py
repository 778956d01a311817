"""What is borrowed is put back; what a worker found wrong is said in our words."""

import os
import socket
import subprocess
import sys
import time

import pytest

from survtrace import DataError, SettingError
from survtrace.distributed.cluster import environment, our_errors, require_reachable


def test_a_cluster_that_does_not_answer_is_named_at_once():
    with socket.socket() as closed:  # bound and never listening
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(SettingError, match=rf"runs at {address}, which .* unset it"):
            require_reachable(address)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("address", [f"{'a' * 300}:1", "\ud800:1", "::1:99999"])
def test_an_address_that_is_none_is_named(address):
    with pytest.raises(SettingError, match=r"RAY_ADDRESS says .* which does not answer"):
        require_reachable(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "nonsense"])
def test_an_address_that_ray_cannot_read_is_named(address):
    pytest.importorskip("ray")
    begin = "from survtrace.distributed.cluster import cluster\nwith cluster():\n    pass"
    done = subprocess.run(  # in this process Ray may run already
        [sys.executable, "-c", begin],
        env={**os.environ, "RAY_ADDRESS": address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "SettingError: RAY_ADDRESS must be the address of a Ray cluster" in done.stderr
    assert f"got {address!r}" in done.stderr


def test_variables_are_set_for_a_while_and_only_where_there_are_none(monkeypatch):
    monkeypatch.setenv("SET_BY_THE_USER", "1")
    monkeypatch.delenv("NOT_SET", raising=False)
    with environment({"SET_BY_THE_USER": "0", "NOT_SET": "0"}):
        assert (os.environ["SET_BY_THE_USER"], os.environ["NOT_SET"]) == ("1", "0")
    assert (os.environ["SET_BY_THE_USER"], os.environ.get("NOT_SET")) == ("1", None)


class WrappedError(Exception):
    """An error as Ray hands them on."""

    def __init__(self, **within):
        self.__dict__.update(within)


@pytest.mark.parametrize(
    "wrapped",
    [
        WrappedError(cause=DataError("age is numerical")),
        WrappedError(worker_failures={1: WrappedError(cause=DataError("age is numerical"))}),
        DataError("age is numerical"),
    ],
)
def test_an_error_of_ours_is_found_in_what_ray_wraps_around_it(wrapped):
    with pytest.raises(DataError, match=r"^age is numerical$"), our_errors():
        raise wrapped


def test_an_error_of_others_stays_as_it_is():
    with pytest.raises(WrappedError), our_errors():
        raise WrappedError(cause=ValueError())
