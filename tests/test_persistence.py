import copy
import json
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch

from survtrace import DataError, SavedFileError, SettingError, StorageError, SurvTRACE, load
from survtrace.evaluation import evaluate

NOTE, TENSORS = "estimator.json", "tensors.safetensors"
TIMES = [0.5, 6.0, 2.0]
ROLES = {"event": "event", "duration": "duration"}
pytestmark = pytest.mark.filterwarnings("ignore::survtrace.errors.LearnedRowsWarning")


@pytest.fixture
def saved(fitted_three, tmp_path):
    fitted_three.save(tmp_path / "est")
    return tmp_path / "est"


def answers(est, X, y):
    """Everything an estimator can say."""
    return {
        "survival": est.predict_survival_function(X, TIMES),
        "incidence": est.predict_cumulative_incidence(X, TIMES),
        "std": est.predict_cumulative_incidence(X, TIMES, return_std=True)[1],
        "conditional": est.predict_cumulative_incidence(X, TIMES, conditional_after=1.0),
        "net": est.predict_net_incidence(X, TIMES),
        "hazard": est.predict_cumulative_hazard_function(X, TIMES),
        "proba": est.predict_proba(X),
        "predict": est.predict(X),
        "quantile": est.predict_quantile(X, [0.1, 0.3]),
        "rmst": est.predict_rmst(X, 4.0),
        "attention": est.attention(X),
        "score": est.score(X, y),
        "scores with intervals": evaluate(est, X, y, n_resamples=2)["high"],
    }


def same(first, second, X, y):
    expected, ours = answers(first, X, y), answers(second, X, y)
    for name, value in expected.items():
        np.testing.assert_array_equal(ours[name], value, err_msg=name)


def test_a_loaded_estimator_says_the_same_to_the_bit(fitted_three, saved, three_causes):
    loaded = load(saved)
    same(fitted_three, loaded, *three_causes)
    assert loaded.get_params() == fitted_three.get_params()
    assert loaded.causes_ == fitted_three.causes_
    assert loaded.feature_names_in_.tolist() == fitted_three.feature_names_in_.tolist()
    assert loaded.n_features_in_ == fitted_three.n_features_in_
    np.testing.assert_array_equal(loaded.time_grid_, fitted_three.time_grid_)
    pd.testing.assert_frame_equal(loaded.history_, fitted_three.history_)


def test_settings_of_every_kind_come_back(one_cause, tiny, tmp_path):
    X, y = one_cause
    odd = {
        "time_grid": np.array([1.0, 4.0, 20.0]),
        "categorical": ("stage",),
        "checkpoint_dir": tmp_path / "checkpoint",
        "ips": "paper",
        "lr": np.float64(0.01),
        "n_heads": np.int64(2),
        "random_state": np.random.RandomState(0),
    }
    est = SurvTRACE(**{**tiny, **odd}).fit(X, y.assign(event=y["event"].map({0: 0, 1: "dead"})))
    est.save(str(tmp_path / "est"))
    loaded = load(str(tmp_path / "est"))
    assert loaded.time_grid == [1.0, 4.0, 20.0]
    assert loaded.random_state is None
    assert loaded.causes_ == ["dead"]
    np.testing.assert_array_equal(est.predict(X), loaded.predict(X))
    assert (loaded.network_.recalibration_factor != 1).any()


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("device", torch.device("cpu"), "cpu"),
        ("validation_fraction", Fraction(1, 4), 0.25),
        ("validation_fraction", np.longdouble(0.25), 0.25),
        ("time_grid", [Decimal(1), True + Decimal(3), 20], [1.0, 4.0, 20.0]),
        ("time_grid", pd.Series([1, 4, 20]), [1.0, 4.0, 20.0]),
        ("time_grid", torch.tensor([1.0, 4.0, 20.0]), [1.0, 4.0, 20.0]),
        ("categorical", {"stage"}, ["stage"]),
        ("token_bias", np.True_, True),
        ("head_depth", np.int64(1), 1),
        ("ips", np.str_("none"), "none"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:.*beyond the time grid:survtrace.DataWarning")
def test_what_can_be_fitted_can_be_saved_and_loaded(one_cause, tiny, tmp_path, name, value, plain):
    est = SurvTRACE(**{**tiny, name: value}).fit(*one_cause)
    est.save(tmp_path / "est")
    assert load(tmp_path / "est").get_params()[name] == plain


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_members": 0}, "n_members must be"),
        ({"time_grid": [3, 1]}, "time_grid must rise"),
        ({"cause_names": {9: "death"}}, "cause_names must name causes"),
    ],
)
def test_settings_made_wrong_after_the_fit_are_not_saved(fitted_one, tmp_path, changed, message):
    est = copy.deepcopy(fitted_one).set_params(**changed)
    with pytest.raises(SettingError, match=message):
        est.save(tmp_path / "est")
    assert not (tmp_path / "est").exists()


def test_the_recalibration_factor_keeps_the_name_that_earlier_folders_gave_it(saved):
    tensors = safetensors.torch.load_file(saved / TENSORS)
    assert "network.level" in tensors
    assert "network.recalibration_factor" not in tensors
    factor = load(saved).network_.recalibration_factor
    assert torch.equal(factor, tensors["network.level"])


def test_a_folder_from_before_entries_were_known_is_one_of_an_ordinary_table(saved, sign_anew):
    def forget(note):
        for name in ("entry", "has_start_stop"):
            del note[name]
        del note["settings"]["time_name"]

    sign_anew(saved, forget)
    loaded = load(saved)
    assert (loaded.entry_, loaded.has_start_stop_, loaded.time_name_) == (None, False, None)


def test_a_folder_from_before_certainty_and_updates_predicts_and_says_what_it_lacks(
    saved, fitted_three, three_causes, sign_anew
):
    def forget(note):
        for name in ("interval", "updates"):
            del note[name]
        for name in ("intervals", "about"):
            del note["settings"][name]

    tensors = safetensors.torch.load_file(saved / TENSORS)
    kept = {name: t for name, t in tensors.items() if not name.startswith("typicality.")}
    assert len(kept) < len(tensors)
    safetensors.torch.save_file(kept, saved / TENSORS)
    sign_anew(saved, forget)
    loaded, X = load(saved), three_causes[0]
    np.testing.assert_array_equal(loaded.predict(X), fitted_three.predict(X))
    assert (loaded.interval_, loaded.typicality_, loaded.updates_) == (None, None, [])
    with pytest.raises(SettingError, match="Fit it again"):
        loaded.predict_interval(X)
    with pytest.raises(DataError, match="saved by an earlier version"):
        loaded.typicality(X)


def test_saving_again_writes_the_same_files(saved, tmp_path):
    load(saved).save(tmp_path / "again")
    for name in (NOTE, TENSORS):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()


def test_an_earlier_estimator_is_replaced_whole(fitted_one, saved, one_cause):
    fitted_one.save(saved)
    assert sorted(path.name for path in saved.iterdir()) == [NOTE, TENSORS]
    np.testing.assert_array_equal(
        load(saved).predict(one_cause[0]), fitted_one.predict(one_cause[0])
    )
    assert [path.name for path in saved.parent.iterdir()] == ["est"]


def test_an_empty_folder_and_missing_parents_are_used(fitted_one, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        fitted_one.save(folder)
        assert load(folder).causes_ == [1]


def test_a_foreign_folder_or_file_is_left_alone(fitted_one, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.tex").write_text("years of work")
    with pytest.raises(SavedFileError, match="holds no saved estimator; it is left alone"):
        fitted_one.save(folder)
    assert (folder / "chapter.tex").read_text() == "years of work"
    with pytest.raises(SavedFileError, match="left alone"):
        fitted_one.save(folder / "chapter.tex")


def test_a_foreign_folder_with_a_file_of_our_name_is_left_alone(fitted_one, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / NOTE).write_text('{"format": "another program"}')
    (folder / "results.csv").write_text("years of work")
    with pytest.raises(SavedFileError, match="left alone"):
        fitted_one.save(folder)
    assert (folder / "results.csv").exists()


def test_what_is_no_folder_of_ours_is_refused(tmp_path, saved):
    with pytest.raises(SavedFileError, match=r"holds no saved estimator \(there is no such fold"):
        load(tmp_path / "nowhere")
    with pytest.raises(SavedFileError, match=r"holds no saved estimator \(estimator.json is miss"):
        load(tmp_path)
    with pytest.raises(SavedFileError, match="holds no saved estimator"):
        load(saved / TENSORS)
    (saved / TENSORS).unlink()
    with pytest.raises(SavedFileError, match=r"has no tensors.safetensors"):
        load(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1, 2]", "not written by survtrace"),
        (b"{}", "not written by survtrace"),
        (b'{"format": "survtrace"}', "format version None"),
        (
            b'{"format": "survtrace", "format_version": "2"}',
            "format version 2; this",
        ),
        (b'{"format": "survtrace", "format_version": 3}', "Upgrade survtrace"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else value,
)
def test_a_note_that_is_not_ours_is_refused(saved, content, message):
    (saved / NOTE).write_bytes(content)
    with pytest.raises(SavedFileError, match=message):
        load(saved)


def test_a_truncated_note_is_refused(saved):
    whole = (saved / NOTE).read_bytes()
    for length in (1, len(whole) // 2, len(whole) - 2):
        (saved / NOTE).write_bytes(whole[:length])
        with pytest.raises(SavedFileError, match="not JSON"):
            load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda note: note.pop("settings"),
        lambda note: note["settings"].update(no_such_setting=1),
        lambda note: note.update(settings=None),
        lambda note: note.pop("encoding"),
        lambda note: note["encoding"].update(age={"mean": 1.0, "spread": 2.0}),
        lambda note: note.update(encoding=[1, 2]),
        lambda note: note["shape"].update(width=5),
        lambda note: note["shape"].update(n_members="two"),
        lambda note: note["shape"].update(hidden=10**12),
        lambda note: note.pop("history"),
        lambda note: note.update(history=7),
    ],
)
def test_a_note_that_contradicts_itself_is_refused(saved, change, sign_anew):
    sign_anew(saved, change)
    with pytest.raises(SavedFileError, match="is damaged"):
        load(saved)


def test_labels_that_meant_censored_are_kept(three_causes, tiny, tmp_path):
    X, y = three_causes
    words = y.assign(event=y["event"].map({0: "well", 1: "a", 2: "b", 3: "c"}))
    est = SurvTRACE(**tiny).fit(X.join(words), {**ROLES, "censored": "well"})
    est.save(tmp_path / "est")
    assert load(tmp_path / "est").censored_ == ["well"]
    assert load(tmp_path / "est").score(X, words) == est.score(X, words)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "swapped"])
def test_damaged_tensors_are_refused(saved, fitted_one, damage):
    content = bytearray((saved / TENSORS).read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    elif damage == "truncated":
        del content[len(content) // 2 :]
    else:
        fitted_one.save(saved.parent / "other")
        content = (saved.parent / "other" / TENSORS).read_bytes()
    (saved / TENSORS).write_bytes(content)
    with pytest.raises(SavedFileError, match="is damaged: its content is not what was saved"):
        load(saved)


class Malicious:
    """Unpickling it would create a file."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_in_place_of_the_tensors_is_never_unpickled(saved, tmp_path, protocol, sign_anew):
    trace = tmp_path / "executed"
    evil = pickle.dumps(Malicious(trace), protocol)
    pickle.loads(evil)
    assert trace.exists()
    trace.unlink()
    (saved / TENSORS).write_bytes(evil)
    with pytest.raises(SavedFileError, match="is damaged"):
        load(saved)
    sign_anew(saved)
    with pytest.raises(SavedFileError, match="is not a safetensors file"):
        load(saved)
    (saved / NOTE).write_bytes(evil)
    with pytest.raises(SavedFileError, match="not JSON"):
        load(saved)
    assert not trace.exists()


def test_tensors_of_other_names_are_refused(saved, sign_anew):
    tensors = safetensors.torch.load_file(saved / TENSORS)
    tensors.pop("time_grid")
    safetensors.torch.save_file(tensors, saved / TENSORS)
    sign_anew(saved)
    with pytest.raises(SavedFileError, match=r"is damaged \(tensors: time_grid is missing"):
        load(saved)


def test_the_files_hold_no_code_and_no_patient(saved, three_causes):
    note = json.loads((saved / NOTE).read_text())
    assert note["format"] == "survtrace"
    assert note["format_version"] == 2
    assert len((saved / NOTE).read_bytes()) < 20_000
    assert {path.name for path in saved.iterdir()} == {NOTE, TENSORS}


def test_the_object_itself_can_be_pickled(fitted_three, three_causes):
    same(fitted_three, pickle.loads(pickle.dumps(fitted_three)), *three_causes)


def test_a_loaded_estimator_can_be_fitted_again(saved, one_cause, fitted_one):
    again = load(saved).fit(*one_cause)
    np.testing.assert_array_equal(again.predict(one_cause[0]), fitted_one.predict(one_cause[0]))


def test_a_name_that_is_too_long_is_said_with_the_way_out(fitted_one):
    with pytest.raises(StorageError, match=r"could not be written .*Choose a shorter path"):
        fitted_one.save("9" * 400)


@pytest.mark.parametrize("path", [3, None, b"model", "a\0b", "\ud800"])
def test_what_is_no_path_is_neither_read_nor_written(path, fitted_one):
    for act in (load, fitted_one.save):
        with pytest.raises(SettingError, match="path must be a path: a text such as"):
            act(path)
