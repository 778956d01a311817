"""Commands on rows that begin late, and on several rows of one subject."""

import json

import numpy as np
import pandas as pd
import pytest

from survtrace import load
from survtrace.tables.files.formats import read_table

OUTCOME = ("--duration", "until", "--event", "cause")
WHOSE = ("--entry", "since", "--id", "patient")


@pytest.fixture(scope="session")
def visits(patients):
    """Two rows for each patient of whom some entered late; the second has another size."""
    rng = np.random.default_rng(0)
    entry = patients["months"] * rng.choice([0.0, 0.2], len(patients))
    middle = (entry + patients["months"]) / 2
    first = patients.assign(since=entry, until=middle, cause=0)
    second = patients.assign(since=middle, until=patients["months"], size=patients["size"] * 1.1)
    rows = pd.concat([first, second]).sort_values(["patient", "since"], ignore_index=True)
    return rows.drop(columns="months")


@pytest.fixture
def table(visits, tmp_path):
    """Its CSV file."""
    visits.to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "visits.csv"


@pytest.fixture
def small(tiny):
    """The settings of a tiny estimator as options."""
    quiet = {"mortality_weight": 0, "stay_weight": 0}
    settings = {**tiny, **quiet}.items()
    return [option for name, value in settings for option in ("--set", f"{name}={value}")]


def flat(text):
    return " ".join(text.split())


def test_check_tells_of_late_entry_and_of_several_rows(survtrace, table, visits):
    code, out, err = survtrace("check", table, *OUTCOME, *WHOSE)
    assert code == 0, err
    assert f"note: {len(visits)} rows of 240 subjects (start-stop rows)" in out
    n_late = visits.groupby("patient")["since"].min().gt(0).sum()
    assert f"note: {n_late} of 240 subjects entered after 0" in out
    assert "Entry and duration must count from the same origin" in flat(out)
    assert "--entry since --id patient" in out
    columns = json.loads(survtrace("check", table, *OUTCOME, *WHOSE, "--json").out)["columns"]
    assert not {"since", "patient"} & {column["name"] for column in columns}


def test_check_tells_of_gaps(survtrace, visits, tmp_path):
    later = (visits["since"] + 0.2 * (visits["until"] - visits["since"])).where(visits.index == 5)
    visits.assign(since=later.fillna(visits["since"])).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = survtrace("check", tmp_path / "t.csv", *OUTCOME, *WHOSE)
    assert code == 0, err
    assert "1 of 240 subjects have gaps between their rows (first: before row 5" in flat(out)


@pytest.mark.parametrize("command", [("check",), ("fit", "--out", "m")], ids=lambda c: c[0])
def test_rows_that_touch_are_a_question(survtrace, table, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *options = command
    code, _, err = survtrace(name, table, *OUTCOME, *options)
    assert code == 2
    assert "columns 'since' and 'until' look like start-stop rows: 240 of 240 rows" in flat(err)
    answers = [line for line in err.splitlines() if line.startswith("  survtrace fit")]
    ends = ["--entry since --id patient", "--use since", "--drop since"]
    assert all(line.endswith(end) for line, end in zip(answers, ends, strict=True))
    code, _, err = survtrace(name, table, *OUTCOME, "--entry", "since", *options)
    assert code == 2
    assert "Say whose rows they are" in flat(err)
    assert "--id patient" in err


def test_answers_name_the_subject_once(survtrace, visits, tmp_path):
    visits.rename(columns={"patient": "id"}).to_csv(tmp_path / "t.csv", index=False)
    _, _, err = survtrace("check", tmp_path / "t.csv", *OUTCOME)
    answers = [line for line in err.splitlines() if line.startswith("  survtrace fit")]
    assert [line.count("--id id") for line in answers] == [1, 1, 1]


def test_check_asks_for_no_entry_that_is_named_already(survtrace, visits, tmp_path):
    recurring = visits.assign(cause=1)
    recurring.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = survtrace("check", tmp_path / "t.csv", *OUTCOME, *WHOSE)
    assert code == 2
    assert "an event must be in the last row of its subject" in flat(err)
    assert "--entry COLUMN" not in out


def test_a_covariate_is_used_where_the_user_says_so(survtrace, table):
    options = ("--use", "since", "--id", "patient", "--json")
    code, out, err = survtrace("check", table, *OUTCOME, *options)
    assert code == 0, err
    assert "since" in {column["name"] for column in json.loads(out)["columns"]}


def test_fit_holds_out_subjects_and_evaluate_knows_the_columns(survtrace, table, small, tmp_path):
    out, held_out = tmp_path / "m", tmp_path / "m-held-out.csv"
    options = ("--hold-out", "0.25", "--time-name", "age", "--out", out, *small)
    ended = survtrace("fit", table, *OUTCOME, *WHOSE, *options)
    assert ended.code == 0, ended.err
    rows = read_table(held_out)
    assert rows["patient"].nunique() == 60
    assert len(rows) == 120
    est = load(out)
    assert est.card_["table"]["entry"] == "since"
    assert est.card_["table"]["id"] == "patient"
    assert "since" not in est.feature_names_in_
    assert est.time_name == "age"
    told = flat(survtrace("info", out).out)
    assert "--entry since, --id patient" in told
    assert "several rows of a subject (start-stop rows)" in told
    assert "age: 0" in told
    predicted = survtrace("predict", out, held_out, "--times", "2")
    assert (predicted.code, predicted.err.count("warning")) == (0, 0)


def test_a_folder_of_files_is_read_in_chunks(survtrace, visits, small, tmp_path):
    (tmp_path / "parts").mkdir()
    visits[:201].to_parquet(
        tmp_path / "parts" / "a.parquet", index=False
    )  # between two rows of one
    visits[201:].to_parquet(tmp_path / "parts" / "b.parquet", index=False)
    options = (*OUTCOME, *WHOSE, *small, "--out", tmp_path / "m", "--json")
    ended = survtrace("fit", tmp_path / "parts", *options)
    assert ended.code == 0, ended.err
    learned = json.loads(ended.out)
    assert (learned["rows"], learned["subjects"]) == (len(visits), 240)
    est = load(tmp_path / "m")
    assert est.has_start_stop_
    assert "since" not in est.feature_names_in_
    wrong = visits.assign(since=visits["since"].where(visits.index != 201, 0.0))[201:]
    wrong.to_parquet(tmp_path / "parts" / "b.parquet", index=False)
    code, _, err = survtrace("fit", tmp_path / "parts", *options, "--force")
    assert code == 2
    assert "rows of one subject must not overlap" in flat(err)
    assert f"id {visits['patient'][201]!r}" in flat(err)


def test_several_rows_of_a_subject_are_scored_at_landmarks(survtrace, table, small, tmp_path):
    out, held_out = tmp_path / "m", tmp_path / "m-held-out.csv"
    options = ("--hold-out", "0.4", "--time-unit", "years", "--out", out, *small)
    assert survtrace("fit", table, *OUTCOME, *WHOSE, *options).code == 0
    code, _, err = survtrace("evaluate", out, held_out)
    assert code == 2
    assert "say --landmark S" in flat(err)
    arguments = ("evaluate", out, held_out, "--landmark", "1,2", "--horizons", "2")
    code, shown, err = survtrace(*arguments)
    assert (code, err) == (0, "")
    assert "Scores on those observed at each landmark" in shown
    assert "landmark" in shown
    found = pd.DataFrame(json.loads(survtrace(*arguments, "--json").out))
    assert set(found["landmark"]) == {1.0, 2.0}
    assert set(found["horizon"].dropna()) == {2.0}
    code, shown, err = survtrace("explain", out, held_out, "--landmark", "1", "--repeats", "1")
    assert (code, err) == (0, "")
    assert "importance x 1000" in shown


def test_predict_says_whose_curves_they_are_where_nobody_is_seen_from_0(
    survtrace, visits, small, tmp_path
):
    table, out = tmp_path / "t.csv", tmp_path / "m"
    by_age = visits.assign(since=visits["since"] + 60, until=visits["until"] + 60)
    by_age.to_csv(table, index=False)
    assert survtrace("fit", table, *OUTCOME, *WHOSE, "--out", out, *small).code == 0
    first = by_age["since"].min()
    _, _, err = survtrace("predict", out, table, "--times", "62")
    assert f"they are those of somebody event-free at {first:g}" in flat(err)
    assert "say --after COLUMN" in flat(err)
    _, _, err = survtrace("predict", out, table, "--times", "+0.1", "--after", "since")
    assert "--after" not in err
    _, _, err = survtrace("predict", out, table, "--times", "62", "--after", "since")
    n_past = (by_age["since"] >= 62).sum()
    assert f"{n_past} of 480 rows are asked about 62, which is not later" in flat(err)


def test_a_table_without_the_column_of_entry_is_asked_about(survtrace, table, small, tmp_path):
    out, plain = tmp_path / "m", tmp_path / "plain.csv"
    survtrace("fit", table, *OUTCOME, "--entry", "since", "--id", "patient", "--out", out, *small)
    last = read_table(table).drop_duplicates("patient", keep="last").drop(columns="since")
    last.to_csv(plain, index=False)
    code, _, err = survtrace("evaluate", out, plain, "--horizons", "2")
    assert code == 2
    assert "was fitted with --entry since" in flat(err)
    options = ("--horizons", "2", "--entry", "none")
    assert survtrace("evaluate", out, plain, *options).code == 0


@pytest.mark.parametrize(
    ("row", "values", "words"),
    [
        (3, {"since": 1e4}, "entry must come before duration"),
        (3, {"since": 0.0}, "must not overlap"),
        (2, {"cause": 1}, "an event must be in the last row of its subject"),
        (3, {"patient": ""}, "id is missing in 1 of 480 rows (first: line 5)"),
    ],
)
def test_a_bad_row_is_named_as_the_editor_counts_it(
    survtrace, visits, tmp_path, row, values, words
):
    wrong = visits.assign(**{name: visits[name].astype(object) for name in values})
    wrong.loc[row, list(values)] = list(values.values())
    wrong.to_csv(tmp_path / "t.csv", index=False)
    for options in ((), ("--hold-out", "0.25")):
        arguments = (*OUTCOME, *WHOSE, "--out", tmp_path / "m", *options)
        code, _, err = survtrace("fit", tmp_path / "t.csv", *arguments)
        assert code == 2
        assert words in flat(err)
        assert f"line {row + 2}" in flat(err)


def test_one_column_has_one_role(survtrace, table, tmp_path):
    options = ("--entry", "until", "--out", tmp_path / "m")
    code, _, err = survtrace("fit", table, *OUTCOME, *options)
    assert code == 2
    assert "--duration and --entry must be two columns; got 'until' for both" in flat(err)


@pytest.mark.parametrize("option", ["--entry", "--id"])
def test_a_column_that_is_not_there_is_named(survtrace, table, tmp_path, option):
    code, _, err = survtrace("fit", table, *OUTCOME, option, "begun", "--out", tmp_path / "model")
    assert code == 2
    assert "'begun'" in err
    assert "bug" not in err


def test_split_keeps_rows_of_a_subject_together(survtrace, table, tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    options = ("--out-train", a, "--out-test", b, "--id", "patient", "--event", "cause")
    assert survtrace("split", table, *options).code == 0
    train, test = read_table(a), read_table(b)
    assert not {*train["patient"]} & {*test["patient"]}
    last = [rows.groupby("patient")["cause"].last().gt(0).mean() for rows in (train, test)]
    assert abs(last[0] - last[1]) < 0.05


def test_compare_refuses_entry(survtrace, table):
    code, _, err = survtrace("compare", table, *OUTCOME, *WHOSE)
    assert code == 2
    assert "compare scores everybody from 0 on" in flat(err)
