"""Load a saved estimator once and serve it."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from survtrace.app.answers.answers import Question
from survtrace.app.service.api import Service, create_app
from survtrace.app.service.connections import LimitedProtocol
from survtrace.app.service.metrics import Metrics
from survtrace.app.service.workers import run_workers
from survtrace.errors import SettingError, warn
from survtrace.model_card import warn_of_interrupted
from survtrace.portable import load

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 128  # connections that wait to be taken on
RESERVED = 64  # file descriptors for other things than connections
MOST_CONNECTIONS = 1000
KEEP_ALIVE_SECONDS = 15
GRACE_SECONDS = 35  # longer than one request may take


def serve(
    model_path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    importance: str | Path | None = None,
    units: Mapping[str, str] | None = None,
    time_unit: str = "",
    workers: int = 1,
    log: str | Path | None = None,
) -> None:
    """Serve a saved estimator's page and API until interrupted.

    Parameters
    ----------
    model_path
        Folder that `SurvTRACE.save` wrote; read without torch.
    host, port
        Where to listen; by default only this machine can reach it.
    workers
        Processes that answer; one keeps one core busy.
    token, importance, units, time_unit, log
        As in `create_app`.
    """
    if workers < 1:
        raise SettingError(f"workers must be a whole number above 0; got {workers}.")
    if log is not None and Path(model_path).resolve() in Path(log).resolve().parents:
        raise SettingError(f"the log {log} lies in the model's folder. Name a file elsewhere.")
    here = is_loopback(host)
    if not here and token is None:
        warn(
            f"{host or 'every address'} can be reached from other machines and there is no token: "
            "whoever finds the server can use it. Give it a token, and put TLS in front."
        )
    _use_one_thread()
    est = load(model_path)
    warn_of_interrupted(est)
    metrics = Metrics(workers)
    app = create_app(
        est,
        token=token,
        importance=importance,
        units=units,
        time_unit=time_unit,
        name=Path(model_path).resolve().name,
        hosts=["127.0.0.1", "localhost", "[::1]", host] if here else None,
        metrics=metrics,
        log=log,
    )
    app.state.service.answers.predict(Question([{}]))  # what the first answer prepares
    kernel = app.state.service.answers.predictor.kernel.begin_to_load()
    if workers > 1:  # a process must not divide while a thread of it compiles
        kernel.join()
    shown = f"[{host}]" if ":" in host else host
    with listen(host, port) as listener:
        port = listener.getsockname()[1]
        print(f"http://{shown}:{port}/" + (f"#token={token}" if token else ""), flush=True)

        def work(worker: int) -> None:
            metrics.use_row(worker)
            with suppress(KeyboardInterrupt):
                Server(app).run(sockets=[listener])

        if workers == 1:
            work(0)
        else:
            run_workers(work, workers, close=listener.close)


class Server(uvicorn.Server):
    """uvicorn's server, with limits of connections; says in /ready that it is stopping."""

    def __init__(self, app: FastAPI) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            log_config=None,  # would look at standard output, which may be closed
            log_level="critical",  # its lines could be written without end, by anybody
            access_log=False,
            backlog=BACKLOG,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self.service: Service = app.state.service
        self.service.count_connections = self._count_connections
        LimitedProtocol.most_connections = most_connections()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: what has begun is finished, nothing new is taken on."""
        self.service.is_stopping = True
        super().handle_exit(sig, frame)
        # uvicorn raises the signal again when it has stopped; a stop that was asked for is a
        # success, whoever asked.
        if sig == signal.SIGTERM and sig in self._captured_signals:
            self._captured_signals.remove(sig)

    def _count_connections(self) -> int:
        return len(self.server_state.connections)


def most_connections() -> int:
    """Count the connections that the limit of open files allows, after raising it."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return MOST_CONNECTIONS
    wanted = MOST_CONNECTIONS + BACKLOG + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(8, min(MOST_CONNECTIONS, soft - BACKLOG - RESERVED))


def _use_one_thread() -> None:
    """Let numpy multiply in one thread: products of this size are slower on two."""
    with suppress(ModuleNotFoundError):
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)


def listen(host: str, port: int) -> socket.socket:
    """Open a port; port 0 is any that is free."""
    if not 0 <= port <= 65535:
        raise SettingError(f"the port must be a whole number from 0 to 65535; got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        seen = f"the server cannot listen on {host}, port {port} ({error.strerror or error})."
        other = port + 1 if 0 < port < 65535 else 8000
        raise SettingError(
            f"{seen} Pass another port, such as port={other}, or port=0 for any that is free.",
            in_command=f"{seen} Choose another port, such as --port {other}, or --port 0 for any "
            "that is free.",
        ) from None


def is_loopback(host: str) -> bool:
    """Check whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
