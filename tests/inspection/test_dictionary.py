"""What a user says about columns."""

import pytest

from survtrace import SettingError
from survtrace.inspection.dictionary import Entry, read_dictionary, require_names, write_dictionary


def test_a_file_says_what_a_mapping_says(tmp_path):
    path = tmp_path / "dictionary.csv"
    path.write_text(
        "name,kind,unit,label,levels,missing,low,high\n"
        "age,numerical,years,Age at start,,999;-9,0,120\n"
        "sex,categorical,,,f;m,,,\n",
        encoding="utf-8-sig",
    )
    said = {
        "age": {
            "kind": "numerical",
            "unit": "years",
            "label": "Age at start",
            "missing": [999, -9.0],
            "low": 0,
            "high": 120,
        },
        "sex": {"kind": "categorical", "levels": ["f", "m"]},
    }
    assert read_dictionary(path) == read_dictionary(said)
    assert read_dictionary(str(path))["sex"] == Entry("categorical", levels=("f", "m"))


def test_what_was_written_is_read(tmp_path):
    write_dictionary([{"name": "crp", "kind": "numerical", "decimal": ","}], tmp_path / "d.csv")
    assert read_dictionary(tmp_path / "d.csv") == {"crp": Entry("numerical", decimal=",")}


def test_a_dictionary_that_was_broken_off_is_not_left_half_written(tmp_path):
    with pytest.raises(ValueError, match="fields not in fieldnames"):
        write_dictionary([{"name": "crp"}, {"colour": "red"}], tmp_path / "d.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (3, "must be a mapping from names of columns"),
        ({"age": 3}, "column 'age' of the data dictionary must be a mapping"),
        ({"age": {"units": "y"}}, "unknown field 'units'; did you mean 'unit'"),
        ({"age": {"kind": "numerica"}}, "unknown kind 'numerica'; did you mean 'numerical'"),
        ({"age": {"low": "x"}}, "low of column 'age' .* must be a number; got 'x'"),
        ({"age": {"low": 5, "high": 1}}, "low 5 above high 1"),
        ({"age": {"decimal": ";"}}, r"decimal mark of column 'age' must be '\.' or ','"),
        ("nowhere.csv", r"nowhere\.csv could not be read"),
    ],
)
def test_mistakes_are_named(columns, message):
    with pytest.raises(SettingError, match=message):
        read_dictionary(columns)


def test_a_file_needs_names_that_differ(tmp_path):
    (tmp_path / "d.csv").write_text("column,kind\nage,numerical\n")
    with pytest.raises(SettingError, match="must have the columns name, kind"):
        read_dictionary(tmp_path / "d.csv")
    (tmp_path / "d.csv").write_text("name,kind\nage,numerical\nage,text\n")
    with pytest.raises(SettingError, match="names 'age' twice"):
        read_dictionary(tmp_path / "d.csv")


def test_a_name_that_is_nearly_a_column_is_pointed_out():
    entries = read_dictionary({"creatinin": {"unit": "mg/dl"}, "months": "duration"})
    with pytest.raises(SettingError, match=r"'creatinin', .* did you mean 'creatinine'"):
        require_names(entries, ["age", "creatinine"])
    require_names(entries, ["age", "sex"])  # a column that was dropped
