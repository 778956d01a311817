from types import SimpleNamespace

import pytest

from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.files.formats import read_table
from survtrace.tables.files.reading import Reading
from survtrace.tables.files.text_files import (
    StandardInput,
    TextFormat,
    find_decimal,
    find_format,
    has_leading_zeros,
)


@pytest.mark.parametrize(("n_before", "mark"), [(499, ","), (500, "")])
def test_the_decimal_mark_is_that_of_the_first_500_texts(n_before, mark):
    assert find_decimal(open_table({"crp": [*["1,234"] * n_before, "0,5"]})) == mark


class Pipe:
    """Standard input of which a part comes at a time."""

    def __init__(self, *parts):
        self.waiting = list(parts)

    def read1(self, _):
        return self.waiting.pop(0) if self.waiting else b""


@pytest.mark.parametrize(
    ("parts", "start"),
    [
        ((b"a,b\n", b"1,2\n", b"3,4\n"), b"a,b\n1,2\n"),
        ((b"a,", b"b\n1,2\n3", b",4\n"), b"a,b\n1,2\n3"),
        ((b"a,b\n",), b"a,b\n"),
    ],
    ids=["lines", "pieces", "one line"],
)
def test_of_standard_input_two_lines_are_waited_for_and_all_is_read(monkeypatch, parts, start):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Pipe(*parts)))
    source = StandardInput()
    assert source.start == start
    assert source.read(3) == start[:3]
    assert source.read() == b"".join(parts)[3:]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_codes_keep_their_leading_zeros_in_every_encoding(tmp_path, encoding):
    (tmp_path / "t.csv").write_text("ward,age\n007,61\n012,47\n", encoding=encoding)
    assert read_table(tmp_path / "t.csv")["ward"].tolist() == ["007", "012"]


MIB = 2**20
CSV = TextFormat(",", "utf-8", ("id", "ward"))


@pytest.mark.parametrize("n_before", [1, 2])
def test_a_leading_zero_is_found_where_two_parts_of_a_file_meet(tmp_path, n_before):
    rows = b"id,ward\n" + b"1,2\n" * (MIB // 4)
    start = rows[: MIB - n_before - 2] + b"\n1"
    (tmp_path / "t.csv").write_bytes(start + b",07\n1,2\n")
    assert has_leading_zeros(tmp_path / "t.csv", CSV)
    (tmp_path / "t.csv").write_bytes(start + b",17\n1,2\n")
    assert not has_leading_zeros(tmp_path / "t.csv", CSV)


def test_zeros_within_names_and_numbers_do_not_lead(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x100,age\n" + b"1,200\n" * (MIB // 4) + b"0.5,0\n")
    assert not has_leading_zeros(path, CSV)
    for row in (b"01,2\n", b"1,02\n", b'1,"02"\n'):
        path.write_bytes(b"x100,age\n" + row)
        assert has_leading_zeros(path, CSV)


@pytest.mark.parametrize(
    ("last", "n"),
    [("6", 1), ("63,", 2), ("63,f", 2), ("63,f,", None), ("63,f,4", None), ('63,"f"', 2)],
)
def test_a_last_line_that_was_cut_off_has_fewer_values_than_the_header(tmp_path, last, n):
    path = tmp_path / "t.csv"
    path.write_text(f"age,sex,months\n61,f,3\n{last}")
    found = find_format(path, Reading()).warnings
    assert len(found) == (n is not None)
    assert n is None or f"its last line has {n} of 3 values" in found[0]


def test_rows_shorter_than_the_header_all_over_a_file_are_not_taken_for_a_cut(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,sex,months\n61,f\n62,m\n63,f\n")
    assert find_format(path, Reading()).warnings == ()


def test_one_short_row_of_thirty_does_not_outweigh_a_column_more(tmp_path):
    """By commas all rows have two values; by semicolons all but one have three."""
    rows = ["note, also;age;sex", *["a, b;61;f"] * 28, "a, b;62"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    assert find_format(tmp_path / "t.csv", Reading()).sep == ";"


def test_of_two_separators_that_fit_alike_the_usual_one_is_meant(tmp_path):
    (tmp_path / "t.csv").write_text("note; grade,age\nnone; 2,61\nsome; 3,47\n")
    assert find_format(tmp_path / "t.csv", Reading()).sep == ","


def test_a_separator_by_which_few_rows_are_alike_is_better_than_none(tmp_path):
    rows = ["age;sex", *["61"] * 30, "61;f"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    assert find_format(tmp_path / "t.csv", Reading()).sep == ";"


def test_rows_that_end_in_a_separator_are_alike_by_it(tmp_path):
    (tmp_path / "t.csv").write_text("age;sex;note, long\n" + "61;f;one, two;\n" * 30)
    assert find_format(tmp_path / "t.csv", Reading()).sep == ";"


def test_the_last_row_tells_row_names_of_r_from_a_separator_too_many(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n1,61,\n2,47,m\n")
    table = read_table(tmp_path / "t.csv")
    assert (table["age"].tolist(), table["sex"].tolist()[1]) == ([61, 47], "m")


def test_a_last_line_without_an_end_leaves_the_others_to_be_looked_at(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n1,f,\n2,m,\n3,f,")
    expected = {"age": [1, 2, 3], "sex": ["f", "m", "f"]}
    assert read_table(tmp_path / "t.csv").to_dict("list") == expected
    (tmp_path / "t.csv").write_text("age,sex\n1,f,")
    assert read_table(tmp_path / "t.csv").to_dict("list") == {"age": [1], "sex": ["f"]}


@pytest.mark.parametrize(
    ("rows", "row_names", "trailing"),
    [("1,61,f\n2,47,m\n", True, False), ("61,f,\n47,m,\n", False, True), ("61,f\n", False, False)],
    ids=["row names", "separator too many", "plain"],
)
def test_a_value_more_than_the_header_is_a_row_name_unless_it_is_empty(
    tmp_path, rows, row_names, trailing
):
    (tmp_path / "t.csv").write_text("age,sex\n" + rows)
    found = find_format(tmp_path / "t.csv", Reading())
    assert (found.row_names, found.trailing) == (row_names, trailing)


@pytest.mark.parametrize(("name", "sep"), [("t.csv", ","), ("t.txt", ","), ("t.tsv", "\t")])
def test_a_column_alone_has_the_separator_that_the_name_of_the_file_says(tmp_path, name, sep):
    (tmp_path / name).write_text("age\n61\n47\n")
    assert find_format(tmp_path / name, Reading()).sep == sep
