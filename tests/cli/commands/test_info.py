"""info says what a model is, and that it is damaged where it is."""

import copy
import json
import re
import shutil

import pytest

UPDATE = {"date": "2026-01-31", "subjects": 300, "asked": "auto", "how": "level"}


def test_info_says_what_a_model_is(survtrace, model):
    code, out, err = survtrace("info", model)
    assert (code, err) == (0, "")
    for words in ("240 subjects", "age", "numerical", "stage", "categorical", "n_members=", "MiB"):
        assert words in out
    assert "interrupted" not in out


def test_info_is_read_by_programs(survtrace, model, fitted_three):
    facts = json.loads(survtrace("info", model, "--json").out)
    assert facts["subjects"] == 240
    assert [cause["label"] for cause in facts["causes"]] == ["1", "2", "3"]
    assert sum(cause["events"] for cause in facts["causes"]) + facts["censored"] == 240
    assert facts["time_grid"] == fitted_three.time_grid_.tolist()
    assert [each["name"] for each in facts["covariates"]] == ["age", "size", "sex", "stage"]
    assert facts["interrupted"] is False


def test_info_says_how_long_subjects_were_followed_and_what_no_table_holds(
    survtrace, fitted_three, tmp_path
):
    est = copy.copy(fitted_three)
    est.card_ = {**est.card_, "about": {"dates": "2004 to 2015"}}
    est.save(tmp_path / "m")
    out = survtrace("info", tmp_path / "m").out
    assert "by reverse Kaplan-Meier, longest " in out
    assert re.search(r"dates: +2004 to 2015", out)
    assert json.loads(survtrace("info", tmp_path / "m", "--json").out)["about"] == {
        "dates": "2004 to 2015"
    }


def test_a_model_of_an_earlier_version_has_no_card(survtrace, model, tmp_path, sign_anew):
    shutil.copytree(model, tmp_path / "m")
    sign_anew(tmp_path / "m", lambda note: note.pop("card"))
    code, out, _ = survtrace("info", tmp_path / "m")
    assert code == 0
    assert "kept no card" in out


def test_a_card_that_lacks_a_count_is_as_none(survtrace, model, tmp_path, sign_anew):
    shutil.copytree(model, tmp_path / "m")
    sign_anew(tmp_path / "m", lambda note: note["card"].pop("n_censored"))
    code, out, _ = survtrace("info", tmp_path / "m")
    assert code == 0
    assert "kept no card" in out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda note: [each.clear() for each in note["history"].values()], "must have an epoch"),
        (lambda note: note["history"].pop("seconds"), "history: seconds is missing"),
        (lambda note: note.update(updates=[UPDATE]), "updates: events is missing"),
    ],
)
def test_a_record_that_lacks_something_is_said_to_be_damaged(
    survtrace, model, tmp_path, sign_anew, change, words
):
    shutil.copytree(model, tmp_path / "m")
    sign_anew(tmp_path / "m", change)
    code, out, err = survtrace("info", tmp_path / "m")
    assert (code, out) == (2, "")
    assert words in err


def test_texts_of_others_do_not_speak_to_the_terminal(survtrace, model, tmp_path, sign_anew):
    def change(note):
        note["card"]["about"] = {"dates": "\x1b]0;title\x07 2004 \ud800"}
        note["encoding"] = {
            f"{name}\x1b[2J\ud800": entry for name, entry in note["encoding"].items()
        }

    shutil.copytree(model, tmp_path / "m")
    sign_anew(tmp_path / "m", change)
    code, out, err = survtrace("info", tmp_path / "m")
    assert (code, err) == (0, "")
    assert r"\x1b]0;title\x07 2004 \ud800" in out
    assert r"age\x1b[2J\ud800" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("file", "words"),
    [("estimator.json", "is damaged: it is not JSON"), ("tensors.safetensors", "is damaged")],
)
def test_a_damaged_model_is_said_to_be_damaged(survtrace, model, tmp_path, file, words):
    shutil.copytree(model, tmp_path / "m")
    (tmp_path / "m" / file).write_bytes(b"half a fi")
    code, out, err = survtrace("info", tmp_path / "m")
    assert (code, out) == (2, "")
    assert words in err
