"""A sheet of an Excel file is the table that its first row of names says."""

import datetime as dt
import io
import zipfile

import openpyxl
import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.tables.files.formats import read_table
from survtrace.tables.files.reading import Reading


@pytest.fixture
def write(tmp_path):
    """Write the rows of each sheet to a file, and return its path."""

    def write_sheets(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    return write_sheets


def test_a_sheet_has_the_columns_that_its_first_row_names(write):
    path = write(cohort=[["age", " sex ", "months"], [50.5, "f", 3], [None, "m", 4]])
    expected = pd.DataFrame({"age": [50.5, None], "sex": ["f", "m"], "months": [3, 4]})
    pd.testing.assert_frame_equal(read_table(path), expected, check_dtype=False)


def test_a_file_that_is_no_excel_file_is_refused(write, tmp_path):
    whole = write(cohort=[["age"], [50]]).read_bytes()
    foreign = io.BytesIO()
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("a.txt", "age")
    broken = io.BytesIO()
    with zipfile.ZipFile(broken, "w") as archive, zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        for name in book.namelist():
            archive.writestr(name, b"<a>" if "sheet1" in name else book.read(name))
    for content in (whole[:-100], b"age\n50\n", foreign.getvalue(), broken.getvalue()):
        (tmp_path / "t.xlsx").write_bytes(content)
        with pytest.raises(DataError, match=r"t.xlsx could not be read .*no whole Excel file"):
            read_table(tmp_path / "t.xlsx")


def test_empty_rows_and_columns_are_no_part_of_the_table(write):
    rows = [[], ["age", None, "months", None], [50, None, 3, "a note"], [], [60, None, 4, None]]
    table = read_table(write(cohort=rows))
    assert list(table) == ["age", "months", "Unnamed: 3"]
    assert table["age"].tolist() == [50, 60]


def test_dates_are_texts(write):
    rows = [["day", "moment"], [dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 8, 30)]]
    assert read_table(write(cohort=rows)).iloc[0].tolist() == ["2020-01-31", "2020-01-31 08:30:00"]


def test_a_sheet_is_named_or_counted_and_the_first_is_read_with_a_warning(write):
    path = write(first=[["a"], [1]], second=[["b"], [2]])
    for sheet in ("second", 2, "2"):
        assert read_table(path, Reading(sheet=sheet))["b"].tolist() == [2]
    with pytest.warns(DataWarning, match=r"has the sheets \['first', 'second'\]; 'first' was read"):
        assert read_table(path)["a"].tolist() == [1]
    with pytest.raises(DataError, match="has no sheet 3; it has"):
        read_table(path, Reading(sheet=3))


def test_an_empty_sheet_and_a_name_that_occurs_twice_are_refused(write):
    with pytest.raises(DataError, match=r"t\.xlsx is empty\. Pass a table with a row of column"):
        read_table(write(cohort=[]))
    with pytest.raises(DataError, match=r"\['a'\] occur more than once in t\.xlsx"):
        read_table(write(cohort=[["a", "a"], [1, 2]]))
