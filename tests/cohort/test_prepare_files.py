"""A cohort on disk is prepared as one in memory is; a fit from a file is as good."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from survtrace import DataError, DataWarning, SettingError, SurvTRACE, load
from survtrace.cohort import scratch_file as scratch_module
from survtrace.cohort.file_source import FileSource
from survtrace.cohort.prepare import prepare
from survtrace.cohort.source import read_frame
from survtrace.cohort.validation import split_validation
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import learn_encoding
from survtrace.tables.outcome.outcome import read_outcome
from survtrace.tables.outcome.roles import read_roles
from survtrace.tables.outcome.time_grid import quantile_cuts

ROLES = {"event": "cause", "duration": "months"}
DEFAULTS = {
    "categorical": None,
    "n_intervals": 3,
    "time_grid": None,
    "validation_fraction": 0.2,
    "columns": None,
    "ips": "none",
}


def stored(X, y, path, **roles):
    frame = X.assign(months=y["duration"].to_numpy(), cause=y["event"].to_numpy())
    frame.to_parquet(path, row_group_size=64)
    return FileSource(path, read_roles({**ROLES, **roles}), chunk_rows=50)


def prepare_streamed(source, seeds=(1, 2), zero_duration="raise", **settings):
    source = replace(source, zero_duration=zero_duration)
    return prepare(source, SimpleNamespace(**{**DEFAULTS, **settings}), list(seeds))


@pytest.fixture
def path(three_causes, tmp_path):
    """The cohort of three causes in a file."""
    stored(*three_causes, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def everyone(streamed):
    """The whole cohort as it lies on disk."""
    return streamed.layout.unpack(streamed.store.read(range(len(streamed.store.sizes))))


def held_out_by_all(y, seeds):
    """Rows that no member trains on."""
    return np.flatnonzero(~split_validation(y["event"].to_numpy(), 0.2, seeds).learned_from())


@pytest.mark.parametrize("seeds", [[1], [1, 2]])
def test_what_is_learned_is_what_the_training_rows_teach(three_causes, path, seeds):
    X, y = three_causes
    used = np.setdiff1d(np.arange(len(X)), held_out_by_all(y, seeds))
    assert len(used) < len(X)
    files = FileSource(path, read_roles(ROLES), chunk_rows=50)
    with prepare_streamed(files, seeds=seeds) as streamed:
        pass
    expected = learn_encoding(open_table(X.iloc[used]), infer_covariates(open_table(X)))
    for ours, theirs in zip(streamed.encoding.columns, expected.columns, strict=True):
        for name, value in vars(theirs).items():
            close = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            assert getattr(ours, name) == close
    outcome = read_outcome(y).take(used)
    np.testing.assert_array_equal(streamed.trained_on.duration, outcome.duration)
    np.testing.assert_array_equal(streamed.trained_on.event, outcome.event)
    np.testing.assert_array_equal(streamed.cuts, quantile_cuts(outcome, 3))


def test_the_cohort_on_disk_is_that_of_the_table(three_causes, path):
    X, y = three_causes
    files = FileSource(path, read_roles(ROLES), chunk_rows=50)
    with prepare_streamed(files) as streamed:
        cohort = everyone(streamed)
    encoded = streamed.encoding.encode(open_table(X))
    np.testing.assert_array_equal(cohort.rows, encoded.rows)
    np.testing.assert_array_equal(cohort.values, encoded.values)
    np.testing.assert_array_equal(cohort.event, y["event"])
    assert streamed.split.n_training == 240 - 48


@pytest.mark.parametrize("time_grid", [None, [1, 3]])
@pytest.mark.filterwarnings("ignore:.*events lie beyond the time grid")
def test_a_file_and_a_frame_have_the_same_validation_subjects(three_causes, tmp_path, time_grid):
    X, y = three_causes
    y = y.copy()
    y.loc[[60, 130], "event"], y.loc[[60, 130], "duration"] = 0, 0.0
    files = stored(X, y, tmp_path / "t.parquet")
    settings = SimpleNamespace(**{**DEFAULTS, "time_grid": time_grid})
    with (
        pytest.warns(DataWarning, match="2 of 240 subjects are censored at duration 0"),
        prepare(read_frame(X, y), settings, [1, 2, 3]) as frame,
        prepare(files, settings, [1, 2, 3]) as file,
    ):
        on_disk = everyone(file)
    np.testing.assert_array_equal(file.split.bits, frame.split.bits)
    for ours, theirs in zip(on_disk, frame.layout.tensors(frame.store), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert file.counts == frame.counts
    np.testing.assert_array_equal(file.cuts, frame.cuts)


def test_a_folder_in_other_pieces_is_the_same_cohort(three_causes, path, tmp_path):
    X, y = three_causes
    (tmp_path / "folder").mkdir()
    for first in range(0, 240, 70):
        some = slice(first, first + 70)
        stored(X[some], y[some], tmp_path / "folder" / f"{first:03d}.parquet")
    with prepare_streamed(FileSource(path, read_roles(ROLES))) as whole:
        pass
    folder = FileSource(tmp_path / "folder", read_roles(ROLES))
    with prepare_streamed(folder) as parts:
        pass
    assert list(parts.content()) == list(whole.content())


def test_weights_have_mean_one_over_the_training_rows(three_causes, tmp_path):
    X, y = three_causes
    weight = np.linspace(0.5, 4.0, len(X))
    files = stored(X.assign(w=weight), y, tmp_path / "t.parquet", weight="w")
    with prepare_streamed(files, seeds=[1]) as streamed:
        found = everyone(streamed).weight.numpy()
    used = np.setdiff1d(np.arange(len(X)), held_out_by_all(y, [1]))
    np.testing.assert_allclose(found, weight / weight[used].mean(), rtol=1e-5)
    for nothing in (0.0, 1e-30):
        files = stored(X.assign(w=nothing), y, tmp_path / "t.parquet", weight="w")
        with pytest.raises(DataError, match="weights must not all be zero; column 'w' is"):
            prepare_streamed(files).__enter__()


def test_subjects_censored_at_once_are_left_out_with_one_warning(three_causes, tmp_path):
    X, y = three_causes
    y = y.copy()
    y.loc[[60, 130], "event"], y.loc[[60, 130], "duration"] = 0, 0.0
    files = stored(X, y, tmp_path / "t.parquet")
    with (
        pytest.warns(DataWarning, match=r"2 of 240 subjects .*\(first: row 60\)") as caught,
        prepare_streamed(files) as streamed,
    ):
        assert streamed.store.sizes == [50, 49, 49, 50, 40]
    assert len(caught) == 1


def test_events_at_zero_are_moved_to_half_the_smallest_duration_of_all(three_causes, tmp_path):
    X, y = three_causes
    y = y.copy()
    y.loc[200, "event"], y.loc[200, "duration"] = 1, 0.0
    files = stored(X, y, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"first: row 200\).*zero_duration='shift'"):
        prepare_streamed(files).__enter__()
    half = y["duration"][y["duration"] > 0].min() / 2
    with prepare_streamed(files, zero_duration="shift") as streamed:
        assert everyone(streamed).fraction[200] == np.float32(half / streamed.cuts[1])
        assert half in streamed.trained_on.duration


def test_a_level_only_held_out_rows_have_is_unseen_and_said_once(three_causes, tmp_path):
    X, y = three_causes
    rows = held_out_by_all(y, [1])
    sex = X["sex"].to_numpy(copy=True)
    sex[rows] = "unheard of"
    files = stored(X.assign(sex=sex), y, tmp_path / "t.parquet")
    with (
        pytest.warns(DataWarning, match="not seen in fit get the unseen token") as caught,
        prepare_streamed(files, seeds=[1]) as streamed,
    ):
        assert "unheard of" not in streamed.encoding.columns[2].levels
    assert len(caught) == 1


@pytest.mark.parametrize("n_rows", [0, 1])
def test_too_few_subjects_are_refused(three_causes, tmp_path, n_rows):
    X, y = three_causes
    files = stored(X[:n_rows], y[:n_rows], tmp_path / "t.parquet")
    with pytest.raises(DataError, match=f"at least two subjects; .* has {n_rows}"):
        prepare_streamed(files).__enter__()


def test_a_cohort_without_events_is_refused(three_causes, tmp_path):
    X, y = three_causes
    files = stored(X, y.assign(event=0), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="at least one subject must have an event"):
        prepare_streamed(files).__enter__()


def test_a_grid_that_ends_early_writes_the_cohort_of_a_study_that_stopped_there(
    three_causes, path, tmp_path
):
    X, y = three_causes
    late = y["duration"] > 3
    early = y.assign(event=y["event"].mask(late, 0), duration=y["duration"].clip(upper=3.0))
    given = {"time_grid": [1, 3]}
    with (
        pytest.warns(DataWarning, match=r"\d+ of \d+ events lie beyond the time grid") as caught,
        prepare_streamed(FileSource(path, read_roles(ROLES), chunk_rows=50), **given) as cut,
    ):
        pass
    assert len(caught) == 1
    with prepare_streamed(stored(X, early, tmp_path / "e.parquet"), **given) as stopped:
        pass
    assert list(cut.content()) == list(stopped.content())
    assert cut.trained_on.duration.max() > 3
    soon = {"time_grid": [1e-9]}
    with pytest.raises(DataError, match="at least one event must lie within the time grid"):
        prepare_streamed(FileSource(path, read_roles(ROLES)), **soon).__enter__()


def test_a_disk_too_small_is_refused_before_anything_is_written(path, monkeypatch, tiny):
    monkeypatch.setattr(scratch_module.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match=r"needs 5,280 bytes .*1,000 are free\. Set .* TMPDIR"):
        SurvTRACE(**tiny).fit(path, ROLES)


def test_a_file_teaches_who_is_censored_as_memory_does(three_causes, tmp_path, tiny):
    X, y = three_causes
    words = y["event"].map({0: "well", 1: "a", 2: "b", 3: "c"})
    stored(X, y.assign(event=words), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="nobody is censored, though there are several labels"):
        SurvTRACE(**tiny).fit(tmp_path / "t.parquet", ROLES)
    est = SurvTRACE(**tiny).fit(tmp_path / "t.parquet", {**ROLES, "censored": "Well"})
    assert (est.causes_, est.censored_) == (["a", "b", "c"], ["well"])
    assert est.score(tmp_path / "t.parquet", ROLES) == pytest.approx(
        est.score(X, y.assign(event=words)), abs=1e-12
    )
    stored(X, y, tmp_path / "t.parquet")
    codes = SurvTRACE(**tiny).fit(tmp_path / "t.parquet", ROLES)
    assert codes.censored_ == [0]
    np.testing.assert_array_equal(est.predict(X), codes.predict(X))


def test_a_file_without_anybody_censored_is_accepted_with_one_warning(three_causes, tmp_path):
    X, y = three_causes
    files = stored(X, y.assign(event=1), tmp_path / "t.parquet")
    with (
        pytest.warns(DataWarning, match="nobody is censored: all 240 subjects") as caught,
        prepare_streamed(files) as streamed,
    ):
        assert streamed.trained_on.causes == (1,)
    assert len(caught) == 1


def test_the_scratch_file_is_closed_whatever_happens(path):
    files = FileSource(path, read_roles(ROLES))
    with pytest.raises(KeyboardInterrupt), prepare_streamed(files) as streamed:
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match="closed file"):
        streamed.store.read([0])


def test_a_fit_from_a_file_is_as_good_as_one_from_memory(draw_cohort, tmp_path, tiny):
    X, y = draw_cohort(3000, n_causes=2)
    stored(X, y, tmp_path / "t.parquet")
    settings = {**tiny, "max_epochs": 4, "batch_size": 128, "lr": 2e-2}
    memory = SurvTRACE(**settings).fit(X, y)
    file = SurvTRACE(**settings).fit(tmp_path / "t.parquet", ROLES)
    assert file.causes_ == memory.causes_
    np.testing.assert_allclose(file.time_grid_, memory.time_grid_, rtol=0.1)
    assert np.corrcoef(file.predict(X), memory.predict(X))[0, 1] > 0.98
    assert file.score(X, y) == pytest.approx(memory.score(X, y), abs=0.005)


def test_the_same_seed_gives_the_same_estimator_to_the_bit(path, three_causes, tiny):
    first, second = (SurvTRACE(**tiny).fit(path, ROLES) for _ in range(2))
    np.testing.assert_array_equal(first.predict(three_causes[0]), second.predict(three_causes[0]))


def test_a_broken_off_fit_goes_on_from_its_checkpoint(path, three_causes, tiny, tmp_path):
    X, _ = three_causes
    settings = {**tiny, "max_epochs": 4}
    expected = SurvTRACE(**settings).fit(path, ROLES).predict(X)
    settings["checkpoint_dir"] = tmp_path / "checkpoint"
    SurvTRACE(**{**settings, "max_epochs": 2}).fit(path, ROLES)
    resumed = SurvTRACE(**settings).fit(path, ROLES)
    np.testing.assert_array_equal(resumed.predict(X), expected)
    stored(X.assign(age=X["age"] ** 2), three_causes[1], path)
    with pytest.raises(SettingError, match="holds a fit of other data or settings"):
        SurvTRACE(**settings).fit(path, ROLES)


def test_the_level_of_a_streamed_fit_is_that_of_the_table(path, three_causes, tiny):
    est = SurvTRACE(**tiny).fit(path, ROLES)
    X, y = three_causes
    ends = np.minimum(y["duration"].to_numpy(float), est.time_grid_[-1])[:, None]
    expected = est.predict_cumulative_hazard_function(X, ends).sum((0, 2))
    observed = [(y["event"] == cause).sum() for cause in est.causes_]
    np.testing.assert_allclose(expected, observed, rtol=0.06)


def test_a_streamed_estimator_is_saved_and_loaded(path, three_causes, tiny, tmp_path):
    est = SurvTRACE(**tiny).fit(str(path), ROLES)
    est.save(tmp_path / "model")
    X = three_causes[0]
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), est.predict(X))


@pytest.mark.parametrize(
    ("settings", "given", "words"),
    [
        ({"ips": "paper"}, {}, "need the whole table in memory"),
        ({}, {"sample_weight": [1.0]}, 'sample_weight cannot be given.*"weight": "column"'),
        ({}, {"eval_set": ("a", "b")}, "eval_set cannot be given beside the path"),
    ],
)
def test_what_needs_the_whole_table_is_refused(path, tiny, settings, given, words):
    with pytest.raises(SettingError, match=words):
        SurvTRACE(**{**tiny, **settings}).fit(path, ROLES, **given)


def test_codes_can_be_named_categorical(three_causes, tmp_path, tiny):
    X, y = three_causes
    stored(X.assign(code=np.arange(240) % 3), y, tmp_path / "t.parquet")
    est = SurvTRACE(**tiny, categorical=["code"]).fit(tmp_path / "t.parquet", ROLES)
    assert est.encoding_.columns[-1].levels == ("0", "1", "2")
    with pytest.raises(SettingError, match="categorical must name columns"):
        SurvTRACE(**tiny, categorical=["cause"]).fit(tmp_path / "t.parquet", ROLES)
