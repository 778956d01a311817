"""validate writes what reviewers ask to see, and says what it cannot know."""

import json

import pandas as pd
import pytest

pytest.importorskip("jinja2")

OPTIONS = (
    "--duration",
    "months",
    "--event",
    "cause",
    "--id",
    "patient",
    "--horizon",
    "8",
    *("--thresholds", "0.2,0.4"),
)


@pytest.fixture(scope="module")
def other_hospital(draw_cohort, tmp_path_factory):
    """Subjects of a model of three causes that it has not learned from."""
    X, y = draw_cohort(400, 3, seed=9)
    table = X.assign(months=y["duration"], cause=y["event"], patient=range(len(X)))
    path = tmp_path_factory.mktemp("tables") / "other.csv"
    table.assign(ward=[number % 3 for number in range(len(X))]).to_csv(path, index=False)
    return path


def test_validate_shows_scores_and_writes_a_folder(survtrace, model, other_hospital, tmp_path):
    options = ("--by", "sex", "--centre", "ward", "--about", "dates=2016")
    ended = survtrace(
        "validate", model, other_hospital, *OPTIONS, *options, "--out", tmp_path / "v"
    )
    assert ended.code == 0, ended.err
    for words in ("Validation on 400 subjects", "O/E", "By group", "Over centres"):
        assert words in ended.out
    assert "items of the checklist are yours to tell" in ended.err
    assert "dates" not in ended.err.partition("yours to tell")[2]
    assert (tmp_path / "v" / "report.html").exists()
    again = survtrace("validate", model, other_hospital, *OPTIONS, "--out", tmp_path / "v")
    assert (again.code, again.out) == (2, "")
    assert "exists and is left alone" in again.err
    options = ("--out", tmp_path / "v", "--force")
    assert survtrace("validate", model, other_hospital, *OPTIONS, *options).code == 0
    (tmp_path / "w").write_text("years of work")
    options = ("--out", tmp_path / "w", "--force")
    code, _, err = survtrace("validate", model, "nowhere.csv", *OPTIONS, *options)
    assert code == 2
    assert f"--out {tmp_path / 'w'} is a file. Pass the path of a folder" in err


def test_validate_is_read_by_programs(survtrace, model, other_hospital, tmp_path):
    out = tmp_path / "page.html"
    ended = survtrace("-q", "validate", model, other_hospital, *OPTIONS, "--out", out, "--json")
    found = json.loads(ended.out)
    assert found["counts"][0]["n"] == 400
    assert "ethics" in found["open"]
    assert out.read_text("utf-8").startswith("<!doctype html>")


def test_the_screen_tells_what_is_wrong_with_a_table_and_never_says_nan(
    survtrace, model, other_hospital, tmp_path
):
    table = pd.read_csv(other_hospital)
    table["age"] *= 365.25
    table["ward"] = ["big", *["small"] * 3, *["none"] * (len(table) - 4)]
    table.to_csv(tmp_path / "days.csv", index=False)
    options = ("--by", "ward", "--centre", "ward", "--out", tmp_path / "v.html")
    ended = survtrace("validate", model, tmp_path / "days.csv", *OPTIONS, *options)
    words = ended.err.replace("\n", " ")
    assert "note: Age lies outside" in words
    assert "groups are not scored" in words
    assert "nan" not in ended.out
    assert "nan to" not in (tmp_path / "v.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--by", "sexx"), "did you mean 'sex'?"),
        (("--about", "date=2016"), "did you mean 'dates'?"),
        (
            ("--thresholds", "5%"),
            "--thresholds must be numbers with commas between them, such as 0.1",
        ),
    ],
)
def test_mistakes_are_named(survtrace, model, other_hospital, tmp_path, options, words):
    out = ("--out", tmp_path / "v")
    code, shown, err = survtrace("validate", model, other_hospital, *OPTIONS, *out, *options)
    assert (code, shown) == (2, "")
    assert words in err.replace("\n", " ")
    assert not (tmp_path / "v").exists()
