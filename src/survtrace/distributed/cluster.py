"""A Ray cluster: the one that runs already, or one of our own for as long as it is needed."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from survtrace.errors import SettingError, SurvtraceError, require

QUIET: dict[str, Any] = {
    "include_dashboard": False,
    "log_to_driver": False,
    "logging_level": "ERROR",
}
CONNECT_SECONDS = 10.0
MANY = "many machines need"
AT_START = {"RAY_USAGE_STATS_ENABLED": "0"}  # nothing leaves the machine


@contextmanager
def cluster(n_cpus: int = 1, n_gpus: float = 0) -> Iterator[None]:
    """Connect to the cluster that runs, or else start one on this machine, with no fewer CPUs.

    A cluster runs where this process is connected already, where the variable RAY_ADDRESS says, or
    on this machine (``ray start``). Only what was started or connected here is ended here.
    """
    ray = require("ray", "distributed", MANY)
    with _signal_handlers_restored():
        if ray.is_initialized():
            yield
            return
        require_reachable(os.environ.get("RAY_ADDRESS", ""))
        with environment(AT_START):
            try:
                ray.init(num_cpus=max(n_cpus, os.cpu_count() or 1), **QUIET)
                here = True
            except ValueError:  # Ray's answer where a cluster runs: it knows its own CPUs
                with _address_errors():
                    ray.init(**QUIET)
                here = False
        try:
            # No other machine will bring what a cluster started here lacks.
            if here and n_gpus > (n_present := ray.cluster_resources().get("GPU", 0)):
                raise SettingError(
                    f"{n_gpus:g} GPUs are needed, and this machine has {n_present:g}. Take fewer "
                    "workers or none with a GPU, or connect to a cluster: set RAY_ADDRESS."
                )
            yield
        finally:
            ray.shutdown()


def require_reachable(address: str) -> None:
    """Refuse the address of a cluster whose head does not answer; Ray would wait for minutes.

    Examples
    --------
    >>> require_reachable("127.0.0.1:1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    survtrace.errors.SettingError: RAY_ADDRESS says that a Ray cluster runs at 127.0.0.1:1, ...
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "auto", "local", or a name that Ray looks up
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError, ValueError) as error:  # also a host that is no name
        raise SettingError(
            f"RAY_ADDRESS says that a Ray cluster runs at {address}, which does not answer "
            f"({error}). Start it there (ray start --head), correct RAY_ADDRESS, or unset it to "
            "start one on this machine."
        ) from None


@contextmanager
def _address_errors() -> Iterator[None]:
    """Say of an address that makes no sense to Ray where it comes from."""
    try:
        yield
    except ValueError as error:
        address = os.environ.get("RAY_ADDRESS", "")
        raise SettingError(
            f"RAY_ADDRESS must be the address of a Ray cluster, such as 10.0.0.1:6379; got "
            f"{address!r} ({error}). Correct it, or unset it to start one on this machine."
        ) from None


@contextmanager
def _signal_handlers_restored() -> Iterator[None]:
    """Give back what Ray takes over and keeps: Ctrl-C."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


@contextmanager
def environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Set the variables that are not set, for a while: much of Ray is told no other way."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def require_workers(n_workers: int, cpus: float) -> None:
    """Refuse fewer than one worker, and workers without a CPU."""
    if n_workers < 1 or cpus <= 0:
        raise SettingError(
            f"there must be at least one worker, with a CPU; got {n_workers} with {cpus} each."
        )


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise what a worker found wrong as if it had been found here."""
    try:
        yield
    except Exception as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from None


def _ours(error: object) -> SurvtraceError | None:
    """Return the error of this package that Ray has wrapped, if any."""
    inner = [
        getattr(error, "cause", None),
        getattr(error, "__cause__", None),
        getattr(error, "controller_failure", None),
        *getattr(error, "worker_failures", {}).values(),
    ]
    for wrapped in inner:
        if isinstance(wrapped, BaseException) and (found := _ours(wrapped)):
            return found
    return error if isinstance(error, SurvtraceError) else None
