"""Rows are held out whole, as they are written, and the next command is told."""

import json

import numpy as np
import pandas as pd
import pytest

from survtrace import DataWarning, load
from survtrace.cli.commands.suggest import warn_of_divided_subjects
from survtrace.tables.files.formats import read_table

OUTCOME = ("--duration", "months", "--event", "cause")


@pytest.fixture
def small(tiny):
    """The settings of a tiny estimator as options."""
    return [option for name, value in tiny.items() for option in ("--set", f"{name}={value}")]


def test_split_divides_a_table_and_keeps_its_text(survtrace, table, tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    options = ("--out-train", a, "--out-test", b, "--event", "cause")
    ended = survtrace("split", table, *options)
    assert (ended.code, ended.out) == (0, "")
    assert f"wrote {b}: 60 rows to evaluate on" in ended.err
    header, *rows = table.read_text().splitlines()
    (first, *train), (second, *test) = (each.read_text().splitlines() for each in (a, b))
    assert first == second == header
    assert sorted(train + test) == sorted(rows)
    shares = pd.concat([read_table(each)["cause"].value_counts() for each in (a, b)], axis=1)
    np.testing.assert_allclose(shares.iloc[:, 1] / shares.sum(axis=1), 0.25, atol=0.06)


@pytest.mark.filterwarnings("default::survtrace.errors.DataWarning")
def test_a_patient_on_both_sides_is_told_where_no_option_names_the_patients(
    survtrace, table, tmp_path, small
):
    twice, options = tmp_path / "twice.csv", ("--out-train", tmp_path / "a.csv")
    options += ("--out-test", tmp_path / "b.csv", "--force")
    frame = pd.read_csv(table).assign(patient_id=lambda rows: [f"P{k // 2}" for k in rows.index])
    frame.to_csv(twice, index=False)
    words = "rows that are set aside have a patient_id that occurs among the others, too"
    for command in (
        ("split", twice, *options),
        ("fit", twice, *OUTCOME, "--hold-out", "0.25", *small, "--out", tmp_path / "m", "--force"),
    ):
        ended = survtrace(*command)
        assert words in " ".join(ended.err.split())
        assert "--id patient_id" in ended.err
        assert ended.code == 0
        ended = survtrace(*command, "--id", "patient_id")
        assert words not in " ".join(ended.err.split())
    assert words not in survtrace("-q", "split", twice, *options).err
    frame.assign(patient_id=frame.index).to_csv(twice, index=False)
    assert words not in " ".join(survtrace("split", twice, *options).err.split())


def test_a_name_with_blanks_is_quoted_in_the_way_out():
    with pytest.warns(DataWarning, match="say --id 'Patient ID': each is then"):
        warn_of_divided_subjects({"Patient ID": [7, 8, 7, 9]}, np.array([False, False, True, True]))


def test_split_says_its_sizes_as_json(survtrace, table, tmp_path):
    options = ("--out-train", tmp_path / "a.csv", "--out-test", tmp_path / "b.csv")
    ended = survtrace("-q", "split", table, *options, "--fraction", "0.5", "--json")
    assert json.loads(ended.out)["test"] == 120


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--out-test", "b.parquet"), "ends in .csv; got b.parquet"),
        (("--out-test", "a.csv"), "must differ"),
        (("--out-test", "b.csv", "--seed", "-1"), "--seed"),
        (("--out-test", "roundabout/../a.csv"), "must differ"),
        (("--out-test", "b.csv", "--fraction", "1.5"), "must lie between 0 and 1"),
        (("--out-test", "b.csv", "--event", "causes"), "did you mean 'cause'?"),
    ],
)
def test_mistakes_are_named(survtrace, table, monkeypatch, tmp_path, options, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = survtrace("split", table, "--out-train", "a.csv", *options)
    assert code == 2
    assert words in err.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


def test_fit_sets_rows_aside_and_tells_the_next_command(survtrace, table, tmp_path, small):
    out = tmp_path / "m"
    options = ("--id", "patient", "--out", out, "--hold-out", "0.25", *small)
    ended = survtrace("fit", table, *OUTCOME, *options)
    assert ended.code == 0, ended.err
    held_out = tmp_path / "m-held-out.csv"
    assert "subjects: 180" in ended.out
    assert "60 rows it has not learned from" in ended.out
    assert f"next: survtrace report {out} {held_out} --out report.html" in ended.err
    assert len(read_table(held_out)) == 60
    assert load(out).card_["n_subjects"] == 180
    assert {file.name for file in out.iterdir()} == {"estimator.json", "tensors.safetensors"}
    scored = survtrace("evaluate", out, held_out, "--json")
    assert (scored.code, scored.err) == (0, "")


def test_held_out_rows_of_another_fit_are_left_alone(survtrace, table, tmp_path, small):
    other = tmp_path / "m-held-out.csv"
    other.write_text("of another fit")
    options = ("--id", "patient", "--out", tmp_path / "m", "--hold-out", "0.25", *small)
    code, _, err = survtrace("fit", table, *OUTCOME, *options)
    assert code == 2
    assert "m-held-out.csv exists and is left alone" in err
    assert other.read_text() == "of another fit"
    assert survtrace("fit", table, *OUTCOME, *options, "--force").code == 0
    assert len(read_table(other)) == 60


def test_no_subject_is_on_both_sides(survtrace, patients, tmp_path):
    visits = patients.assign(patient=[f"p{number // 3}" for number in range(len(patients))])
    visits.to_csv(tmp_path / "visits.csv", index=False)
    options = ("--out-train", tmp_path / "a.csv", "--out-test", tmp_path / "b.csv")
    assert survtrace("split", tmp_path / "visits.csv", *options, "--id", "patient").code == 0
    a, b = (set(read_table(tmp_path / name)["patient"]) for name in ("a.csv", "b.csv"))
    assert not a & b
    assert (len(a), len(b)) == (60, 20)


def test_a_wrong_row_is_named_as_the_editor_counts_it(survtrace, patients, tmp_path, small):
    wrong = patients.copy()
    wrong.loc[3, "months"] = -1.0
    wrong.to_csv(tmp_path / "t.csv", index=False)
    for options in ((), ("--hold-out", "0.25")):
        ended = survtrace(
            "fit",
            tmp_path / "t.csv",
            *OUTCOME,
            "--out",
            tmp_path / "m",
            "--id",
            "patient",
            *options,
        )
        assert ended.code == 2
        assert "line 5" in ended.err


def test_a_folder_is_split_beforehand(survtrace, patients, tmp_path):
    (tmp_path / "parts").mkdir()
    patients.to_parquet(tmp_path / "parts" / "a.parquet", index=False)
    options = (*OUTCOME, "--out", tmp_path / "m", "--hold-out", "0.25")
    code, _, err = survtrace("fit", tmp_path / "parts", *options)
    assert code == 2
    assert "survtrace split" in err
