"""Processes behind one port: no torch in them, one that dies is replaced, all stop when told."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from survtrace import SettingError
from survtrace.app.service import server, workers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
QUESTION = json.dumps({"subjects": [{"age": 61.25, "sex": "Smith"}], "times": [1.0]})


@pytest.fixture(scope="module")
def saved(fitted_one, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "est"
    fitted_one.save(folder)
    return folder


@pytest.fixture
def served(saved, tmp_path):
    """The command with two workers, their address, and the log they share."""
    options = ["--port", "0", "--workers", "2", "--log", str(tmp_path / "log")]
    start = "from survtrace.cli import main; main()"
    command = [sys.executable, "-c", start, "serve", str(saved), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            url = urlsplit(process.stdout.readline().strip())
            yield process, (url.hostname, url.port), tmp_path / "log"
        finally:
            process.kill()


def ask(address, path="/predict", body=QUESTION, method="POST"):
    with closing(http.client.HTTPConnection(*address, timeout=20)) as line:
        line.request(method, path, body, {"Content-Type": "application/json"})
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def children(process):
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in text.split()]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")
def test_two_workers_without_torch_answer_and_count_together(served):
    process, address, log = served
    for _ in range(6):
        assert ask(address)[0] == 200
    first = children(process)
    assert len(first) == 2
    for pid in (process.pid, *first):
        maps = Path(f"/proc/{pid}/maps").read_text()
        assert not [name for name in ("libtorch", "pandas", "sklearn") if name in maps]
    assert 'route="/predict",status="200"} 6' in ask(address, "/metrics", None, "GET")[1]
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Smith" not in out + err + log.read_text()
    assert len(log.read_text().splitlines()) == 7


def test_a_stop_under_load_ends_what_has_begun_and_refuses_the_rest(served):
    process, address, _ = served
    assert ask(address)[0] == 200
    statuses, broken = [], []
    stopped = threading.Event()

    def load():
        with closing(http.client.HTTPConnection(*address, timeout=20)) as line:
            while not stopped.is_set():
                try:
                    line.request("POST", "/predict", QUESTION, {"Content-Type": "application/json"})
                    answer = line.getresponse()
                except (ConnectionError, http.client.HTTPException, OSError):
                    return  # closed between two requests
                try:
                    json.loads(answer.read())
                    statuses.append(answer.status)
                except (ValueError, http.client.IncompleteRead):
                    broken.append(answer.status)

    threads = [threading.Thread(target=load) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    stopped.set()
    for thread in threads:
        thread.join()
    assert process.returncode == 0
    assert len(statuses) > 6
    assert set(statuses) == {200}
    assert broken == []
    assert "Traceback" not in err
    with pytest.raises(OSError, match="refused"):
        ask(address)


def test_a_worker_that_ends_by_itself_is_started_again(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(workers, "QUICK_SECONDS", 0.0)

    def work(number):
        with (tmp_path / "begun").open("a") as file:
            file.write(f"{number}\n")
        begun = (tmp_path / "begun").read_text().count("0")
        if number == 0 and begun < 3:
            return
        if number == 0:
            os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(20)

    closed = []
    workers.run_workers(work, 2, close=lambda: closed.append(True))
    assert closed == [True]
    begun = (tmp_path / "begun").read_text().split()
    assert (begun.count("0"), begun.count("1")) == (3, 1)
    assert "worker 0 ended (status 0)" in capfd.readouterr().err


def test_a_worker_that_ends_at_once_is_started_again_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "QUICK_SECONDS", 1.0)

    def work(number):
        with (tmp_path / f"{number}").open("a") as file:
            file.write(f"{time.monotonic()}\n")
        begun = (tmp_path / f"{number}").read_text().split()
        if number == 0 and len(begun) < 3:
            return
        if number == 0:
            os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(20)

    workers.run_workers(work, 2)
    begun = [float(each) for each in (tmp_path / "0").read_text().split()]
    assert len(begun) == 3
    assert all(later - each > 0.9 for each, later in pairwise(begun))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")
def test_workers_do_not_outlive_a_server_that_is_killed(served):
    process, address, _ = served
    assert ask(address)[0] == 200
    orphans = children(process)
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while time.monotonic() < end and any(Path(f"/proc/{pid}").exists() for pid in orphans):
        time.sleep(0.1)
    assert not [pid for pid in orphans if Path(f"/proc/{pid}").exists()]
    with pytest.raises(OSError, match="refused"):
        ask(address)


def test_workers_that_end_at_once_end_the_server(capfd):
    with pytest.raises(RuntimeError, match="ended as soon as they were started"):
        workers.run_workers(lambda number: None, 2)


def test_no_worker_is_no_server(saved):
    with pytest.raises(SettingError, match="workers must be a whole number above 0; got 0"):
        server.serve(saved, workers=0)


def test_without_fork_there_is_one_worker(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(SettingError, match="needs a system that can fork"):
        workers.run_workers(lambda number: None, 2)


def test_connections_are_as_many_as_open_files_allow(monkeypatch):
    import resource

    limits = {"now": (256, 256)}
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda which, now: limits.update(now=now))
    assert server.most_connections() == 256 - server.BACKLOG - server.RESERVED
    limits["now"] = (256, 100_000)
    assert server.most_connections() == server.MOST_CONNECTIONS
    assert limits["now"][0] > server.MOST_CONNECTIONS
