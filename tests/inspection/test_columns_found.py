"""What each column of a raw table is found to be."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survtrace import DataError
from survtrace.inspection import plan_columns
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.outcome.outcome import Outcome

N = 120
RNG = np.random.default_rng(0)
NUMBERS = RNG.gamma(2.0, 10.0, N).round(1) + 0.1


def found(values, name="a", **settings):
    """The only finding of a table of one column."""
    (finding,) = plan_columns(open_table({name: values}), **settings).findings
    return finding


def with_marks(values, *marks):
    """Some of the values replaced by marks."""
    changed = list(values)
    for codes, mark in enumerate(marks):
        changed[5 * codes + 1] = mark
    return changed


def comma(values):
    return [f"{value}".replace(".", ",") for value in values]


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("a", [f"P{number:05d}" for number in RNG.permutation(N)], "identifier"),
        ("patient_id", RNG.permutation(10**6)[:N], "identifier"),
        ("a", np.arange(N) + 40_000, "identifier"),
        ("Unnamed: 0", RNG.permutation(N), "identifier"),
        ("insurance", RNG.permutation(10**4)[:N] + 4_310_000, "identifier"),
        ("patient", [f"P{number // 2}" for number in range(N)] + [None], "identifier"),
        ("a", pd.Categorical([f"P{number}" for number in range(N)]), "identifier"),
        ("surname", [f"{'ABCDEFGH'[i % 8]}. Smith-{i // 4}" for i in range(N)], "identifier"),
        ("a", [f"{d}.{m}.2020" for d in range(1, 11) for m in range(1, 13)], "date"),
        ("a", ["2020-01-31", "31/12/19", "5 Mar 2021", "2020-01-31 12:30"] * 30, "date"),
        ("a", [20190100 + day % 28 + 1 for day in range(N)], "date"),
        ("birth_date", RNG.integers(12_000, 25_000, N), "date"),
        ("date of admission", RNG.uniform(41_000, 43_500, N).round(4), "date"),
        ("BirthDate", RNG.integers(-9_000, -1_000, N), "date"),
        ("eid", RNG.permutation(5_000_000)[:N], "identifier"),
        ("PATNO", RNG.permutation(5_000_000)[:N], "identifier"),
        ("a", [f"seen in clinic on day {i}, no new complaints" for i in range(N)], "text"),
        (
            "a",
            ["none"] * 90 + [f"fell at home, brought in by {i} others" for i in range(30)],
            "text",
        ),
    ],
)
def test_what_is_no_covariate_is_left_out_and_its_values_are_not_shown(name, values, role):
    finding = found(values, name)
    assert (finding.use, finding.role, finding.content) == ("left out", role, "")
    assert finding.covariate is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a", RNG.permutation(np.arange(90_000, 400_000, 7))[:N]),
        ("a", NUMBERS),
        ("number_of_nodes", RNG.integers(0, 20, N)),
        ("birth_year", RNG.integers(1930, 1990, N)),
    ],
)
def test_a_real_covariate_is_never_dropped(name, values):
    assert found(values, name).use == "numerical"


@pytest.mark.parametrize("values", [["x", "y", "z"], ["1.1.2020x", "b", "c"]])
def test_a_small_table_is_not_judged_by_distinct_values(values):
    assert found(values).use == "categorical"


@pytest.mark.parametrize(
    ("values", "changes"),
    [
        (comma(NUMBERS), {"decimal comma": N}),
        ([f"{value} mg/dl" for value in NUMBERS], {"unit": N}),
        (with_marks(NUMBERS.astype(str), "<0.6", ">200"), {"bound": 2}),
        ([f"{value * 1e4:,.2f}" for value in NUMBERS], {"thousands separator": N}),
        (list(NUMBERS.astype(str)), {}),
    ],
)
def test_numbers_in_text_become_numbers_with_a_count_of_changes(values, changes):
    finding = found(values)
    assert finding.use == "numerical"
    assert {kind: finding.changes.get(kind) for kind in changes} == changes
    assert "numbers written as text in 120 rows" in finding.reason


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_marks_of_missing_values_are_missing(frame):
    marks = ["NA", "N/A", "unknown", "-", "?", ".", "", "nicht bekannt", " Unknown "]
    for values in (with_marks(comma(NUMBERS), *marks), with_marks(["f", "m"] * 60, *marks)):
        (finding,) = plan_columns(open_table(frame({"a": values}))).findings
        assert finding.n_missing == len(marks)
        assert sum(finding.markers.values()) == len(marks) - 1  # an empty text is no mark


def test_a_few_words_among_numbers_are_missing_and_named():
    finding = found(with_marks(NUMBERS.astype(str), "haemolysed", "haemolysed"))
    assert finding.markers == {"haemolysed": 2}
    assert finding.covariate.missing == ("haemolysed",)


SHARES = [f"{k}%" if k % 2 else f"0.{k}" for k in range(40, 70)] * 4


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["1,234", "5,678"] * 60, "'1,234' can be 1.234 or 1234"),
        (["90 mg/dl", "5 mmol/l"] * 60, "different units"),
        (["months", "years"] * 60, "its texts are units ('months' in 60, 'years' in 60)"),
        (SHARES, "without one, which lie apart: those without mostly from 0.4 to 0.68"),
        ([*NUMBERS[:80].astype(str), *(f"word {i}" for i in range(40))], "numbers in 80 rows"),
        (pd.date_range("2020-01-01", periods=N), "holds dates or times"),
    ],
)
def test_what_cannot_be_known_is_asked(values, reason):
    plan = plan_columns(open_table({"lab": values, "age": NUMBERS[: len(values)]}))
    assert reason in plan.findings[0].reason
    with pytest.raises(DataError, match="'lab'") as caught:
        plan.require_answers()
    if "dates" not in reason:
        assert "--columns" in caught.value.in_command
        assert "SurvTRACE(columns=" in str(caught.value)


MIXED = [*NUMBERS[:80].astype(str), *(f"word {i}" for i in range(40))]


@pytest.mark.parametrize(
    ("values", "known", "fields", "options"),
    [
        (["1,234", "5,678"] * 60, {}, ["decimal", "categorical", "ignore"], "--decimal"),
        (["1.155", "386"] * 60, {}, ["decimal", "categorical", "ignore"], "--decimal"),
        (MIXED, {}, ["numerical", "categorical", "ignore"], "--missing TEXT for each text that"),
        (["90 mg/dl", "5 mmol/l"] * 60, {}, ["categorical", "ignore"], "--drop 'a'"),
        (["months", "years"] * 60, {}, ["categorical", "ignore"], "--drop 'a'"),
        (SHARES, {}, ["numerical", "categorical", "ignore"], "--use 'a' (if all are in one unit)"),
        (["f", "m"] * 60, {"levels": ["f"]}, ["levels", "ignore"], "--drop 'a'"),
    ],
    ids=[
        "decimals",
        "thousands",
        "numbers and texts",
        "units",
        "names of units",
        "shares",
        "levels",
    ],
)
def test_every_way_out_that_is_named_settles_the_question(values, known, fields, options):
    plan = plan_columns(open_table({"a": values, "age": NUMBERS}), columns={"a": known})
    with pytest.raises(DataError, match=r"columns=\{'a'") as caught:
        plan.require_answers()
    assert f"Say {options}" in caught.value.in_command
    for field in ("decimal", "levels", "numerical", "categorical", "ignore"):
        assert (f'"{field}"' in str(caught.value)) == (field in fields)
        entry = {"decimal": ",", "levels": ["f", "m"]}.get(field, "")
        entry = {field: entry} if entry else {**known, "kind": field}
        if field in fields:
            assert found(values, columns={"a": entry}).use != "question"


def test_a_text_among_numbers_can_be_said_to_mean_not_known():
    values = [*NUMBERS[:80].astype(str), *["NK"] * 40]
    plan = plan_columns(open_table({"a": values}))
    when, options = plan.answers[0]
    assert (when, options) == ("if 'NK' means 'not known'", ("--missing", "NK"))
    assert found(values, columns={"a": {"missing": ["NK"]}}).use == "numerical"


def test_the_dictionary_answers():
    answers = {"a": {"decimal": ","}}
    assert found(["1,234", "5,678"] * 60, columns=answers).covariate.decimal == ","
    mixed = [*NUMBERS[:80].astype(str), *(f"word {i}" for i in range(40))]
    assert found(mixed, columns={"a": {"kind": "categorical"}}).use == "categorical"
    assert found(mixed, columns={"a": "ignore"}).by_user


@pytest.mark.parametrize("kind", ["categorical", "covariate"])
def test_an_identifier_is_used_if_asked_for_by_name(kind):
    values = [f"P{number}" for number in range(N)]
    assert found(values, columns={"a": {"kind": kind}}).use == "categorical"
    assert found(values, categorical=["a"]).use == "categorical"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (with_marks(RNG.integers(40, 120, N), 999, 999), "999 (2 rows)"),
        (with_marks(RNG.integers(40, 120, N), -99), "-99 (1 row)"),
        (with_marks(RNG.normal(37.0, 0.5, N), -9), "-9 (1 row)"),
        (with_marks(RNG.integers(0, 2, N), 9), "9 (1 row)"),
        (with_marks(RNG.integers(0, 3, N), -3), "-3 (1 row)"),
        (with_marks(RNG.integers(0, 9, N), -1, -1), "-1 (2 rows)"),
        (with_marks(RNG.integers(40, 70, N), -1), "-1 (1 row)"),
    ],
)
def test_a_number_that_may_mean_missing_is_pointed_out_but_kept(values, code):
    finding = found(values)
    assert finding.sentinels_in_words(in_command=True)[0].startswith(code)
    assert finding.n_missing == 0
    number = code.split()[0]
    told = found(values, columns={"a": {"missing": number}})
    assert told.n_missing == int(code[code.index("(") + 1])
    assert not told.warnings


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 100, N),
        RNG.integers(1, 10, N),
        NUMBERS,
        RNG.integers(-2, 3, N),
        with_marks(RNG.normal(12, 4, N).clip(0).round(), -1, -3),
    ],
)
def test_numbers_within_the_others_are_not_suspected(values):
    assert not found(values).warnings


def test_measurements_in_two_units_are_pointed_out_and_zeros_beside_them_are_not():
    haemoglobin = RNG.normal(13.5, 1.5, N).round(1)
    mixed = np.where(np.arange(N) % 3, haemoglobin, haemoglobin * 10)
    assert "perhaps in two units" in found(mixed).warnings[0]
    assert not found(np.where(np.arange(N) % 3, haemoglobin, 0)).warnings
    assert not found(np.where(np.arange(N) % 3, haemoglobin, 135)).warnings
    assert not found(np.where(np.arange(N) % 3, haemoglobin, -haemoglobin * 10)).warnings
    assert found(mixed, columns={"a": {"kind": "numerical"}}).warnings == ()
    smallest = np.where(np.arange(N) < 30, 5e-324, haemoglobin)  # by which nothing can be divided
    assert not any("two units" in warning for warning in found(smallest).warnings)


def test_spellings_of_one_level_are_merged_and_said():
    finding = found(["Male", "male ", "MALE", "Male", "female", "Female"] * 20)
    assert finding.covariate.levels == ("Male", "female")
    assert "spellings of one level" in finding.warnings[0]
    kept = found(["m", "M", "f"] * 40, columns={"a": {"levels": ["m", "M", "f"]}})
    assert kept.covariate.levels == ("m", "M", "f")


def test_levels_of_the_dictionary_are_the_only_ones():
    with pytest.raises(DataError, match=r"levels that the dictionary does not have in 40 rows"):
        plan_columns(
            open_table({"a": ["x", "y", "z"] * 40}), columns={"a": {"levels": ["x", "y"]}}
        ).require_answers()


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3"] * 40,
        ["007", "012"] * 60,
        [True, False] * 60,
        pd.Categorical(["unknown", "I"] * 60),
        ["1a", "1b", "2"] * 40,
        ["40-49", "50-59", "80+"] * 40,
        ["0", "1", "2", "3 or more"] * 30,
        ["+", "-"] * 60,
        ["++", "+", "\u2013"] * 40,
        ["m", "f"] * 60,
        ["years", "yrs", "jahre"] * 40,
        ["pack-years", "cigars"] * 60,
        ["done", "not done"] * 60,
    ],
)
def test_codes_and_categories_stay_as_they_are(values):
    finding = found(values)
    assert finding.use == "categorical"
    assert not finding.warnings
    assert not finding.markers


@pytest.mark.parametrize("name", ["patient_id", "MRN", "patient", "siteID", "SITEID", "subjid"])
def test_numbers_that_name_patients_of_several_rows_are_pointed_out(name):
    """They are no identifier of rows; as numbers, nothing would say that rows belong together."""
    finding = found(np.repeat(RNG.permutation(10**4)[: N // 4], 4), name)
    assert finding.use == "numerical"
    assert "named like an identifier, but used as a number: if it names patients" in str(finding)


def test_numbers_that_may_name_patients_do_not_deny_the_ids_of_the_outcome():
    number = np.arange(N) // 2
    day = np.arange(N) % 2
    rows = Outcome(day + 1.0, day, (1,), entry=day + 0.0, id=number)
    (finding,) = plan_columns(open_table({"site_id": number}), rows).findings
    assert "if it names patients, leave it out; if it names places" in finding.warnings[0]
    assert "each row counts as a patient of its own" not in str(finding)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("date", 1930, 2010), ("dose to date", 4_000, 9_000), ("days", 12_000, 25_000)],
)
def test_years_and_numbers_that_no_name_calls_dates_are_used_without_a_remark(name, low, high):
    finding = found(RNG.integers(low, high, N), name)
    assert (finding.use, finding.warnings) == ("numerical", ())


@pytest.mark.parametrize("name", ["patient_age", "number of nodes", "covid", "falls", "a"])
def test_other_whole_numbers_are_used_without_a_remark(name):
    assert not found(RNG.integers(0, 90, N), name).warnings


@pytest.mark.parametrize("values", [[0, 1] * 60, NUMBERS])
def test_a_flag_and_measurements_are_no_identifier_whatever_their_name(values):
    assert not found(values, "ID").warnings


def test_many_levels_are_kept_with_a_warning():
    finding = found([f"C{number % 80}" for number in range(150)])
    assert finding.use == "categorical"
    assert "80 levels in 150 rows" in finding.warnings[0]


def test_arrays_of_numbers_are_not_inspected():
    array = np.column_stack([np.arange(N), np.full(N, 999.0)])
    assert plan_columns(open_table(array)).covariates == infer_covariates(open_table(array))
    assert plan_columns(open_table(array)).words() == ""


@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 2)), min_size=30, max_size=60))
def test_a_table_with_comma_decimals_is_the_table_with_points(numbers):
    (finding,) = plan_columns(open_table({"a": comma(numbers)})).findings
    if finding.use == "numerical":
        table = open_table({"a": comma(numbers)})
        applied = plan_columns(table).apply(table)["a"]
        np.testing.assert_allclose(applied.astype(float), numbers)


def test_a_dataframe_with_everything_is_said_in_one_text():
    X = pd.DataFrame(
        {
            "id": [f"P{number}" for number in range(N)],
            "crp": with_marks(comma(NUMBERS), "unknown", "<0,6"),
            "weight": with_marks(RNG.integers(40, 120, N), 999),
            "age": NUMBERS,
        }
    )
    words = plan_columns(open_table(X)).words()
    assert "left out: id (identifier" in words
    assert "read as numbers: crp" in words
    assert "read as missing: crp ('unknown' in 1)" in words
    assert "look at: weight (999" in words
    assert plan_columns(open_table(X)).left_out == ("id",)


def test_times_of_day_and_objects_of_dates_are_dates():
    values = [dt.date(2020, 1, 1 + number % 28) for number in range(N)]
    assert found(np.array(values, dtype=object)).read_as == "dates"


def test_a_signalling_nan_is_asked_about_though_pandas_cannot_compare_it():
    finding = found(pd.Series([61.0, None, Decimal("sNaN")], dtype=object))
    assert (finding.use, finding.n_missing) == ("question", 1)
