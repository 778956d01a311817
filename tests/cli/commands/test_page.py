"""The command `page`: one file with the model in it, never written over by accident."""

import pytest


def test_page_writes_a_file_that_says_what_it_is_of(survtrace, model, tmp_path):
    out = tmp_path / "calculator.html"
    options = ("--out", out, "--name", "Ward 7", "--unit", "size=mm", "--time-unit", "months")
    ended = survtrace("page", model, *options)
    assert (ended.code, ended.out) == (0, "")
    assert f"wrote {out} (0.2 MB); open it in a browser" in ended.err
    html = out.read_text("utf-8")
    assert "<title>Ward 7 · Risk explorer</title>" in html
    assert '"unit":"mm"' in html
    assert '"unit":"months"' in html


def test_page_does_not_write_over_a_file_unless_told_to(survtrace, model, tmp_path):
    out = tmp_path / "calculator.html"
    out.write_text("mine")
    ended = survtrace("page", model, "--out", out)
    assert ended.code == 2
    assert "exists and is left alone" in ended.err
    assert out.read_text() == "mine"
    assert survtrace("page", model, "--out", out, "--force", "--quiet").code == 0
    assert out.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("command", ["page", "report"])
def test_a_page_under_a_name_that_no_browser_opens_is_refused(survtrace, model, tmp_path, command):
    table = () if command == "page" else ("nowhere.csv",)
    ended = survtrace(command, model, *table, "--out", tmp_path / "page.pdf")
    assert ended.code == 2
    assert "--out must end in .html" in ended.err
    assert not (tmp_path / "page.pdf").exists()


def test_page_never_writes_into_the_model(survtrace, model):
    ended = survtrace("page", model, "--out", model / "calculator.html", "--force")
    assert ended.code == 2
    assert "is an input of this command" in ended.err


def test_page_names_the_covariates_where_a_unit_has_none(survtrace, model, tmp_path):
    for unit in ("sizes=mm", "mm"):
        ended = survtrace("page", model, "--out", tmp_path / "c.html", "--unit", unit)
        assert ended.code == 2
        assert "--unit takes NAME=TEXT with the name of a covariate, such as age=mm" in ended.err
        assert "size" in ended.err


def test_page_refuses_a_folder_without_a_model(survtrace, tmp_path):
    (tmp_path / "empty").mkdir()
    ended = survtrace("page", tmp_path / "empty", "--out", tmp_path / "c.html")
    assert ended.code == 2
    assert "holds no saved estimator" in ended.err
