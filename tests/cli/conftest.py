"""The command run as a user runs it, but in this process; a table and a model to run it on."""

import signal
import sys
from typing import NamedTuple

import pytest

from survtrace.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def survtrace(monkeypatch, capsys):
    """A function of arguments that gives exit code, standard output and standard error."""
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("SURVTRACE_DEBUG", raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["survtrace", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(ended.value.code or 0, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture(scope="session")
def patients(three_causes):
    """A table as users have them: an identifier, covariates, months and cause."""
    X, y = three_causes
    table = X.assign(months=y["duration"], cause=y["event"])
    table.insert(0, "patient", [f"Jane Doe {number}" for number in range(len(X))])
    return table


@pytest.fixture
def table(patients, tmp_path):
    """Its CSV file."""
    patients.to_csv(tmp_path / "patients.csv", index=False)
    return tmp_path / "patients.csv"


@pytest.fixture(scope="session")
def model(fitted_three, tmp_path_factory):
    """The folder of a saved estimator."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    fitted_three.save(folder)
    return folder
