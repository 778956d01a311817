"""An ONNX file gives what the estimator gives, or NaN; it appears whole and verified, or not."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pytest

from survtrace import SavedFileError, SettingError, SurvTRACE, portable
from survtrace.errors import MissingExtraError
from survtrace.export import export_onnx, onnx_file, output_nodes
from survtrace.export.graph import IR_VERSION, OPSET
from survtrace.export.parameters import read_parameters

CLOSE = {"rtol": 0, "atol": 1e-6}
# The ends of an interval magnify the rounding of a curve, the more so the wider it is.
CLOSE_ENDS = {"rtol": 0, "atol": 5e-6}
MODELS = ["three causes", "one cause", "no attention", "by age", "updated"]


def rough_rows(X, n=200):
    """Raw rows: each column on its own, some values missing, some levels never seen."""
    rng, columns = np.random.default_rng(0), {}
    for name in X:
        column = X[name].astype(object).to_numpy()[rng.integers(len(X), size=n)]
        where = rng.random(n)
        column[where < 0.15] = None
        if isinstance(column[where >= 0.15][0], str):
            column[where > 0.9] = "never seen"
        columns[name] = column
    return pd.DataFrame(columns)


def expected(est, X, times, after=None):
    """What the estimator says, by the names of the outputs."""
    how = {"times": times, "conditional_after": after}
    with warnings.catch_warnings(action="ignore"):
        survival = est.predict_survival_function(X, return_std=True, **how)
        incidence = est.predict_cumulative_incidence(X, return_std=True, **how)
        found = dict(zip(("survival", "survival_std"), survival, strict=True))
        found |= dict(zip(("incidence", "incidence_std"), incidence, strict=True))
        if est.interval_ is not None:
            for kind in ("survival", "incidence"):
                ends = est.predict_interval(X, kind=kind, **how)
                found |= dict(zip((f"{kind}_low", f"{kind}_high"), ends, strict=True))
    return found


def require_equal(found, right):
    assert set(found) == set(right)
    for name, array in right.items():
        close = CLOSE_ENDS if name.endswith(("_low", "_high")) else CLOSE
        np.testing.assert_allclose(found[name], array, err_msg=name, **close)


@pytest.fixture(scope="module")
def files(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return {
        name: export_onnx(est, folder / f"{name}.onnx").path for name, (est, _) in fitted.items()
    }


@pytest.fixture(params=MODELS)
def case(request, fitted, files, open_client):
    est, X = fitted[request.param]
    return est, X, open_client(files[request.param])


@pytest.fixture(scope="module")
def three(fitted, files, open_client):
    est, X = fitted["three causes"]
    return est, X, open_client(files["three causes"])


def times_of(est):
    """Before the grid, its cuts, between them, its end, beyond it, and for ever."""
    cuts = est.time_grid_
    return np.sort([0, 0.9 * cuts[0], *cuts, *(cuts[1:] * 0.97), 1.5 * cuts[-1], np.inf])


def test_every_output_is_that_of_the_estimator(case):
    est, X, client = case
    rows, times = rough_rows(X), times_of(est)
    require_equal(client.ask(rows, times), expected(est, rows, times))


def test_every_output_is_that_of_subjects_event_free_until_a_start(case):
    est, X, client = case
    rows, times = rough_rows(X), times_of(est)
    after = np.random.default_rng(1).uniform(0, 1.2 * est.time_grid_[-1], len(rows))
    after[:4] = [0, est.time_grid_[0], est.time_grid_[1], est.time_grid_[-1]]
    require_equal(client.ask(rows, times, after), expected(est, rows, times, after))
    require_equal(client.ask(rows, times, after[9]), expected(est, rows, times, after[9]))


def test_each_subject_may_have_times_of_its_own(case):
    est, X, client = case
    rows = rough_rows(X, 50)
    after = np.linspace(est.time_grid_[0], est.time_grid_[-1], len(rows))
    times = after[:, None] + [0.0, 1.0, 5.0]
    require_equal(client.ask(rows, times, after), expected(est, rows, times, after))


def test_one_patient_at_one_time_keeps_its_axes(three):
    est, X, client = three
    found = client.ask(X[:1], [5.0])
    assert found["survival"].shape == (1, 1)
    assert found["incidence"].shape == (1, 3, 1)
    require_equal(found, expected(est, X[:1], [5.0]))


def test_a_subject_alone_gets_the_answer_it_gets_in_a_table(three):
    _, X, client = three
    whole, alone = client.ask(X[:30], [5.0]), client.ask(X[7:8], [5.0])
    for name, array in alone.items():
        np.testing.assert_allclose(array[0], whole[name][7], rtol=0, atol=2e-7)


def test_survival_and_incidences_sum_to_one(three):
    est, X, client = three
    found = client.ask(X, times_of(est), 2.0)
    total = found["survival"] + found["incidence"].sum(axis=1)
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("number", [np.inf, -np.inf, 1e30, -1e21, 1e15])
def test_a_number_that_the_estimator_refuses_gives_nan_for_its_subject(three, number):
    _, X, client = three
    inputs = client.inputs(X[:3])
    inputs["numbers"][1, 0] = number
    for array in client.ask(inputs, [1.0, 5.0]).values():
        assert np.isnan(array[1]).all()
        assert np.isfinite(array[[0, 2]]).all()


@pytest.mark.parametrize("code", [-3, 3, 2**40, -(2**62)])
def test_a_code_that_is_none_gives_nan_for_its_subject(three, code):
    _, X, client = three
    inputs = client.inputs(X[:3])
    inputs["codes"][1, 1] = code
    for array in client.ask(inputs, [1.0, 5.0]).values():
        assert np.isnan(array[1]).all()
        assert np.isfinite(array[[0, 2]]).all()


@pytest.mark.parametrize("time", [-1.0, np.nan, -np.inf])
def test_a_time_that_is_none_gives_nan_at_that_time(three, time):
    _, X, client = three
    for array in client.ask(X[:3], [1.0, time, 5.0]).values():
        assert np.isnan(array[..., 1]).all()
        assert np.isfinite(array[..., [0, 2]]).all()


@pytest.mark.parametrize("start", [-1.0, np.nan, np.inf])
def test_a_start_that_is_none_gives_nan_for_its_subject(three, start):
    _, X, client = three
    for array in client.ask(X[:3], [1.0, 5.0], [0.0, start, 2.0]).values():
        assert np.isnan(array[1]).all()
        assert np.isfinite(array[[0, 2]]).all()


def test_hazards_that_overflow_give_nan(fitted, tmp_path, open_client):
    fitted["no attention"][0].save(tmp_path / "saved")
    light = portable.load(tmp_path / "saved")
    network = read_parameters(tmp_path / "saved", light.encoding_)
    network.arrays["outer.weight"][:] = 1e38
    client = open_client(onnx_file.build_file(light, network, None)[0])
    numbers = client.inputs(fitted["no attention"][1][:2])
    numbers["numbers"][:, 0] = [60.0, 1e9]
    assert np.isnan(client.ask(numbers, [5.0])["survival"][1]).all()


def odd_table(n=120):
    rng = np.random.default_rng(0)
    names = ["Größe in cm", "groesse_in_cm", "größe in cm ", 'a "quoted", {name}', "年齢", "x/y?"]
    X = pd.DataFrame({name: rng.normal(size=n) for name in names})
    X["constant"], X["empty"] = 7.0, np.nan
    X["code"] = rng.choice(["a", "Ä ", "true", "1", "<b>"], n)
    X["long list"] = [f"level {k % 50}" for k in range(n)]
    X["one level"] = "same"
    y = pd.DataFrame({"event": rng.integers(0, 2, n), "duration": rng.uniform(1, 10, n)})
    return X, y


def test_odd_names_constant_and_empty_columns_are_answered_for(tiny, tmp_path, open_client):
    X, y = odd_table()
    with warnings.catch_warnings(action="ignore"):
        est = SurvTRACE(**tiny).fit(X, y)
    client = open_client(export_onnx(est, tmp_path / "ein Modell.onnx").path)
    assert list(client.schema["properties"]) == list(X)
    X = X.assign(constant=np.linspace(-5, 5, len(X)), empty=1.0, code=X["code"].str.strip())
    require_equal(client.ask(X, [2.0, 5.0]), expected(est, X, [2.0, 5.0]))


def test_the_data_dictionary_holds(tiny, three_causes, tmp_path, open_client):
    X, y = three_causes
    columns = {"age": {"missing": ["999", "-1", "unknown"], "low": 0, "high": 120, "unit": "years"}}
    est = SurvTRACE(**{**tiny, "columns": columns}).fit(X, y)
    client = open_client(export_onnx(est, tmp_path / "model.onnx").path)
    rows = X[:4].assign(age=[999.0, -1.0, 61.0, 120.0])
    require_equal(client.ask(rows, [5.0]), expected(est, rows, [5.0]))
    beyond = client.ask(X[:4].assign(age=[121.0, -0.5, 999.5, 0.0]), [5.0])["survival"]
    assert np.isnan(beyond[:, 0]).tolist() == [True, True, True, False]


def test_the_level_of_the_intervals_is_chosen(fitted, tmp_path, open_client):
    est, X = fitted["three causes"]
    client = open_client(export_onnx(est, tmp_path / "half.onnx", level=0.5).path)
    assert client.schema["x-survtrace"]["level"] == 0.5
    low, high = est.predict_interval(X, [5.0], level=0.5)
    found = client.ask(X, [5.0])
    np.testing.assert_allclose(found["incidence_low"], low, **CLOSE_ENDS)
    np.testing.assert_allclose(found["incidence_high"], high, **CLOSE_ENDS)


def test_intervals_are_left_out_where_asked_or_not_known(fitted, tmp_path):
    for name, level in (("three causes", None), ("updated", 0.95)):
        written = export_onnx(fitted[name][0], tmp_path / f"{name}.onnx", level=level)
        graph = onnx.load(written.path).graph
        assert written.level is None
        assert [output.name for output in graph.output] == [
            *("survival", "incidence", "survival_std", "incidence_std")
        ]


@pytest.mark.parametrize("level", [0, 1, 95, "high"])
def test_a_level_that_is_none_is_refused(fitted, tmp_path, level):
    with pytest.raises(SettingError, match="level must be a number above 0 and below 1"):
        export_onnx(fitted["three causes"][0], tmp_path / "model.onnx", level=level)
    assert not list(tmp_path.iterdir())


def test_a_folder_and_a_fitted_estimator_give_the_same_file(fitted, tmp_path):
    est = fitted["three causes"][0]
    est.save(tmp_path / "saved")
    sources = [est, tmp_path / "saved", str(tmp_path / "saved")]
    contents = {
        export_onnx(source, tmp_path / "model.onnx").path.read_bytes() for source in sources
    }
    assert len(contents) == 1


def test_it_reads_in_old_runtimes_and_speaks_for_itself(files):
    model = onnx.load(files["three causes"])
    assert (model.ir_version, model.opset_import[0].version) == (IR_VERSION, OPSET) == (8, 17)
    assert [each.domain for each in model.opset_import] == [""]
    assert model.producer_name == "survtrace"
    assert all(each.doc_string for each in [*model.graph.input, *model.graph.output])
    schema = json.loads({prop.key: prop.value for prop in model.metadata_props}["schema"])
    beside = files["three causes"].with_suffix(".schema.json")
    assert schema == json.loads(beside.read_text(encoding="utf-8"))


def test_axes_of_subjects_and_times_are_open(files):
    graph = onnx.load(files["three causes"]).graph
    shapes = {
        each.name: [axis.dim_param or axis.dim_value for axis in each.type.tensor_type.shape.dim]
        for each in [*graph.input, *graph.output]
    }
    assert shapes["numbers"] == ["subject", 2]
    assert shapes["codes"] == ["subject", 2]
    assert shapes["times"] == ["subject or 1", "time"]
    assert shapes["after"] == ["1 or subject"]
    assert shapes["survival"] == ["subject", "time"]
    assert shapes["incidence_high"] == ["subject", 3, "time"]


def test_a_file_that_is_wrong_does_not_appear(fitted, tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_text("before")
    hazards = output_nodes.hazard_nodes
    monkeypatch.setattr(output_nodes, "hazard_nodes", lambda *args: hazards(*args) * 1.001)
    with pytest.raises(SavedFileError, match=r"must give what the model gives.* was not kept"):
        export_onnx(fitted["three causes"][0], path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_text() == "before"


def test_file_and_schema_are_two(fitted, tmp_path):
    path = tmp_path / "model.onnx"
    for schema_path in (path, tmp_path / "roundabout" / ".." / path.name):
        with pytest.raises(SettingError, match="file and schema must be two files"):
            export_onnx(fitted["three causes"][0], path, schema_path=schema_path)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(SavedFileError, match="holds no saved estimator"):
        export_onnx(tmp_path, tmp_path / "model.onnx")


def test_without_onnx_the_extra_is_named(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'survtrace\[onnx\]'"):
        export_onnx(fitted["three causes"][0], tmp_path / "model.onnx")


def test_a_folder_is_exported_without_torch_and_pandas(fitted, tmp_path):
    fitted["three causes"][0].save(tmp_path / "saved")
    code = (
        "import sys\n"
        "for name in ('torch', 'pandas', 'scipy', 'sklearn', 'numba'): sys.modules[name] = None\n"
        "from survtrace.export import export_onnx\n"
        "print(export_onnx('saved', 'model.onnx').largest_difference < 5e-6)"
    )
    source = Path(onnx_file.__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(source)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout.strip() == "True", run.stderr


def test_the_model_is_not_written_over_and_a_level_of_numpy_is_one(fitted_one, tmp_path):
    fitted_one.save(tmp_path / "model")
    note = tmp_path / "model" / "estimator.json"
    for out in ({"path": note}, {"path": tmp_path / "m.onnx", "schema_path": note}):
        with pytest.raises(SettingError, match=r"what is read .* is never written to"):
            export_onnx(tmp_path / "model", **out)
    assert export_onnx(tmp_path / "model", tmp_path / "m.onnx", level=np.float32(0.5)).path.exists()
