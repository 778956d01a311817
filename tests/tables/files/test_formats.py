import csv
import io
import os

import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.inspection import plan_columns
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.files.formats import read_table, split_outcome
from survtrace.tables.files.reading import Reading

TABLE = pd.DataFrame({"age": [50.0, 60.5], "sex": ["f", "m"], "months": [3, 4], "died": [0, 1]})


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", lambda path: TABLE.to_csv(path, index=False)),
        ("t.csv.gz", lambda path: TABLE.to_csv(path, index=False)),
        ("t.tsv", lambda path: TABLE.to_csv(path, index=False, sep="\t")),
        ("t.parquet", TABLE.to_parquet),
        ("t.feather", TABLE.to_feather),
        ("T.CSV.GZ", lambda path: TABLE.to_csv(path, index=False)),
        ("T.TSV", lambda path: TABLE.to_csv(path, index=False, sep="\t")),
        ("T.PARQUET", TABLE.to_parquet),
        ("T.FEATHER", TABLE.to_feather),
        ("T.XLSX", lambda path: TABLE.to_excel(path, index=False, engine="openpyxl")),
    ],
)
def test_every_format_gives_the_same_table(tmp_path, name, write):
    write(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist"):
        read_table(tmp_path / "nowhere.csv")


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"cannot be read \(File name too long\)\. Pass another"):
        read_table(tmp_path / f"{'x' * 300}.csv")


def test_another_ending_is_refused(tmp_path):
    (tmp_path / "t.xls").write_text("")
    with pytest.raises(DataError, match=r"must end in one of .*\.parquet.*; got t\.xls"):
        read_table(tmp_path / "t.xls")


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_text("not a table")
    with pytest.raises(DataError, match="could not be read as a table"):
        read_table(tmp_path / "t.parquet")


def test_a_line_without_end_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"age,sex\n" + b"0" * 200_000)
    before = csv.field_size_limit(131_072)  # Python's own, which another package may have raised
    try:
        with pytest.raises(DataError, match=r"could not be read as a table \(field larger than"):
            read_table(tmp_path / "t.csv")
    finally:
        csv.field_size_limit(before)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"t.csv is a pipe or a device.*Pass a file, or -"):
        read_table(tmp_path / "t.csv")


def test_a_closed_standard_input_is_told_of(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match=r"standard input is closed. Pass the path"):
        read_table("-")


def test_the_outcome_is_never_a_covariate():
    X, y = split_outcome(TABLE, "months", "died", drop=["sex"])
    assert list(X) == ["age"]
    assert y["event"].tolist() == [0, 1]


def test_who_is_censored_is_said_before_events_at_0_are_judged():
    table = pd.DataFrame({"days": [0.0, 5.0, 8.0], "status": ["dead", "well", "dead"], "age": 1})
    _, y = split_outcome(table, "days", "status", censored=["well"])
    assert y["duration"].tolist() == [0.0, 5.0, 8.0]
    with pytest.raises(DataError, match="'ill' does not"):
        split_outcome(table, "days", "status", censored=["ill"])


def test_missing_columns_are_named():
    with pytest.raises(DataError, match=r"no column 'years'; it has \['age'"):
        split_outcome(TABLE, "years", "died")


def test_numbers_come_back_to_the_last_digit(tmp_path):
    table = pd.DataFrame({"x": [0.1 + 0.2, 1 / 3, 2**-1074, 0.005624426876861577]})
    table.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv"), table, check_exact=True)


def test_standard_input_is_a_table(monkeypatch):
    content = TABLE.to_csv(index=False).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    pd.testing.assert_frame_equal(read_table("-"), TABLE)


def test_a_column_has_one_type_from_top_to_bottom(tmp_path):
    values = [*map(str, range(300_000)), "unknown"]
    pd.DataFrame({"code": values, "age": 1}).to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv")["code"].tolist() == values


@pytest.mark.parametrize("sep", [";", "\t", "|", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separator_and_encoding_are_found_out(tmp_path, sep, encoding):
    table = TABLE.rename(columns={"sex": "Größe, in cm"})
    table.to_csv(tmp_path / "t.csv", index=False, sep=sep, encoding=encoding)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv"), table)


def test_another_encoding_is_taken_for_that_of_windows_and_said(tmp_path):
    TABLE.assign(sex="männlich").to_csv(tmp_path / "t.csv", index=False, encoding="latin-1")
    with pytest.warns(DataWarning, match=r"t\.csv: it is not UTF-8 and was read as cp1252"):
        assert set(read_table(tmp_path / "t.csv")["sex"]) == {"männlich"}
    told = read_table(tmp_path / "t.csv", Reading(encoding="latin-1"))
    assert set(told["sex"]) == {"männlich"}
    with pytest.raises(DataError, match="'klingon' is no encoding"):
        read_table(tmp_path / "t.csv", Reading(encoding="klingon"))


def test_a_separator_can_be_said(tmp_path):
    (tmp_path / "t.csv").write_text("a:b\n1:2\n")
    assert read_table(tmp_path / "t.csv", Reading(sep=":")).to_dict("list") == {"a": [1], "b": [2]}
    TABLE.to_csv(tmp_path / "t.csv", index=False, sep=";")
    with pytest.raises(DataError, match=r"t\.csv must be separated by ','; .* by ';'"):
        read_table(tmp_path / "t.csv", Reading(sep=","))


def test_names_that_occur_twice_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex,age\n1,f,2\n")
    with pytest.raises(DataError, match=r"must differ; \['age'\] occur more than once in t\.csv"):
        read_table(tmp_path / "t.csv")


def test_columns_without_name_and_values_are_dropped(tmp_path):
    (tmp_path / "t.csv").write_text("age;sex;;\n1;f;;\n2;m;;\n")
    with pytest.warns(DataWarning, match="2 columns without name and values are left out"):
        assert list(read_table(tmp_path / "t.csv")) == ["age", "sex"]


def test_a_separator_too_many_does_not_shift_the_columns(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n1,f,\n2,m,\n")
    assert read_table(tmp_path / "t.csv").to_dict("list") == {"age": [1, 2], "sex": ["f", "m"]}


def test_row_names_of_r_are_no_column(tmp_path):
    (tmp_path / "t.csv").write_text('"age","sex"\n"1",61,"f"\n"2",47,"m"\n')
    assert read_table(tmp_path / "t.csv").to_dict("list") == {"age": [61, 47], "sex": ["f", "m"]}


def test_codes_keep_their_leading_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("ward,age\n007,61\n012,47\n,50\n")
    assert read_table(tmp_path / "t.csv")["ward"].dropna().tolist() == ["007", "012"]


def test_the_word_none_is_a_level_not_a_gap(tmp_path):
    (tmp_path / "t.csv").write_text("drug,age\nNone,61\nNA,47\n")
    assert read_table(tmp_path / "t.csv")["drug"].tolist()[0] == "None"


def test_points_group_thousands_where_decimals_have_commas(tmp_path):
    (tmp_path / "t.csv").write_text("crp;platelets\n1,5;1.234\n0,3;250.000\n")
    table = read_table(tmp_path / "t.csv")
    assert table["platelets"].tolist() == ["1.234", "250.000"]
    assert table.attrs["survtrace"]["decimal"] == ","


def test_days_with_points_in_a_file_without_decimals_are_asked_about(tmp_path):
    """Of 1.155 days and 386, the first was taken for a day and a bit."""
    (tmp_path / "t.csv").write_text("age;days;dead\n61;1.155;1\n47;386;0\n")
    with pytest.raises(DataError, match=r"'days': '1\.155' can be 1\.155 or 1155.*which mark"):
        split_outcome(read_table(tmp_path / "t.csv"), "days", "dead")
    for decimal, days in ((",", [1155.0, 386.0]), (".", [1.155, 386.0])):
        table = read_table(tmp_path / "t.csv", Reading(decimal=decimal))
        assert split_outcome(table, "days", "dead")[1]["duration"].tolist() == days
    for fraction in ("1.5;1.155", "61;1.15"):
        (tmp_path / "t.csv").write_text(f"age;days;dead\n{fraction};1\n47;386;0\n")
        assert read_table(tmp_path / "t.csv")["days"].max() == 386


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(DataError, match=r"t\.csv is empty"):
        read_table(tmp_path / "t.csv")


def test_durations_written_with_commas_are_numbers():
    table = TABLE.assign(months=["3,5", "4"])
    assert split_outcome(table, "months", "died")[1]["duration"].tolist() == ["3,5", "4"]
    table.attrs["survtrace"] = {"decimal": ","}  # as read_table found it in the file
    assert split_outcome(table, "months", "died")[1]["duration"].tolist() == [3.5, 4.0]


def test_without_openpyxl_the_way_out_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'survtrace\[excel\]'"):
        read_table(tmp_path / "t.xlsx")


def test_numbers_that_are_codes_become_categories():
    X, _ = split_outcome(TABLE, "months", "died", categorical=["age"])
    assert isinstance(X["age"].dtype, pd.CategoricalDtype)


def test_the_nearest_column_is_offered():
    with pytest.raises(DataError, match=r"no column 'month'; did you mean 'months'\? It has"):
        split_outcome(TABLE, "month", "died")
    words = r"no column 'month', 'state'; did you mean 'months'\? It has"
    with pytest.raises(DataError, match=words):  # that nearest to the first
        split_outcome(TABLE, "month", "state")


def test_a_file_that_was_cut_off_is_remarked_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,sex,months\n61,f,3\n62,m,4\n63,")
    with pytest.warns(DataWarning, match="its last line has 2 of 3 values"):
        read_table(path)
    path.write_text('age,sex,notes\n61,f,x\n62,m,"a\nb"\n')
    assert len(read_table(path)) == 2


def test_columns_that_differ_in_their_decimal_mark_are_asked_about(tmp_path):
    lines = ["age;crp;platelets;months"]
    lines += [f"{row}.5;0,{row};2{row}.618;{row}" for row in range(10, 40)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    table = read_table(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"'210.618' can be 210.618 or 210618"):
        plan_columns(open_table(table)).require_answers()
    told = read_table(tmp_path / "t.csv", Reading(decimal=","))
    assert plan_columns(open_table(told)).apply(open_table(told))["platelets"].min() == 210618
    assert plan_columns(open_table(told)).apply(open_table(told))["age"].min() == 10.5


def test_the_mark_of_other_columns_decides_what_a_duration_is():
    table = TABLE.assign(months=["1,234", "5,678"])
    for decimal, expected in ((",", [1.234, 5.678]), (".", [1234, 5678])):
        table.attrs["survtrace"] = {"decimal": decimal}
        assert split_outcome(table, "months", "died")[1]["duration"].tolist() == expected


def test_a_row_alone_is_not_taken_for_a_file_that_was_cut_off(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex,months\n50,f\n")
    assert read_table(tmp_path / "t.csv")["months"].isna().all()


def test_the_separator_is_the_one_by_which_all_rows_are_alike(tmp_path):
    """Though by commas, which two of ten notes lack, rows would have a column more."""
    notes = [f"a, b, {row};{row}" for row in range(7)] + ["none;8", "none;9"]
    (tmp_path / "t.csv").write_text("\n".join(["note, also, more;months", *notes]) + "\n")
    assert list(read_table(tmp_path / "t.csv")) == ["note, also, more", "months"]


def test_letters_of_another_encoding_than_was_said_are_refused(tmp_path):
    TABLE.assign(sex="m\xe4nnlich").to_csv(tmp_path / "t.csv", index=False, encoding="latin-1")
    with pytest.raises(
        DataError, match=r"some letters are not utf-8\. .*encoding='cp1252'"
    ) as caught:
        read_table(tmp_path / "t.csv", Reading(encoding="utf-8"))
    assert caught.value.in_command.endswith("Say how it is encoded: --encoding cp1252.")


@pytest.mark.parametrize("odd", ["long", "3,5 mg", "12,5+"])
def test_durations_of_which_one_is_no_plain_number_stay_as_they_are(odd):
    table = TABLE.assign(months=["3,5", odd])
    table.attrs["survtrace"] = {"decimal": ","}
    assert split_outcome(table, "months", "died")[1]["duration"].tolist() == ["3,5", odd]


def test_whole_numbers_with_a_gap_stay_numbers_where_decimals_have_commas(tmp_path):
    (tmp_path / "t.csv").write_text("crp;platelets;age\n1,5;1.234;61\n0,3;250.000;\n2,1;;47\n")
    table = read_table(tmp_path / "t.csv")
    assert table["platelets"].dropna().tolist() == ["1.234", "250.000"]
    assert table["age"].dropna().tolist() == [61.0, 47.0]
