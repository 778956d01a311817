"""A small estimator behind a door, for clients in the same process and for a real server."""

import os
import shutil
import socket
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the app needs the extra: pip install 'survtrace[app]'")
pytest.importorskip("uvicorn")
TestClient = pytest.importorskip("fastapi.testclient").TestClient

from survtrace import SurvTRACE  # noqa: E402
from survtrace.app import create_app  # noqa: E402
from survtrace.app.service.server import Server  # noqa: E402


@pytest.fixture(scope="session")
def importance_file(tmp_path_factory, fitted_three):
    """What `survtrace explain` writes, with an interval missing."""
    rows = [
        {"cause": cause, "covariate": name, "importance": 0.1 / (j + 1), "low": 0.0, "high": 0.2}
        for cause in fitted_three.causes_
        for j, name in enumerate(fitted_three.feature_names_in_)
    ]
    path = tmp_path_factory.mktemp("importance") / "importance.csv"
    table = pd.DataFrame(rows)
    table.loc[0, ["low", "high"]] = None
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def client(fitted_three, importance_file):
    """A client of the app with three causes."""
    app = create_app(
        fitted_three, importance=importance_file, units={"age": "years"}, time_unit="months"
    )
    with TestClient(app) as client:
        yield client


@pytest.fixture(scope="session")
def fitted_by_age(draw_cohort, tiny):
    """Fitted with age as the clock: people enter between 50 and 70; not to be changed."""
    X, y = draw_cohort(240, 3, seed=1)
    entry = np.random.default_rng(0).uniform(50, 70, len(X))
    entry[0] = 50.0
    y = y.assign(entry=entry, duration=entry + y["duration"])
    settings = {**tiny, "mortality_weight": 0.0, "stay_weight": 0.0}
    return SurvTRACE(**settings, time_unit="years", time_name="age").fit(X.drop(columns="age"), y)


@contextmanager
def running(app):
    """The address of a server that runs in a thread, on a free port of this machine."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        server = Server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(timeout=10)


@pytest.fixture(scope="session")
def serve_app():
    """A context in which an app is served."""
    return running


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, driven by Playwright, whose event loop must not outlast its tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=chromium, args=as_root)
        yield browser
        browser.close()
