"""Load a saved estimator once and serve it."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import uvicorn

from survtrace.app.service.api import create_app
from survtrace.errors import SettingError, warn
from survtrace.evaluation.learned_rows import warn_of_interrupted
from survtrace.persistence import load


def serve(
    model_path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    importance: str | Path | None = None,
    units: Mapping[str, str] | None = None,
    time_unit: str = "",
) -> None:
    """Serve a saved estimator's page and API until interrupted.

    Parameters
    ----------
    model_path
        Folder that `SurvTRACE.save` wrote.
    host, port
        Where to listen; by default only this machine can reach it.
    token, importance, units, time_unit
        As in `create_app`.
    """
    here = is_loopback(host)
    if not here and token is None:
        warn(
            f"{host} can be reached from other machines and there is no token: whoever finds the "
            "server can use it. Pass token=, and put TLS in front."
        )
    est = load(model_path)
    warn_of_interrupted(est)
    app = create_app(
        est,
        token=token,
        importance=importance,
        units=units,
        time_unit=time_unit,
        name=Path(model_path).resolve().name,
        hosts=["127.0.0.1", "localhost", "[::1]", host] if here else None,
    )
    shown = f"[{host}]" if ":" in host else host
    with listen(host, port) as listener:
        port = listener.getsockname()[1]
        print(f"http://{shown}:{port}/" + (f"#token={token}" if token else ""), flush=True)
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Open a port; port 0 is any that is free."""
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
