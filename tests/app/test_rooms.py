"""Rooms of the app: plain values need no server, and the server says which extra it needs."""

import subprocess
import sys

import pytest

import survtrace.app
from survtrace.errors import MissingExtraError

NOT_NEEDED = {"torch", "pandas", "fastapi", "pydantic", "starlette", "uvicorn", "sklearn", "scipy"}


@pytest.mark.parametrize("module", ["schema", "certainty", "limits"])
def test_plain_values_import_no_server_no_torch_and_no_frames(module):
    code = f"import sys, survtrace.app.answers.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not NOT_NEEDED & set(done.stdout.split())


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_fastapi_the_extra_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*pip install 'survtrace\[app\]'"):
        _ = survtrace.app.create_app


def test_another_name_is_no_part_of_the_app():
    with pytest.raises(AttributeError, match="has no attribute 'door'"):
        _ = survtrace.app.door
