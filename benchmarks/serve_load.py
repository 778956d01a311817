"""Requests a second of the risk explorer on loopback: /predict for one patient and for 1,000.

One server process, the estimator (flchain, 8 members, default settings) loaded once. Driven by
wrk where it is installed, else by threads of our own. `python benchmarks/serve_load.py [FOLDER]`
takes a saved estimator, or fits one for two epochs: its speed does not depend on how well it
was trained. Prints and writes benchmarks/results/serve_load.json.
"""

from __future__ import annotations

import http.client
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np

from survtrace import SurvTRACE
from survtrace.datasets import load_flchain

RESULTS = Path(__file__).parent / "results"
TIMES = [365, 3650]
SECONDS = 20
SERVE = "import sys; from survtrace.app import serve; serve(sys.argv[1], port=int(sys.argv[2]))"
SCRIPT = """
wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
local file = io.open("%s"); wrk.body = file:read("*a"); file:close()
function done(summary, latency, requests)
  local wrong = summary.errors.status + summary.errors.connect + summary.errors.timeout
  io.write(string.format('\\n{"requests_per_second": %%.1f, "p50_ms": %%.1f, "p99_ms": %%.1f, '
    .. '"requests": %%d, "errors": %%d}\\n', summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.requests, wrong))
end
"""


@contextmanager
def served(folder: str) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVE, folder, str(port)])
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def drive_with_wrk(port: int, body: Path, connections: int, seconds: float) -> dict[str, float]:
    script = body.with_suffix(".lua")
    script.write_text(SCRIPT % body)
    load = ["-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "30s", "-s", str(script)]
    done = subprocess.run(
        ["wrk", *load, f"http://127.0.0.1:{port}/predict"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def drive_with_threads(port: int, body: Path, connections: int, seconds: float) -> dict[str, float]:
    content, end = body.read_bytes(), time.perf_counter() + seconds

    def one_connection(_: int) -> list[float]:
        line, waits = http.client.HTTPConnection("127.0.0.1", port), []
        while time.perf_counter() < end:
            began = time.perf_counter()
            line.request("POST", "/predict", content, {"Content-Type": "application/json"})
            answer = line.getresponse()
            answer.read()
            assert answer.status == 200
            waits.append(time.perf_counter() - began)
        return waits

    with ThreadPoolExecutor(connections) as pool:
        waits = 1000 * np.concatenate(list(pool.map(one_connection, range(connections))))
    return {
        "requests_per_second": round(len(waits) / seconds, 1),
        "p50_ms": round(float(np.quantile(waits, 0.5)), 1),
        "p99_ms": round(float(np.quantile(waits, 0.99)), 1),
        "requests": len(waits),
        "errors": 0,
    }


def machine() -> dict[str, object]:
    packages = ("survtrace", "torch", "fastapi", "uvicorn", "numpy", "pandas")
    return {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load_before": [round(load, 1) for load in os.getloadavg()],
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def main() -> None:
    X, y = load_flchain()
    drive = drive_with_wrk if shutil.which("wrk") else drive_with_threads
    found: dict[str, object] = {"machine": machine(), "client": drive.__name__}
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[1] if len(sys.argv) > 1 else f"{scratch}/est"
        if len(sys.argv) == 1:
            SurvTRACE(random_state=0, max_epochs=2, verbose=False).fit(X, y).save(folder)
        with served(folder) as port:
            for n_subjects in (1, 1000):
                body = Path(scratch, f"{n_subjects}.json")
                subjects = json.loads(X.head(n_subjects).to_json(orient="records"))
                body.write_text(json.dumps({"subjects": subjects, "times": TIMES}))
                drive(port, body, 1, 3)
                for connections in (1, 8):
                    figures = drive(port, body, connections, SECONDS)
                    found[f"{n_subjects} patients, {connections} connections"] = figures
                    print(f"{n_subjects} patients, {connections} connections: {figures}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "serve_load.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
