"""The file: whole, shut against requests and markup, and without anything of a single patient."""

import base64
import hashlib
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from survtrace import SettingError, SurvTRACE, load
from survtrace.app import write_page
from survtrace.errors import SavedFileError

HOSTILE = "</script><script>alert(1)</script>"
MARKUP = '"><img src=x onerror=alert(1)>'


def test_a_folder_and_an_estimator_give_the_same_file(certain, tmp_path):
    certain.save(tmp_path / "model")
    sources = [tmp_path / "model", str(tmp_path / "model"), certain]
    files = [
        write_page(source, tmp_path / f"{k}.html", name="x") for k, source in enumerate(sources)
    ]
    assert len({file.read_bytes() for file in files}) == 1


def test_the_model_is_called_by_its_folder_unless_it_has_a_name(certain, tmp_path, packed):
    certain.save(tmp_path / "ward-7")
    file = write_page(tmp_path / "ward-7", tmp_path / "c.html")
    assert packed(file)["schema"]["model"]["name"] == "ward-7"
    file = write_page(tmp_path / "ward-7", tmp_path / "c.html", name="Ward 7")
    assert "<title>Ward 7 · Risk explorer</title>" in file.read_text("utf-8")
    file = write_page(certain, tmp_path / "c.html")
    assert "<title>Risk explorer</title>" in file.read_text("utf-8")


def test_the_model_is_not_written_over(certain, tmp_path):
    certain.save(tmp_path / "model")
    for name in ("estimator.json", "page.html"):
        with pytest.raises(SettingError, match=r"what is read .* is never written to"):
            write_page(tmp_path / "model", tmp_path / "model" / name)
    with pytest.raises(SettingError, match="never written to"):
        write_page(certain, tmp_path / "table.csv", importance=tmp_path / "table.csv")
    load(tmp_path / "model")


@pytest.mark.parametrize(
    "wrong", [{"name": b"x"}, {"units": ["age"]}, {"units": "mm"}, {"importance": 3}], ids=str
)
def test_what_is_no_name_unit_or_path_is_refused(certain, tmp_path, wrong):
    with pytest.raises(SettingError, match=f"{next(iter(wrong))} must be"):
        write_page(certain, tmp_path / "c.html", **wrong)


def test_units_are_those_that_are_given(certain, tmp_path, packed):
    file = write_page(certain, tmp_path / "c.html", units={"size": "mm"}, time_unit="days")
    schema = packed(file)["schema"]
    assert [c["unit"] for c in schema["covariates"] if c["name"] == "size"] == ["mm"]
    assert schema["time"]["unit"] == "days"


def test_scripts_and_styles_are_those_whose_hash_the_policy_has(certain_file):
    html = certain_file.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("script", "style"):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_nothing_in_the_file_names_another_place(certain_file):
    html = certain_file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in html
    assert "https:" not in html
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)


def test_names_from_the_table_cannot_become_markup(one_cause, tiny, tmp_path, packed):
    X, y = one_cause
    X = X.rename(columns={"age": HOSTILE}).assign(sex=[MARKUP, HOSTILE] * (len(X) // 2))
    est = SurvTRACE(**tiny, cause_names={1: HOSTILE}, time_unit=MARKUP).fit(X, y)
    file = write_page(est, tmp_path / "c.html", name=HOSTILE)
    html = file.read_text("utf-8")
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert "<img" not in html
    assert packed(file)["schema"]["covariates"][0]["name"] == HOSTILE


def test_values_of_single_patients_are_not_in_the_file(draw_cohort, tiny, tmp_path, packed):
    X, y = draw_cohort(400, 2, seed=4)
    marked = X.assign(age=X["age"] + 1e-7 * np.arange(len(X)))
    file = write_page(SurvTRACE(**tiny).fit(marked, y), tmp_path / "c.html")
    text = file.read_text("utf-8")
    shown = [repr(float(value)) for value in marked["age"]]
    durations = [repr(float(value)) for value in y["duration"]]
    # Three quantiles of a covariate, the median event time and the longest duration are in every
    # model card; each is a value that somebody had.
    assert sum(value in text for value in shown) <= 3
    assert sum(value in text for value in durations) <= 2
    assert "censoring" not in packed(file)


def test_a_covariate_that_nobody_had_is_unknown_and_not_zero(one_cause, tiny, tmp_path, packed):
    X, y = one_cause
    est = SurvTRACE(**tiny)
    with pytest.warns(match="carry no information"):
        est.fit(X.assign(crp=np.nan, note=pd.Series([None] * len(X), dtype=object)), y)
    covariates = packed(write_page(est, tmp_path / "c.html"))["schema"]["covariates"]
    [crp] = [each for each in covariates if each["name"] == "crp"]
    assert crp["typical"] is None
    assert crp["missing"] == 1


def test_a_damaged_folder_is_refused_and_nothing_is_written(certain, tmp_path):
    certain.save(tmp_path / "model")
    (tmp_path / "model" / "tensors.safetensors").write_bytes(b"broken")
    with pytest.raises(SavedFileError, match="damaged"):
        write_page(tmp_path / "model", tmp_path / "c.html")
    assert not list(tmp_path.glob("*.html*"))


def test_packing_needs_neither_torch_nor_pandas_nor_fastapi(certain, tmp_path):
    certain.save(tmp_path / "model")
    code = (
        "import sys; from survtrace.app import write_page; write_page(*sys.argv[1:]); "
        "print({'torch', 'pandas', 'fastapi', 'pydantic', 'scipy'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model"), str(tmp_path / "c.html")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
