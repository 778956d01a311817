"""A download survives a flaky server and never leaves a wrong file behind."""

import hashlib
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from survtrace.datasets import download
from survtrace.datasets.download import fetch
from survtrace.errors import DataError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Scripted(BaseHTTPRequestHandler):
    """Answers each request with the next step of a script, the last one for ever."""

    def __init__(self, script, seen, *args):
        self.script, self.seen = script, seen
        super().__init__(*args)

    def do_GET(self):
        step = self.script[min(len(self.seen), len(self.script) - 1)]
        self.seen.append(self.path)
        if isinstance(step, int):
            self.send_error(step)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(step)

    def log_message(self, *args):
        pass


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    running = []

    def start(*script):
        seen = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Scripted, script, seen))
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/table.h5", seen

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_good_file_is_downloaded_once(home, serve):
    url, seen = serve(CONTENT)
    path = fetch("table.h5", url, SHA256)
    assert path == home / "table.h5"
    assert path.read_bytes() == CONTENT
    assert fetch("table.h5", url, SHA256) == path
    assert len(seen) == 1


def test_without_a_data_home_the_file_goes_to_the_user_cache(home, serve, monkeypatch):
    monkeypatch.delenv("SURVTRACE_DATA_HOME")
    url, _ = serve(CONTENT)
    assert fetch("table.h5", url, SHA256) == home.parent / "cache" / "survtrace" / "table.h5"


def test_a_file_in_the_user_cache_is_found_behind_an_empty_data_home(home, serve):
    cached = home.parent / "cache" / "survtrace" / "table.h5"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    url, seen = serve(404)
    assert fetch("table.h5", url, SHA256) == cached
    assert not seen


@pytest.mark.parametrize("failure", [503, CONTENT[:1000]], ids=["error 503", "truncated"])
def test_a_server_that_fails_once_is_asked_again(home, serve, failure):
    url, seen = serve(failure, CONTENT)
    assert fetch("table.h5", url, SHA256).read_bytes() == CONTENT
    assert len(seen) == 2


def test_a_file_truncated_every_time_is_refused_and_not_kept(home, serve):
    url, seen = serve(CONTENT[:1000])
    with pytest.raises(DataError, match=r"after 1000 of 512000 bytes.*put the file into"):
        fetch("table.h5", url, SHA256)
    assert len(seen) == 3
    assert list(home.iterdir()) == []


def test_a_missing_page_is_not_asked_for_again(home, serve):
    url, seen = serve(404)
    with pytest.raises(DataError, match=r"could not be downloaded .*404"):
        fetch("table.h5", url, SHA256)
    assert len(seen) == 1


def test_an_unreachable_server_gets_a_clear_error(home, serve):
    with pytest.raises(DataError, match="SURVTRACE_DATA_HOME may name another folder"):
        fetch("table.h5", "http://127.0.0.1:1/table.h5", SHA256)


def test_a_download_with_another_checksum_is_refused_and_not_kept(home, serve):
    other = CONTENT[::-1]
    url, _ = serve(other)
    seen_sha256 = hashlib.sha256(other).hexdigest()
    with pytest.raises(DataError, match=rf"table\.h5 must .* {SHA256}; seen {seen_sha256}"):
        fetch("table.h5", url, SHA256)
    assert list(home.iterdir()) == []


def test_a_damaged_file_at_hand_is_refused_by_name(home, serve):
    home.mkdir()
    (home / "table.h5").write_bytes(b"damaged")
    url, seen = serve(CONTENT)
    with pytest.raises(DataError, match=rf"table\.h5 must .* {SHA256}; seen .* Delete it"):
        fetch("table.h5", url, SHA256)
    assert not seen


def test_the_user_cache_defaults_to_a_folder_of_the_home(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("SURVTRACE_DATA_HOME", raising=False)
    (folder,) = download.data_folders()
    assert folder.name == "survtrace"
    assert folder.is_relative_to(Path.home())
