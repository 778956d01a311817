"""--ray hands the work to survtrace.distributed, and says what it is told; once in earnest."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE, distributed, load
from survtrace.tables.files.text_files import TO_THE_LAST_DIGIT

OUTCOME = ("--duration", "months", "--event", "cause", "--id", "patient")


@pytest.fixture
def told(monkeypatch, tiny):
    """What each function of survtrace.distributed was told last; a fit is one of this process."""
    told = {}

    def fit(est, X, y, **how):
        told["fit"], told["table"] = how, X
        return est.fit(X, y)

    def predict_files(est, table, out, times, **how):
        told["predict"] = {"out": out, "times": times, **how}
        return 240

    def tune(X, y, folder, **how):
        told["tune"] = {"folder": folder, **how}
        return tiny

    for function in (fit, predict_files, tune):
        monkeypatch.setattr(f"survtrace.distributed.{function.__name__}", function)
    return told


def test_fit(survtrace, told, table, tmp_path, tiny, three_causes, fitted_three):
    small = [option for name, value in tiny.items() for option in ("--set", f"{name}={value}")]
    options = ("--ray", "--workers", 3, "--storage", tmp_path / "shared", "--out", tmp_path / "m")
    ended = survtrace("fit", table, *OUTCOME, *options, *small)
    assert ended.code == 0, ended.err
    assert told["fit"] == {"n_workers": 3, "use_gpu": False, "storage": str(tmp_path / "shared")}
    X, _ = three_causes
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), fitted_three.predict(X))


def test_fit_leaves_a_parquet_file_to_the_workers(survtrace, told, patients, tmp_path, tiny):
    patients.to_parquet(tmp_path / "p.parquet", index=False)
    small = [option for name, value in tiny.items() for option in ("--set", f"{name}={value}")]
    options = (*OUTCOME, "--ray", *small, "--out", tmp_path / "m")
    ended = survtrace("fit", tmp_path / "p.parquet", *options)
    assert ended.code == 0, ended.err
    assert told["table"] == tmp_path / "p.parquet"
    assert load(tmp_path / "m").card_["n_subjects"] == 240
    ended = survtrace("fit", tmp_path / "p.parquet", *options, "--force", "--set", "ips=paper")
    assert ended.code == 0, ended.err
    assert len(told["table"]) == 240, "weights need the whole table"


@pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*")
@pytest.mark.xdist_group("ray")
def test_fit_by_a_worker_that_is_real(cluster, survtrace, patients, tmp_path, tiny, three_causes):
    patients.to_parquet(tmp_path / "patients.parquet", index=False)
    small = [option for name, value in tiny.items() for option in ("--set", f"{name}={value}")]
    table, model, out = (tmp_path / name for name in ("patients.parquet", "model", "p.csv"))
    shared = ("--ray", "--workers", 1, "--storage", tmp_path / "shared")
    ended = survtrace("fit", table, *OUTCOME, *shared, *small, "--out", model)
    assert ended.code == 0, ended.err
    est = load(model)
    assert est.causes_ == [1, 2, 3]
    assert est.card_["n_subjects"] == 240
    assert not est.card_["interrupted"]
    assert len(est.history_) == tiny["max_epochs"] * tiny["n_members"]
    ended = survtrace("predict", model, table, "--times", "2.5,8", "--id", "patient", "--out", out)
    assert ended.code == 0, ended.err
    found = pd.read_csv(out, **TO_THE_LAST_DIGIT)
    assert found.pop("patient").tolist() == patients["patient"].tolist()
    incidence = est.predict_cumulative_incidence(three_causes[0], [2.5, 8], as_frame=True)
    pd.testing.assert_frame_equal(found[incidence.columns], incidence, rtol=0, atol=1e-14)


def test_predict(survtrace, told, model, table, tmp_path):
    options = ("--times", "2.5,8", "--ray", "--gpu", "--id", "patient", "--survival-only")
    ended = survtrace("predict", model, table, *options, "--out", tmp_path / "p", "--json")
    assert json.loads(ended.out)["rows"] == 240
    assert told["predict"] == {
        "out": tmp_path / "p",
        "times": [2.5, 8.0],
        "keep": ["patient"],
        "causes": False,
        "std": False,
        "typicality": False,
        "n_workers": 2,
        "use_gpu": True,
    }


def test_predict_needs_a_folder(survtrace, told, model, table):
    code, out, err = survtrace("predict", model, table, "--times", 8, "--ray")
    assert (code, out) == (2, "")
    assert "--ray writes a folder of Parquet files; pass its path as --out" in err


def test_tune(survtrace, told, table, tmp_path, tiny):
    ended = survtrace("tune", table, *OUTCOME, "--ray", "--trials", 4, "--out", tmp_path / "t")
    assert json.loads(ended.out) == tiny
    assert told["tune"] == {"folder": tmp_path / "t", "space": "wide", "n_trials": 4}


def test_without_ray_the_way_out_is_named(survtrace, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = survtrace("fit", table, *OUTCOME, "--ray", "--out", tmp_path / "m")
    assert code == 2
    assert "pip install 'survtrace[distributed]'" in err
    with pytest.raises(ModuleNotFoundError, match=r"need ray.*survtrace\[distributed\]"):
        distributed.fit(SurvTRACE(), None, None)
