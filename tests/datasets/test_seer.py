"""A SEER export becomes the paper's 18 covariates and an outcome, under two treatments.

The records are made up: SEER's data may not be passed on, and none are here.
"""

import csv

import numpy as np
import pandas as pd
import pytest

from survtrace.datasets import SEER_CAUSES, load_seer
from survtrace.datasets.seer import CATEGORICAL, NUMERICAL, RARE, SEER_COLUMNS
from survtrace.errors import DataError, SettingError
from survtrace.tables.outcome.outcome import read_outcome

N_PLAIN = 400
NODES, SIZE = "Regional nodes examined (1988+)", "CS tumor size (2004-2015)"
N_MALIGNANT = "Total number of in situ/malignant tumors for patient"
INCOME = "Median household income inflation adj to 2019"
ER, STAGE = "ER Status Recode Breast Cancer (1990+)", "Summary stage 2000 (1998-2017)"
REASON, CONFIRMATION = "Reason no cancer-directed surgery", "Diagnostic Confirmation"
SITE, COD = "RX Summ--Surg Prim Site (1998+)", "COD to site recode"
CLASSIFICATION = "SEER cause-specific death classification"
YEAR, MONTHS, PATIENT = "Year of diagnosis", "Survival months", "Patient ID"
DIED_BEFORE = "Not performed, patient died prior to recommended surgery"

PLAIN = {
    "Sex": "Female",
    YEAR: "2010",
    "Race recode (W, B, AI, API)": "White",
    "Histologic Type ICD-O-3": "8500",
    "Laterality": "Left - origin of primary",
    "Sequence number": "One primary only",
    ER: "Positive",
    "PR Status Recode Breast Cancer (1990+)": "Positive",
    STAGE: "Localized",
    SITE: "22",
    REASON: "Surgery performed",
    "First malignant primary indicator": "Yes",
    CONFIRMATION: "Positive histology",
    INCOME: "$75,000+",
    NODES: "02",
    SIZE: "020",
    "Total number of benign/borderline tumors for patient": "00",
    N_MALIGNANT: "01",
    MONTHS: "0060",
    COD: "Alive",
    CLASSIFICATION: "Alive or dead of other cause",
}


def make_export(*special, n_plain=N_PLAIN):
    """Plain records of distinct patients, then one record for each set of special values."""
    rows = [{**PLAIN, **changes} for changes in ({},) * n_plain + special]
    for number, row in enumerate(rows):
        row.setdefault(PATIENT, str(10_000 + number))
    return pd.DataFrame(rows, dtype=str)[list(SEER_COLUMNS)]


@pytest.fixture
def load(tmp_path):
    def write_and_load(*special, n_plain=N_PLAIN, **settings):
        path = tmp_path / "export.csv"
        make_export(*special, n_plain=n_plain).to_csv(path, index=False)
        return load_seer(path, **settings)

    return write_and_load


def last_values(table, name, n):
    return table[name].iloc[-n:].tolist()


# Form


def write_with_header(table, path):
    table.to_csv(path, index=False)


def write_without_header(table, path):
    table.to_csv(path, index=False, header=False, sep="\t")


def write_tabs_with_header(table, path):
    table.to_csv(path, index=False, sep="\t", quoting=csv.QUOTE_NONE)


def write_with_byte_order_mark(table, path):
    table.to_csv(path, index=False, encoding="utf-8-sig")


FORMS = [
    ("seer.csv", write_with_header),
    ("seer.csv.gz", write_with_header),
    ("seer.txt", write_without_header),
    ("seer.txt.gz", write_without_header),
    ("seer.txt", write_tabs_with_header),
    ("seer.csv", write_with_byte_order_mark),
]


@pytest.mark.parametrize(("name", "write"), FORMS)
@pytest.mark.parametrize("treatment", ["ours", "paper"])
def test_every_form_of_export_gives_the_same_cohort(tmp_path, name, write, treatment):
    table = make_export({REASON: "Not recommended"}, {COD: "Breast", MONTHS: "0007"})
    table.to_csv(tmp_path / "reference.csv", index=False)
    write(table, tmp_path / name)
    X, y = load_seer(tmp_path / name, treatment=treatment)
    expected = load_seer(tmp_path / "reference.csv", treatment=treatment)
    pd.testing.assert_frame_equal(X, expected[0])
    pd.testing.assert_frame_equal(y, expected[1])
    assert len(X) == N_PLAIN + 2


@pytest.mark.parametrize("name", ["seer.csv", "seer.txt", "seer.csv.gz", "seer.txt.gz"])
def test_by_default_the_file_is_found_in_the_data_home(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_with_header(make_export(), tmp_path / name)
    assert len(load_seer()[0]) == N_PLAIN


def test_without_a_file_the_error_says_how_to_obtain_the_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"none of seer\.csv.*seer\.cancer\.gov.*docs/seer\.md"):
        load_seer()
    with pytest.raises(DataError, match=r"absent\.csv is not a file"):
        load_seer(tmp_path / "absent.csv")


def test_missing_columns_are_named(tmp_path):
    make_export().drop(columns=[INCOME, PATIENT]).to_csv(tmp_path / "seer.csv", index=False)
    with pytest.raises(DataError, match=rf"missing: \['{INCOME}', '{PATIENT}'\]"):
        load_seer(tmp_path / "seer.csv")


def test_a_renamed_column_is_accepted_by_a_mapping(tmp_path):
    newer = "Median household income inflation adj to 2022"
    make_export().rename(columns={INCOME: newer}).to_csv(tmp_path / "seer.csv", index=False)
    X, _ = load_seer(tmp_path / "seer.csv", columns={newer: INCOME})
    assert set(X["median_household_income"]) == {"$75,000+"}


def test_another_order_and_further_columns_are_accepted_by_name(tmp_path):
    table = make_export({ER: "Negative"}).assign(Grade="II")[["Grade", *SEER_COLUMNS[::-1]]]
    table.to_csv(tmp_path / "named.csv", index=False)
    write_without_header(table, tmp_path / "bare.txt")
    X, _ = load_seer(tmp_path / "named.csv")
    again, _ = load_seer(tmp_path / "bare.txt", columns=list(table.columns))
    pd.testing.assert_frame_equal(X, again)
    assert X["er_status"].iloc[-1] == "Negative"


def test_a_bare_file_of_another_width_is_refused(tmp_path):
    write_without_header(make_export().assign(Grade="II"), tmp_path / "bare.txt")
    with pytest.raises(DataError, match=r"it has 23 fields\. Pass the names"):
        load_seer(tmp_path / "bare.txt")
    with pytest.raises(DataError, match=r"missing: \[.*'Patient ID'"):
        load_seer(tmp_path / "bare.txt", columns=[f"c{j}" for j in range(23)])


def test_a_bare_file_in_the_wrong_order_is_refused(tmp_path):
    table = make_export()
    write_without_header(table[list(SEER_COLUMNS[::-1])], tmp_path / "bare.txt")
    with pytest.raises(DataError, match="Check the order of columns"):
        load_seer(tmp_path / "bare.txt")


@pytest.mark.parametrize("line", [1, 2, 200])
def test_labels_with_commas_that_were_not_quoted_are_refused(tmp_path, line):
    write_with_header(make_export(), tmp_path / "seer.csv")
    lines = (tmp_path / "seer.csv").read_text().splitlines()
    lines[line] = lines[line].replace("Surgery performed", DIED_BEFORE)
    (tmp_path / "seer.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match="quotes around fields"):
        load_seer(tmp_path / "seer.csv")


def test_damaged_and_empty_files_are_refused(tmp_path):
    write_with_header(make_export(), tmp_path / "whole.csv.gz")
    (tmp_path / "cut.csv.gz").write_bytes((tmp_path / "whole.csv.gz").read_bytes()[:-30])
    (tmp_path / "text.csv.gz").write_text("Sex,Year of diagnosis")
    write_with_header(make_export().head(0), tmp_path / "header.csv")
    for name in ("cut.csv.gz", "text.csv.gz", "header.csv"):
        with pytest.raises(DataError, match="could not be read"):
            load_seer(tmp_path / name)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="it has 0 fields"):
        load_seer(tmp_path / "empty.csv")


# Covariates


@pytest.mark.parametrize("treatment", ["ours", "paper"])
def test_there_are_4_numerical_and_14_categorical_covariates(load, treatment):
    X, y = load({ER: "Unknown", NODES: "Blank(s)"}, treatment=treatment)
    assert list(X.columns) == [*CATEGORICAL.values(), *NUMERICAL.values()]
    assert list(X.select_dtypes("category")) == list(CATEGORICAL.values())
    assert list(X.select_dtypes(np.float64)) == list(NUMERICAL.values())
    assert y.dtypes.to_dict() == {"event": np.int64, "duration": np.float64}
    assert X.index.equals(pd.RangeIndex(len(y)))


MISSING = [
    (ER, "er_status", "Recode not available"),
    (STAGE, "summary_stage", "Unknown/unstaged"),
    (REASON, "reason_no_surgery", "Unknown; death certificate; or autopsy only (2003+)"),
    (INCOME, "median_household_income", "Unknown/missing/no match/Not 1990-2018"),
    ("Race recode (W, B, AI, API)", "race", "Unknown"),
    ("Laterality", "laterality", "Blank(s)"),
    (CONFIRMATION, "diagnostic_confirmation", ""),
]


@pytest.mark.parametrize(("column", "name", "label"), MISSING)
def test_unknown_categories_are_missing_or_the_mode(load, column, name, label):
    X, _ = load({column: label})
    assert X[name].isna().sum() == 1
    assert X[name].cat.categories.tolist() == [PLAIN[column]]
    X, _ = load({column: label}, treatment="paper")
    assert X[name].tolist() == [PLAIN[column]] * (N_PLAIN + 1)


def test_levels_that_say_something_are_kept(load):
    labels = ["Recommended, unknown if performed", "Borderline/Unknown"]
    X, _ = load({REASON: labels[0]}, {ER: labels[1]}, rare_share=0.0)
    assert X["reason_no_surgery"].iloc[-2] == labels[0]
    assert X["er_status"].iloc[-1] == labels[1]


def test_a_column_without_any_known_value_stays_missing(load):
    blank = {"Laterality": "Unknown", SIZE: "Blank(s)"}
    for treatment in ("ours", "paper"):
        X, _ = load(blank, blank, n_plain=0, treatment=treatment)
        assert X["laterality"].isna().all()
        assert X["laterality"].dtype == "category"
        assert X["tumor_size"].isna().all()


def test_surgery_codes_of_one_meaning_are_one_level(load):
    X, _ = load({SITE: "00"}, {SITE: "0"}, {SITE: "99"}, {SITE: "126"}, rare_share=0.0)
    assert last_values(X, "surgery_primary_site", 4)[:2] == ["0", "0"]
    assert X["surgery_primary_site"].iloc[-2:].isna().all()
    X, _ = load({SITE: "99"}, treatment="paper")
    assert X["surgery_primary_site"].iloc[-1] == "99"


SIZES = {
    "000": 0.0,
    "017": 17.0,
    "989": 989.0,
    "990": 0.5,
    "991": 5.0,
    "992": 15.0,
    "993": 25.0,
    "994": 35.0,
    "995": 45.0,
    **dict.fromkeys(["888", "996", "997", "998", "999", "1022", "Blank(s)", ""], np.nan),
}


def test_codes_of_the_tumor_size_become_millimetres_or_missing(load):
    X, _ = load(*({SIZE: code} for code in SIZES))
    np.testing.assert_array_equal(last_values(X, "tumor_size", len(SIZES)), list(SIZES.values()))


def test_the_paper_takes_codes_as_numbers_and_fills_in_the_mean(load):
    X, _ = load({SIZE: "020"}, {SIZE: "999"}, {SIZE: "Blank(s)"}, n_plain=0, treatment="paper")
    assert X["tumor_size"].tolist() == [20.0, 999.0, 509.5]
    X, _ = load({NODES: "98"}, treatment="paper")
    assert X["nodes_examined"].iloc[-1] == 98.0


def test_special_codes_of_counts_are_missing(load):
    X, _ = load(*({NODES: code} for code in ("90", "95", "96", "97", "98", "99", "126")))
    np.testing.assert_array_equal(last_values(X, "nodes_examined", 7), [90.0] + [np.nan] * 6)
    X, _ = load({N_MALIGNANT: "07"}, {N_MALIGNANT: "99"}, {N_MALIGNANT: "Unknown"})
    np.testing.assert_array_equal(last_values(X, "n_malignant_tumors", 3), [7.0, np.nan, np.nan])


def test_texts_that_are_not_numbers_are_listed(load):
    X, _ = load({SIZE: "two"}, {SIZE: "Unknown"})
    assert X.attrs["not_numbers"] == {"tumor_size": ["two"]}
    assert X["tumor_size"].isna().sum() == 2


def test_rare_levels_are_merged_below_a_share(load):
    special = [{"Laterality": label} for label in ["Bilateral"] * 9 + ["One side"] * 2 + ["None"]]
    X, _ = load(*special, rare_share=0.01)
    assert X["laterality"].value_counts().to_dict() == {
        PLAIN["Laterality"]: N_PLAIN,
        "Bilateral": 9,
        RARE: 3,
    }
    X, _ = load(*special, rare_share=0.0)
    assert len(X["laterality"].cat.categories) == 4


def test_by_default_a_level_needs_one_record_in_a_thousand(load):
    pairs = [{ER: "Negative"}] * 2 + [{ER: "Borderline"}, {ER: "Recode"}]
    X, _ = load(*pairs, n_plain=1500)
    assert X["er_status"].value_counts().to_dict() == {"Positive": 1500, "Negative": 2, RARE: 2}


def test_a_lone_rare_level_keeps_its_name(load):
    X, _ = load({ER: "Negative"}, rare_share=0.01)
    assert X["er_status"].iloc[-1] == "Negative"


def test_the_paper_merges_two_columns_by_count(load):
    first, second = [{"Sequence number": f"{k} of 2 or more primaries"} for k in ("1st", "2nd")]
    cytology, visual = {CONFIRMATION: "Positive cytology"}, {CONFIRMATION: "Visualization"}
    special = [first] * 100 + [second] * 99 + [cytology] * 159 + [visual] * 2 + [{ER: "Negative"}]
    X, _ = load(*special, treatment="paper")
    assert RARE not in set(X["sequence_number"])
    assert (X["diagnostic_confirmation"] == RARE).sum() == 161
    assert (X["er_status"] == "Negative").sum() == 1


# Outcome


OUTCOMES = [  # cause of death, months, (event, duration) ours, the same in the paper
    ("Alive", "0060", (0, 60.0), (0, 60.0)),
    ("Breast", "0007", (1, 7.0), (1, 7.0)),
    ("Diseases of Heart", "121", (2, 121.0), (2, 121.0)),
    ("Lung and Bronchus", "33", (3, 33.0), (0, 33.0)),
    ("State DC not available or state DC available but no COD", "5", (3, 5.0), (0, 5.0)),
    ("Breast", "122", (0, 121.0), (0, 121.0)),
    ("Alive", "0179", (0, 121.0), (0, 121.0)),
]


@pytest.mark.parametrize(("cause", "months", "ours", "paper"), OUTCOMES)
def test_causes_and_durations(load, cause, months, ours, paper):
    for treatment, expected in (("ours", ours), ("paper", paper)):
        _, y = load({COD: cause, MONTHS: months}, treatment=treatment)
        assert tuple(y.iloc[-1]) == expected


def test_an_event_in_the_first_month_counts_half_a_month_or_is_dropped(load):
    special = [{COD: "Breast", MONTHS: "0000"}, {COD: "Alive", MONTHS: "0000"}]
    X, y = load(*special)
    assert tuple(y.iloc[-1]) == (1, 0.5)
    assert (len(X), X.attrs["dropped"]["no_follow_up"]) == (N_PLAIN + 1, 1)
    X, y = load(*special, treatment="paper")
    assert y["duration"].min() == 60.0
    assert (len(X), X.attrs["dropped"]["no_follow_up"]) == (N_PLAIN, 2)


def test_longer_follow_up_may_be_dropped_and_the_limit_moved(load):
    special = [{MONTHS: "150"}, {MONTHS: "61", COD: "Breast"}]
    X, y = load(*special, beyond="drop")
    assert (X.attrs["dropped"]["beyond_follow_up"], y["duration"].max()) == (1, 61.0)
    _, y = load(*special, follow_up=60)
    assert y["event"].sum() == 0
    assert set(y["duration"]) == {60.0}


def test_the_outcome_passes_the_door(load):
    deaths = [{COD: cause, MONTHS: "0"} for cause in ("Breast", "Diseases of Heart", "Stomach")]
    assert read_outcome(load(*deaths)[1]).causes == tuple(SEER_CAUSES)


def test_months_that_are_no_number_are_refused(load):
    with pytest.raises(DataError, match=r"1 of 401 are not \(first: record 400, 'five'\)"):
        load({MONTHS: "five"})


def test_causes_exported_as_codes_are_refused(load):
    with pytest.raises(DataError, match=r"must hold labels such as Alive.*\['26000'\]"):
        load({COD: "26000"}, n_plain=0)


# Records left out


def test_each_record_left_out_is_counted_under_its_first_reason(load):
    X, y = load(
        {MONTHS: "Unknown", YEAR: "2001"},
        {MONTHS: "9999"},
        {MONTHS: "", REASON: DIED_BEFORE},
        {YEAR: "2003"},
        {YEAR: "2015"},
        {YEAR: "2004"},
        {YEAR: "2014"},
        {CLASSIFICATION: "N/A not seq 0-59"},
        {REASON: DIED_BEFORE},
        {COD: ""},
        {MONTHS: "0000"},
        {PATIENT: "10000", YEAR: "2012"},
    )
    assert X.attrs["dropped"] == {
        "unknown_survival": 3,
        "outside_years": 2,
        "not_sequence_0_59": 1,
        "died_before_surgery": 1,
        "blank_cause_of_death": 1,
        "no_follow_up": 1,
        "beyond_follow_up": 0,
        "later_record": 1,
    }
    assert len(X) == len(y) == N_PLAIN + 2


def test_other_years_may_be_asked_for(load):
    X, _ = load({YEAR: "2015"}, years=(2011, 2016))
    assert X["year_of_diagnosis"].tolist() == ["2015"]


TWICE = [
    {PATIENT: "7", YEAR: "2012", ER: "Negative"},
    {PATIENT: "7", YEAR: "2005", ER: "Borderline"},
    {PATIENT: "7", YEAR: "2005", ER: "Positive"},
    {PATIENT: "8", YEAR: "2003"},
    {PATIENT: "8", YEAR: "2009", ER: "Negative"},
    {PATIENT: ""},
    {PATIENT: ""},
]


def test_a_patient_counts_once_with_the_first_record_inside_the_years(load):
    X, y = load(*TWICE, n_plain=0, rare_share=0.0)
    assert X["er_status"].tolist() == ["Borderline", "Negative", "Positive", "Positive"]
    assert X["year_of_diagnosis"].tolist() == ["2005", "2009", "2010", "2010"]
    assert X.attrs["dropped"]["later_record"] == 2
    assert len(y) == 4


def test_the_paper_counts_every_record(load):
    X, _ = load(*TWICE, n_plain=0, treatment="paper")
    assert len(X) == 6
    assert X.attrs["dropped"]["later_record"] == 0


def test_nobody_left_is_an_error_that_counts_the_reasons(load):
    with pytest.raises(DataError, match=r"all 400 were left out.*'outside_years': 400"):
        load(years=(1990, 1999))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"treatment": "theirs"}, r"treatment must be one of \['ours', 'paper'\]; got 'theirs'"),
        ({"beyond": "keep"}, "beyond must be one of"),
        ({"years": (2014, 2004)}, "first and a last year"),
        ({"follow_up": 0}, "follow_up must be 1 month"),
        ({"rare_share": 1.0}, "rare_share must be a share"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(SettingError, match=message):
        load_seer("anywhere.csv", **settings)
