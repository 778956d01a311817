"""What a saved folder may hold: checked before anything is made of it, by both readers."""

import json
import os
import resource
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from survtrace import SavedFileError, load, portable
from survtrace.network.assembly import Network, Shape
from survtrace.saved_folder import NOTE, SAVED_NAMES, TENSORS
from survtrace.saved_tensors import network_arrays


@pytest.fixture
def saved(fitted_three, tmp_path):
    fitted_three.save(tmp_path / "est")
    return tmp_path / "est"


@pytest.fixture(params=[load, portable.load], ids=["torch", "portable"])
def refused(request):
    """A function that checks that a folder is refused by a reader, with some words."""

    def check(folder, words):
        with pytest.raises(SavedFileError, match=words):
            request.param(folder)

    return check


def test_one_flipped_bit_of_the_plain_values_is_noticed(saved, refused):
    content = (saved / NOTE).read_text()
    mean = json.loads(content)["encoding"]["age"]["mean"]
    changed = content.replace(repr(mean), repr(mean - 1), 1)
    assert changed != content
    (saved / NOTE).write_text(changed)
    refused(saved, "its content is not what was saved")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("time_grid", lambda a: a[::-1], "time_grid must rise"),
        ("time_grid", lambda a: a[:-1], r"must be float64 of shape \(4,\)"),
        ("time_grid", lambda a: a * np.nan, "time_grid must be finite"),
        ("score_times", lambda a: -a, "score_times must be from 0"),
        ("censoring_values", lambda a: a + 1, "censoring_values must be from 0 to 1"),
        ("network.embedding.table", lambda a: a.astype(np.float16), "must be float32"),
        ("network.embedding.table", lambda a: a * np.nan, "must be finite"),
        ("typicality.residuals.column", lambda a: a + 10**6, "must be from 0 to 3"),
        ("typicality.scores.bins", lambda a: a - 5, "must be from -1"),
        ("typicality.residuals.precision", lambda a: -a, "a diagonal above 0"),
    ],
)
def test_a_tensor_of_another_kind_is_refused(saved, refused, sign_anew, name, change, words):
    tensors = load_file(saved / TENSORS)
    tensors[name] = np.ascontiguousarray(change(tensors[name]))
    save_file(tensors, saved / TENSORS)
    sign_anew(saved)
    refused(saved, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda note: note["encoding"]["age"].update(deviation=0.0), "deviation must be above 0"),
        (lambda note: note["encoding"]["age"].update(deviation=-1.0), "deviation must be a number"),
        (lambda note: note["encoding"]["age"].update(mean=float("nan")), "NaN or infinite"),
        (lambda note: note["encoding"]["age"].update(low=1e9), "must rise"),
        (lambda note: note["encoding"]["sex"].update(levels=["f", "f"]), "levels must differ"),
        (lambda note: note["settings"].update(n_members="two"), "settings: n_members must be"),
        (lambda note: note["settings"].update(device=7), "settings: device must be a text"),
        (lambda note: note.update(causes=[1, 1, 2]), "causes must differ"),
        (lambda note: note.update(causes=[[1], 2, 3]), "causes must be a list"),
        (lambda note: note.update(median_event_time="soon"), "median_event_time must be"),
        (lambda note: note["card"].update(n_subjects="many"), "card: n_subjects must be"),
        (lambda note: note["card"]["follow_up"].pop("longest"), "longest is missing"),
        (lambda note: note.update(updates=[{"date": "today"}]), "updates: subjects is missing"),
        (lambda note: note["shape"].update(silent_rows=[0] * 9), "silent_rows must be"),
    ],
)
def test_a_plain_value_of_another_kind_is_refused(saved, refused, sign_anew, change, words):
    sign_anew(saved, change)
    refused(saved, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda interval: interval["quantiles"][1].reverse(), "quantiles must rise"),
        (lambda interval: interval["levels"].append(1 - 2**-53), "levels are too extreme"),
        (lambda interval: interval["levels"].insert(0, 1e-300), "levels are too extreme"),
    ],
)
def test_an_interval_that_no_level_can_be_asked_of_is_refused(
    saved, refused, sign_anew, change, words
):
    def forge(note):
        note["interval"] = {
            "floor": [[0.1] * 3] * 4, "factor": [1.0] * 4, "levels": [0.5, 0.95],
            "quantiles": [[0.7, 2.0] for _ in range(4)],
        }  # fmt: skip
        change(note["interval"])
        for each in note["interval"]["quantiles"]:
            each += each[-1:] * (len(note["interval"]["levels"]) - 2)

    sign_anew(saved, forge)
    refused(saved, words)


@pytest.mark.parametrize("name", ["depth", "n_causes", "n_members", "width", "hidden", "n_rows"])
@pytest.mark.parametrize("size", [10**6, 2**62])
def test_an_absurd_size_is_refused_at_once(saved, refused, sign_anew, name, size):
    sign_anew(saved, lambda note: note["shape"].update({name: size}))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    refused(saved, "is damaged")
    assert time.monotonic() - started < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


@pytest.mark.parametrize("name", [NOTE, TENSORS])
@pytest.mark.parametrize("kind", ["pipe", "device", "link", "folder"])
def test_what_is_no_regular_file_is_not_opened(saved, refused, tmp_path, name, kind):
    (saved / name).rename(tmp_path / "elsewhere")
    if kind == "pipe":
        os.mkfifo(saved / name)
    elif kind == "folder":
        (saved / name).mkdir()
    else:
        (saved / name).symlink_to("/dev/zero" if kind == "device" else tmp_path / "elsewhere")
    refused(saved, "must be a regular file")


@pytest.mark.parametrize("name", [NOTE, TENSORS])
def test_a_huge_file_is_not_read(saved, refused, name):
    os.truncate(saved / name, 2**40)
    refused(saved, r"has 1,099,511,627,776 bytes, more than")


@pytest.mark.parametrize(
    ("inserted", "words"),
    [
        (b'"causes": [1],', "'causes' is there twice"),
        (b'"deep": ' + b"[" * 100 + b"]" * 100 + b",", "nested more than 32 deep"),
        (b'"huge": ' + b"9" * 50 + b",", "has more than 64 bits"),
        (b'"large": 1e999,', "1e999 is too large"),
        (b'"long": [' + b"[]," * 2**19 + b"0],", "has more than 1,048,576 values"),
    ],
)
def test_odd_json_is_refused(saved, refused, inserted, words):
    content = (saved / NOTE).read_bytes()
    (saved / NOTE).write_bytes(content.replace(b"{", b"{" + inserted, 1))
    refused(saved, words)


@pytest.mark.parametrize("head_depth", [1, 2])
@pytest.mark.parametrize("token_bias", [True, False])
def test_the_tensors_that_are_expected_are_those_of_the_network(head_depth, token_bias):
    shape = {
        "n_members": 2, "n_rows": 9, "n_tokens": 3, "n_causes": 2, "n_intervals": 4,
        "silent_rows": (0, 2), "width": 6, "depth": 2, "n_heads": 3, "hidden": 5,
        "head_depth": head_depth, "token_bias": token_bias, "proportional": 3.0, "dropout": 0.0,
        "attention_dropout": 0.0, "token_dropout": 0.0, "head_dropout": 0.0,
    }  # fmt: skip
    found = {
        f"network.{SAVED_NAMES.get(name, name)}": tuple(tensor.shape)
        for name, tensor in Network(Shape(**shape)).state_dict().items()
    }
    assert {name: each.shape for name, each in network_arrays(shape).items()} == found
