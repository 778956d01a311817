"""METABRIC and SUPPORT come with names, kinds and counts as published."""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from survtrace.datasets import deepsurv, load_metabric, load_support
from survtrace.errors import DataError
from survtrace.tables.outcome.outcome import read_outcome

BESIDE_REPOSITORY = Path(__file__).parents[3] / "shared" / "data"


def use_real_file(monkeypatch, name):
    for folder in (os.environ.get("SURVTRACE_DATA_HOME"), BESIDE_REPOSITORY):
        if folder and Path(folder, name).is_file():
            monkeypatch.setenv("SURVTRACE_DATA_HOME", str(folder))
            return Path(folder)
    pytest.skip(f"{name} is neither in $SURVTRACE_DATA_HOME nor beside the repository")


@pytest.fixture
def small_metabric(tmp_path, monkeypatch):
    """A file in place of METABRIC's: three training rows and two test rows."""
    h5py, path = pytest.importorskip("h5py"), tmp_path / deepsurv.METABRIC_FILE
    with h5py.File(path, "w") as file:
        for part, rows in (("train", np.arange(3)), ("test", np.arange(3, 5))):
            columns = [*[rows + 0.5] * 4, *[rows % 2] * 4, rows + 50.5]
            file[f"{part}/x"] = np.stack(columns, axis=1).astype(np.float32)
            file[f"{part}/t"] = (rows + 1).astype(np.float32)
            file[f"{part}/e"] = (rows % 2).astype(np.int32)
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(tmp_path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(deepsurv, "METABRIC_SHA256", digest)


@pytest.mark.usefixtures("small_metabric")
def test_training_rows_come_first_and_columns_are_named():
    X, y = load_metabric()
    assert X["age"].tolist() == [50.5, 51.5, 52.5, 53.5, 54.5]
    assert X["er_positive"].dtype == "category"
    assert y["duration"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert y["event"].tolist() == [0, 1, 0, 1, 0]


@pytest.mark.usefixtures("small_metabric")
def test_without_h5py_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DataError, match=r"pip install 'survtrace\[datasets\]"):
        load_metabric()


def test_metabric_is_as_published(monkeypatch):
    use_real_file(monkeypatch, deepsurv.METABRIC_FILE)
    X, y = load_metabric()
    assert X.shape == (1904, 9)
    assert y["event"].sum() == 1103
    assert list(X.select_dtypes("category")) == deepsurv.METABRIC_TREATMENTS
    assert X["age"].between(21, 97).all()
    assert len(read_outcome(y)) == 1904


def test_support_is_as_published(monkeypatch):
    use_real_file(monkeypatch, deepsurv.SUPPORT_FILE)
    X, y = load_support()
    assert X.shape == (8873, 14)
    assert y["event"].sum() == 6036
    assert list(X.select_dtypes("category")) == deepsurv.SUPPORT_HISTORY
    assert X["cancer"].cat.categories.tolist() == [0, 1, 2]
    assert X["n_comorbidities"].cat.categories.tolist() == list(range(10))
    assert X["temperature"].between(31, 42).all()


@pytest.mark.parametrize(
    ("load", "file", "splits"),
    [
        (load_metabric, deepsurv.METABRIC_FILE, "splits_metabric.npz"),
        (load_support, deepsurv.SUPPORT_FILE, "splits_support.npz"),
    ],
)
def test_rows_are_in_the_order_of_the_shared_splits(monkeypatch, load, file, splits):
    home = use_real_file(monkeypatch, file)
    if not (home / splits).is_file():
        pytest.skip(f"{splits} is not beside {file}")
    _, y = load()
    deaths = y.loc[y["event"] == 1, "duration"]
    with np.load(home / splits) as shared:
        np.testing.assert_allclose(
            shared["horizons"], deaths.quantile([0.25, 0.5, 0.75]), rtol=1e-6
        )
        rows = np.concatenate([shared[f"{part}_0"] for part in ("train", "val", "test")])
    assert sorted(rows) == list(range(len(y)))
