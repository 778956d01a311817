"""The guide's raw tables are as messy as it says, and are read right; its transcript is honest."""

import importlib.util
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from messy.judge import AS_OPTIONS, QuestionError, run_command
from survtrace import load

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("hospital")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "hospital-table.md"
OUTCOME = ("--duration", "Follow-up (months)", "--event", "Status")
NUMBERS = ("Age", "BMI", "Creatinine", "CRP", "Hemoglobin", "Platelets")
CATEGORIES = ("Ward", "Sex", "Stage", "Grade", "Smoker")
NEVER = ("Patient ID", "Name", "Date of birth", "Date of diagnosis", "Notes", "Date of death")
MARKS = ["unknown", "n/a", "-", ""]


@pytest.fixture(scope="module")
def hospital():
    """The module that makes the tables."""
    path = ROOT / "docs" / "examples" / "hospital.py"
    spec = importlib.util.spec_from_file_location("hospital", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(hospital, tmp_path_factory):
    """The three tables in a folder."""
    folder = tmp_path_factory.mktemp("raw")
    hospital.write(folder)
    return folder


@pytest.fixture(scope="module")
def texts(folder):
    """The hospital's table, every cell as the text that stands there."""
    content = (folder / "hospital.csv").read_bytes().decode("latin-1")
    return pd.read_csv(io.StringIO(content), sep=";", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def fitted(folder):
    """What the command says of it, and the model."""
    words = run_command(
        "fit", folder / "hospital.csv", *OUTCOME, "--out", folder / "model", *AS_OPTIONS
    )
    return words, load(folder / "model")


def test_the_same_seed_gives_the_same_tables(hospital, folder):
    assert hospital.hospital() == (folder / "hospital.csv").read_bytes()


def test_the_export_is_messy(folder, texts):
    assert texts.shape == (1500, 21)
    with pytest.raises(UnicodeDecodeError, match="utf-8"):
        (folder / "hospital.csv").read_bytes().decode("utf-8")
    assert texts["Patient ID"].duplicated().sum() == 60
    for name, marks in {"Creatinine": {"<0,6", "unknown", "n/a"}, "BMI": {"999"}}.items():
        assert marks <= set(texts[name])
    assert set(texts["Status"]) == {"alive", "lost to follow-up", "died of cancer", "died other"}


def test_it_is_read_as_a_careful_person_would(fitted, texts):
    _, est = fitted
    assert list(est.causes_) == ["died of cancer", "died other"]
    assert est.card_["n_censored"] == texts["Status"].isin(["alive", "lost to follow-up"]).sum()
    kinds = {covariate.name: covariate.kind for covariate in est.encoding_.covariates}
    assert not set(kinds) & set(NEVER)
    assert {name: kinds.get(name) for name in NUMBERS} == dict.fromkeys(NUMBERS, "numerical")
    assert {name: kinds.get(name) for name in CATEGORIES} == dict.fromkeys(
        CATEGORIES, "categorical"
    )


@pytest.mark.parametrize("name", ["Age", "CRP", "Hemoglobin", "Platelets"])
def test_its_numbers_are_the_numbers(fitted, texts, name):
    _, est = fitted
    words = texts[name].str.replace(r" .*", "", regex=True)
    if name == "Platelets":
        words = words.str.replace(".", "")
    values = pd.to_numeric(words.mask(words.isin(MARKS)).str.replace(",", "."))
    at = [covariate.name for covariate in est.encoding_.covariates].index(name)
    np.testing.assert_allclose(est.encoding_.columns[at].mean, values.mean(), rtol=0.02)
    assert est.card_["n_missing"].get(name, 0) == values.isna().sum()


def test_what_looks_wrong_is_said(fitted):
    words, _ = fitted
    for name, reason in {
        "BMI": "999",
        "Hospital": "one value|constant",
        "Creatinine": "<|bound",
    }.items():
        assert re.search(rf"{name}.*({reason})|({reason}).*{name}", words), name
    assert re.search("Date of death", words)


def test_nobody_is_in_the_model(fitted, folder, texts):
    stored = b"".join(path.read_bytes() for path in (folder / "model").rglob("*") if path.is_file())
    for name in NEVER:
        secrets = {text for text in texts[name] if len(text) > 5}
        for encoding in ("utf-8", "latin-1"):
            assert not [text for text in secrets if text.encode(encoding) in stored], name


def test_a_status_of_1_or_2_is_asked_about(folder):
    with pytest.raises(QuestionError, match=r"--censored 1"):
        run_command(
            *("fit", folder / "trial.csv", "--duration", "time", "--event", "status"),
            *("--out", folder / "trial", *AS_OPTIONS),
        )


def test_a_blood_group_of_0_is_no_number(folder):
    run_command(
        *("fit", folder / "transplants.csv", "--duration", "Jahre", "--event", "Ereignis"),
        *("--out", folder / "transplants", *AS_OPTIONS),
    )
    encoding = load(folder / "transplants").encoding_
    kinds = {covariate.name: covariate.kind for covariate in encoding.covariates}
    words = {"Blutgruppe": "categorical", "Spende": "categorical"}
    assert kinds == {**dict.fromkeys(["Alter", "Ischämiezeit", "Kreatinin"], "numerical"), **words}


RAW = {
    "hospital.csv": ("Follow-up (months)", "Status"),
    "trial.csv": ("time", "status"),
    "transplants.csv": ("Jahre", "Ereignis"),
}


@pytest.mark.parametrize("name", RAW)
def test_the_printed_commands_lead_from_check_to_a_report(name, folder, monkeypatch):
    """Of a question, check prints the commands that settle it; fit holds rows out for a report."""
    monkeypatch.chdir(folder)
    duration, event = RAW[name]
    words, question = _heard("check", name, "--duration", duration, "--event", event)
    fits = _printed("fit", words)
    assert len(fits) == (2 if question else 1)
    words, question = _heard(*fits[0], "--force", *AS_OPTIONS)
    assert not question, words
    assert len(_printed("report", words)) == 1


def test_no_patient_is_on_both_sides_of_a_split(folder, texts, monkeypatch):
    """60 patients were exported twice: no model may learn one copy and be judged on the other."""
    monkeypatch.chdir(folder)
    words, _ = _heard("check", "hospital.csv", *OUTCOME)
    command = _printed("fit", words)[0]
    if "--hold-out" not in command:
        command += ["--hold-out", "0.25"]
    command[command.index("--out") + 1] = "split"
    run_command(*command, "--force", *AS_OPTIONS)
    content = (folder / "split-held-out.csv").read_bytes().decode("latin-1")
    held_out = pd.read_csv(io.StringIO(content), sep=";", dtype=str)["Patient ID"].value_counts()
    everywhere = texts["Patient ID"].value_counts()
    assert (everywhere[held_out.index] == held_out).all()


def _heard(*arguments):
    """What a command says, and whether that is a question."""
    try:
        return run_command(*arguments), False
    except QuestionError as question:
        return str(question), True


def _printed(command, words):
    """The arguments of each command of this kind that was printed."""
    found = re.findall(rf"\bsurvtrace ({command} [^\n`]*)", re.sub(r"\\\n\s*", "", words))
    return [shlex.split(arguments) for arguments in found]


def test_every_command_but_the_first_was_printed_before():
    page = PAGE.read_text(encoding="utf-8")
    stories = re.findall(r"<!-- transcript of .*? -->\n(.*?)<!-- end", page, re.DOTALL)
    assert len(stories) == 3
    for story in stories:
        commands = re.findall(r"^\$ (survtrace .*)$", story, re.MULTILINE)
        assert len(commands) >= 2
        for command in commands[1:]:
            before = re.sub(r"\\\n\s*", "", story[: story.index(f"$ {command}")])
            assert command in before
