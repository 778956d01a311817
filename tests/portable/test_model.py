"""The portable predictor answers as the estimator does, from raw rows, without torch."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import survtrace
from survtrace import DataError, SavedFileError, SettingError, SurvTRACE, portable
from survtrace.datasets import make_cohort
from survtrace.portable.rows import open_rows

TIMES = [0.0, 1.0, 12.0, 40.0, 1e4]
UNBOUNDED = ("predict_quantile", "predict_rmst", "predict_cumulative_hazard_function")
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
# The upper end of an interval multiplies the hazards, and what single precision rounded in them:
# 1.9e-6 on one processor, .8e-6 on another. An end of another level is .01 away.
CLOSE_ENDS = {"rtol": 0, "atol": 4e-6}
SMALL = {"n_intervals": 3, "max_epochs": 2, "unknown_steps": 5, "verbose": False}


def rough_rows(X, n=120):
    """Raw rows with missing values, unseen and oddly written categories, text and far numbers."""
    random = np.random.default_rng(0)
    rows = X.sample(n, replace=True, random_state=0).astype(object).reset_index(drop=True)
    for name in rows:
        where = random.random(n)
        rows.loc[where < 0.1, name] = None
        if X[name].dtype.kind in "OUT" or isinstance(X[name].dtype, pd.CategoricalDtype):
            rows.loc[where > 0.95, name] = "never seen"
            rows.loc[(where > 0.9) & (where < 0.95), name] = " Unknown "
        else:
            rows.loc[where > 0.98, name] = 1.5 * X[name].max()
    return rows


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(
        400, n_causes=4, proportions=(0.3, 0.2, 0.1, 0.1), missing=0.1, random_state=0
    )


@pytest.fixture(scope="module")
def folders(cohort, tmp_path_factory):
    """Five saved estimators: four causes, one, one member, updated, the paper's small network."""
    folder, (X, y) = tmp_path_factory.mktemp("saved"), cohort
    one_cause = y.assign(event=(y["event"] > 0).astype(int))
    fitted = {
        "four causes": SurvTRACE(n_members=3, random_state=0, **SMALL).fit(X, y),
        "one cause": SurvTRACE(n_members=2, random_state=1, **SMALL).fit(X, one_cause),
        "one member": SurvTRACE(n_members=1, intervals=False, random_state=2, **SMALL).fit(X, y),
        "paper": SurvTRACE(
            n_members=2, head_depth=1, token_bias=False, proportional=0.0, depth=2, n_heads=1,
            intervals=False, random_state=3, **SMALL,
        ).fit(X, y),
    }  # fmt: skip
    for name, est in fitted.items():
        est.save(folder / name)
    fitted["one cause"].update(X[:200], one_cause[:200], how="slope").save(folder / "updated")
    return folder


MODELS = ["four causes", "one cause", "one member", "paper", "updated"]


@pytest.fixture(params=MODELS)
def pair(request, folders):
    path = folders / request.param
    return survtrace.load(path), portable.load(path)


def ask(predictor, name, X, *args, **how):
    """What a method answers, as a list of arrays; or its error, and what it warns of."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            found = getattr(predictor, name)(X, *args, **how)
        except survtrace.SurvtraceError as error:
            found = [str(error)]
    arrays = list(found) if isinstance(found, tuple | list) else [found]
    return arrays, [(warning.category, str(warning.message)) for warning in caught]


def tolerance(name):
    """How near an answer has to be to the estimator's."""
    if name == "predict_interval":
        return CLOSE_ENDS
    # A time at which a curve is crossed is as uncertain as the curve is flat there; times and
    # hazards are not bounded as probabilities are.
    return {"rtol": 1e-5, "atol": 1e-6} if name in UNBOUNDED else CLOSE


def require_equal(pair, X, name, *args, **how):
    est, light = pair
    expected, warned = ask(est, name, pd.DataFrame(X), *args, **how)
    found, warned_too = ask(light, name, X, *args, **how)
    assert warned_too == warned
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, str):
            assert one == other
        else:
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, **tolerance(name))


AFTER = [None, 6.0, np.linspace(0, 50, 120)]


@pytest.mark.parametrize("after", AFTER, ids=["from 0", "from 6", "from own times"])
def test_every_curve_is_that_of_the_estimator(pair, cohort, after):
    rows = rough_rows(cohort[0]).to_dict("records")
    own_times = np.linspace(0, 60, 120)[:, None] + [1.0, 10.0]
    for times in (TIMES, own_times):
        for name in ("survival_function", "cumulative_incidence", "net_incidence"):
            how = {"return_std": True, "conditional_after": after}
            require_equal(pair, rows, f"predict_{name}", times, **how)
        require_equal(
            pair, rows, "predict_cumulative_hazard_function", times, conditional_after=after
        )
        require_equal(pair, rows, "predict_interval", times, conditional_after=after)
    require_equal(pair, rows, "predict_proba", 12.0, conditional_after=after)
    require_equal(pair, rows, "predict_quantile", [0.1, 0.5], conditional_after=after)
    for horizon in (24.0, 200.0):  # on the grid, and beyond it
        require_equal(pair, rows, "predict_rmst", horizon, conditional_after=after)


def test_in_chunks_each_subject_has_its_own_times_and_start(pair, cohort, monkeypatch):
    rows = cohort[0][:120].to_dict("records")
    own_times = np.linspace(5, 60, 120)[:, None] + [1.0, 10.0]
    question = "predict_survival_function", rows, own_times
    [whole], _ = ask(pair[1], *question, conditional_after=np.linspace(0, 5, 120))
    monkeypatch.setattr("survtrace.portable.predictor.MOST_NUMBERS", 10_000)
    [chunks], _ = ask(pair[1], *question, conditional_after=np.linspace(0, 5, 120))
    np.testing.assert_allclose(chunks, whole, **CLOSE)


def test_no_times_give_no_columns(pair, cohort):
    for name in ("survival_function", "cumulative_incidence", "cumulative_hazard_function"):
        require_equal(pair, cohort[0][:5].to_dict("records"), f"predict_{name}", [])


def test_scores_typicality_and_attention_are_those_of_the_estimator(pair, cohort):
    rows = rough_rows(cohort[0]).to_dict("records")
    require_equal(pair, rows, "predict")
    require_equal(pair, rows, "typicality")
    require_equal(pair, rows, "attention")
    why = [ask(each, "typicality", pd.DataFrame(rows), reasons=True)[0][1] for each in pair]
    assert why[0] == why[1]


def test_a_single_patient_gets_the_warning_of_a_single_patient(pair, cohort):
    far = {**cohort[0].astype(object).iloc[0].to_dict(), "body_mass_index": 90.0}
    require_equal(pair, [far], "predict")


def test_functions_of_time_are_those_of_the_estimator(pair, cohort):
    curves = [each.predict_cumulative_incidence(cohort[0][:2], return_array=False) for each in pair]
    assert curves[0].shape == curves[1].shape
    for one, other in zip(*(each.ravel() for each in curves), strict=True):
        np.testing.assert_allclose(one([3.0, 20.0]), other([3.0, 20.0]), **CLOSE)


def test_rows_may_come_in_any_form(folders, cohort):
    light, X = portable.load(folders / "four causes", compiled=False), cohort[0][:50]
    expected = light.predict(X)
    plain = X.astype(object).where(X.notna(), None)
    records = X.to_records(index=False)
    forms = [plain.to_dict("records"), plain.to_dict("list"), dict(X.items()), records]
    for form in forms:
        np.testing.assert_array_equal(light.predict(form), expected)
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(light.predict(polars.from_pandas(X)), expected)
    arrow = polars.from_pandas(X).to_arrow()
    for form in (arrow, arrow.combine_chunks().to_batches()[0]):
        np.testing.assert_array_equal(light.predict(form), expected)
    with pytest.raises(DataError, match=r"LazyFrame, which is yet to be .* what \.collect\(\)"):
        light.predict(polars.from_pandas(X).lazy())


@pytest.mark.parametrize("name", ["collect", "column_names"])
def test_a_column_may_be_called_as_a_method_of_other_frames_is(name):
    assert [*open_rows(pd.DataFrame({name: [61.0, 47.0]}))] == [name]


def test_categories_that_are_dates_are_those_of_the_estimator(tiny, one_cause, tmp_path):
    X, y = one_cause
    days = pd.to_datetime(np.arange(len(X)) % 3, unit="D")
    est = SurvTRACE(**tiny).fit(X.assign(day=pd.Categorical(days)), y)
    est.save(tmp_path / "model")
    light, expected = portable.load(tmp_path / "model"), est.predict(X.assign(day=days))
    rows = {name: X[name].tolist() for name in X}
    for day in (pd.Categorical(days), days, days.to_numpy(), days.to_numpy("datetime64[D]")):
        np.testing.assert_allclose(light.predict({**rows, "day": day}), expected, atol=1e-6)


def test_spans_of_whole_numbers_are_those_of_the_estimator_beside_missing_ones(
    tiny, one_cause, tmp_path
):
    """Pandas writes them as (50.0, 60.0] where a value is missing."""
    X, y = one_cause
    cut = X.assign(age=pd.cut(X["age"].rank(), [0, 50, 100, len(X)]))
    est = SurvTRACE(**tiny).fit(cut, y)
    est.save(tmp_path / "saved")
    fewer = cut.assign(age=cut["age"].where(np.arange(len(X)) > 7))
    for form in (fewer, {name: fewer[name].array for name in fewer}):
        answers = portable.load(tmp_path / "saved").predict(form)
        np.testing.assert_allclose(answers, est.predict(fewer), **CLOSE)


def test_frames_of_predictions_have_the_names_of_the_estimator(folders, cohort):
    path, X = folders / "four causes", cohort[0][:3]
    found = portable.load(path).predict_cumulative_incidence(X, [12.0], as_frame=True)
    expected = survtrace.load(path).predict_cumulative_incidence(X, [12.0], as_frame=True)
    pd.testing.assert_frame_equal(found, expected, check_exact=False, **CLOSE)


@pytest.mark.parametrize(
    "bad",
    [
        {"body_mass_index": [np.inf]},
        {"body_mass_index": ["heavy"]},
        {"body_mass_index": [1e30]},
    ],
)
def test_bad_values_are_refused_in_the_words_of_the_estimator(folders, cohort, bad):
    path = folders / "four causes"
    X = {**cohort[0].astype(object)[:1].to_dict("list"), **bad}
    errors = []
    for predictor in (survtrace.load(path), portable.load(path)):
        with pytest.raises(DataError, match="body_mass_index") as error:
            predictor.predict(X)
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_missing_columns_paths_and_lone_rows_are_refused(folders, cohort):
    light = portable.load(folders / "one member")
    rows = cohort[0][:1].astype(object).to_dict("records")
    with pytest.raises(DataError, match=r"missing: .*body_mass_index"):
        light.predict([{"age": 61.0}])
    with pytest.raises(DataError, match="reads no files"):
        light.predict("patients.csv")
    with pytest.raises(DataError, match="one value for each column"):
        light.predict(rows[0])
    with pytest.raises(DataError, match=r"must lie between -1e\+20 and 1e\+20"):
        light.predict([{**rows[0], "body_mass_index": 10**400}])
    with pytest.raises(DataError, match="at least one subject"):
        light.predict({name: [] for name in rows[0]})


def test_a_folder_that_is_none_is_refused_as_by_load(tmp_path):
    with pytest.raises(SettingError, match=r"path must be a path: .*; got 3"):
        portable.load(3)
    with pytest.raises(SavedFileError, match="holds no saved estimator"):
        portable.load(tmp_path)


ALONE = """
import json, sys
for name in ("torch", "pandas", "sklearn", "scipy", "narwhals", "numba", "jaxtyping"):
    sys.modules[name] = None   # whoever imports it fails
import warnings
warnings.simplefilter("ignore")
from survtrace import portable
light = portable.load(sys.argv[1])
rows = json.load(sys.stdin)
low, high = light.predict_interval(rows, [12.0])
light.typicality(rows, reasons=True), light.attention(rows)
json.dump([light.predict_cumulative_incidence(rows, [12.0]).tolist(), low.tolist()], sys.stdout)
"""


def test_it_runs_where_there_is_nothing_but_numpy_and_safetensors(folders, cohort):
    path = folders / "four causes"
    rows = rough_rows(cohort[0], 20)
    text = rows.to_json(orient="records")
    command = [sys.executable, "-c", ALONE, str(path)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    est, found = survtrace.load(path), json.loads(done.stdout)
    with warnings.catch_warnings(action="ignore"):
        expected = est.predict_cumulative_incidence(rows, [12.0])
        low, _ = est.predict_interval(rows, [12.0])
    np.testing.assert_allclose(found[0], expected, **CLOSE)
    np.testing.assert_allclose(found[1], low, **CLOSE)


def test_compiled_is_true_false_or_left_out(folders):
    with pytest.raises(SettingError, match="compiled must be one of None, True, False; got 'no'"):
        portable.load(folders / "one cause", compiled="no")
