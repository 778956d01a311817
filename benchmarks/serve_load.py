"""Load of the server on loopback: requests a second, waiting times, errors and memory.

`survtrace serve` with one worker on one core, the client on another (taskset, where it is there):
one patient a request over 1 and 8 connections, with FastAPI's empty route beside it; 1,000 patients
a request; then 64 connections for ``--seconds``, with the memory of the server at start and end.
The estimator is that of flchain (four causes, eight members), fitted for two epochs: its speed does
not depend on how well it was trained. ``--folder`` takes a saved one. Driven by wrk where it is
installed, else by asyncio. Writes benchmarks/results/serve_load.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from survtrace import SurvTRACE
from survtrace.datasets import load_flchain

RESULTS = Path(__file__).parent / "results"
TIMES = [365, 3650]
WARM_SECONDS = 30  # in which numba's kernel is loaded, or compiled where it never was
SERVE = "from survtrace.cli import main; main()"
EMPTY = """
import sys, fastapi, uvicorn
app = fastapi.FastAPI()
@app.post("/predict")
async def predict(): return {}
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
"""
SCRIPT = """
wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
local file = io.open("%s"); wrk.body = file:read("*a"); file:close()
function done(summary, latency, requests)
  local wrong = summary.errors.status + summary.errors.connect + summary.errors.timeout
    + summary.errors.read + summary.errors.write
  io.write(string.format('\\n{"requests_per_second": %%.1f, "p50_ms": %%.2f, "p99_ms": %%.2f, '
    .. '"requests": %%d, "errors": %%d}\\n', summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.requests, wrong))
end
"""
Figures = dict[str, Any]


def on_core(core: int) -> list[str]:
    """Give the command that keeps another one on a core; none where that cannot be."""
    return ["taskset", "-c", str(core)] if shutil.which("taskset") and os.cpu_count() > 1 else []


@contextmanager
def served(command: list[str], port: int) -> Iterator[int]:
    """Run a server until it is no longer needed; gives its process id."""
    server = subprocess.Popen([*on_core(0), sys.executable, "-c", *command], stdout=subprocess.PIPE)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield server.pid
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def drive_with_wrk(port: int, body: Path, connections: int, seconds: float) -> Figures:
    script = body.with_suffix(".lua")
    script.write_text(SCRIPT % body)
    load = ["-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "30s", "-s", str(script)]
    command = [*on_core(1), "wrk", *load, f"http://127.0.0.1:{port}/predict"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def drive_with_asyncio(port: int, body: Path, connections: int, seconds: float) -> Figures:
    """Ask over so many connections at once; slower than wrk, which it replaces."""
    content, waits, errors = body.read_bytes(), list[float](), 0
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(content)}\r\n"
    question = f"{head}Content-Type: application/json\r\n\r\n".encode() + content

    async def ask(end: float) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            began = time.perf_counter()
            writer.write(question)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(answer.partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(size)
            errors += not answer.startswith(b"http/1.1 200")
            waits.append(1000 * (time.perf_counter() - began))
        writer.close()

    async def ask_all() -> None:
        await asyncio.gather(*[ask(time.perf_counter() + seconds) for _ in range(connections)])

    asyncio.run(ask_all())
    return {
        "requests_per_second": round(len(waits) / seconds, 1),
        "p50_ms": round(float(np.quantile(waits, 0.5)), 2),
        "p99_ms": round(float(np.quantile(waits, 0.99)), 2),
        "requests": len(waits),
        "errors": errors,
    }


def resident_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return round(int(text.partition("VmRSS:")[2].split()[0]) / 1024, 1)


def machine() -> Figures:
    packages = ("survtrace", "fastapi", "uvicorn", "numpy", "numba")
    return {
        "date": date.today().isoformat(),
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load_before": [round(load, 1) for load in os.getloadavg()],
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def write_bodies(folder: Path) -> dict[int, Path]:
    """Write a question about one patient and one about 1,000."""
    X, _ = load_flchain()
    bodies = {n: folder / f"{n}.json" for n in (1, 1000)}
    for n, path in bodies.items():
        subjects = json.loads(X.iloc[100 : 100 + n].to_json(orient="records"))
        path.write_text(json.dumps({"subjects": subjects, "times": TIMES}))
    return bodies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="a saved estimator of flchain")
    parser.add_argument("--seconds", type=float, default=60, help="of the run with 64 connections")
    parser.add_argument("--short", type=float, default=10, help="seconds of each other run")
    parser.add_argument("--out", type=Path, default=RESULTS / "serve_load.json")
    given = parser.parse_args()
    drive = drive_with_wrk if shutil.which("wrk") else drive_with_asyncio
    found: Figures = {"machine": machine(), "client": drive.__name__}

    def note(name: str, figures: Figures) -> None:
        found[name] = figures
        print(f"{name}: {figures}", flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or f"{scratch}/est"
        if not given.folder:
            SurvTRACE(random_state=0, max_epochs=2, verbose=False).fit(*load_flchain()).save(folder)
        bodies, port = write_bodies(Path(scratch)), free_port()
        with served([EMPTY, str(port)], port):
            drive(port, bodies[1], 1, 2)
            for n in (1, 8):
                note(f"empty route, {n} connections", drive(port, bodies[1], n, given.short))
        port = free_port()
        with served([SERVE, "serve", folder, "--port", str(port)], port) as pid:
            drive(port, bodies[1], 1, 2)
            for n in (1, 8):
                note(f"1 patient, {n} connections", drive(port, bodies[1], n, given.short))
            drive(port, bodies[1000], 1, WARM_SECONDS)
            figures = drive(port, bodies[1000], 1, given.short)
            rows = {"rows_per_second": round(1000 * figures["requests_per_second"])}
            note("1,000 patients, 1 connection", {**figures, **rows})
            before = resident_mb(pid)
            figures = drive(port, bodies[1], 64, given.seconds)
            memory = {"mb_before": before, "mb_after": resident_mb(pid), "seconds": given.seconds}
            note("1 patient, 64 connections", {**figures, **memory})
    given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
