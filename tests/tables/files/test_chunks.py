"""A table in pieces is the table; a file appears whole or not at all."""

import io

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError
from survtrace.tables.files.chunks import (
    column_names,
    count_rows,
    read_chunks,
    write_chunks,
    written_whole,
)
from survtrace.tables.files.formats import SUFFIXES, read_table

TABLE = pd.DataFrame(
    {
        "code": [f"{number:03d}" for number in range(10)],
        "age": np.linspace(50, 60, 10) / 3,
        "sex": ["f", "m"] * 5,
        "n": range(10),
    }
)
ENDINGS = pytest.mark.parametrize("ending", SUFFIXES)


def write(path, pieces):
    with write_chunks(path) as write_piece:
        for piece in pieces:
            write_piece(piece)


@pytest.mark.parametrize("ending", [*SUFFIXES, ".PARQUET", ".FEATHER", ".CSV"])
def test_the_columns_of_a_table_are_named_in_order(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write(path, [TABLE])
    assert column_names(path) == list(TABLE)


@pytest.mark.parametrize("name", ["t.xlsx", "T.XLSX"])
def test_the_columns_of_a_sheet_are_named_in_order(tmp_path, name):
    with open(tmp_path / name, "wb") as file:
        TABLE.to_excel(file, index=False, engine="openpyxl")
    assert column_names(tmp_path / name) == list(TABLE)


@ENDINGS
@pytest.mark.parametrize("n_rows", [1, 4, 10, 99])
def test_pieces_make_up_the_table(tmp_path, ending, n_rows):
    path = tmp_path / f"t{ending}"
    write(path, [TABLE[:3], TABLE[3:]])
    pieces = list(read_chunks(path, ["age", "n"], n_rows=n_rows))
    assert max(map(len, pieces)) <= n_rows
    found = pd.concat(pieces, ignore_index=True)
    pd.testing.assert_frame_equal(found, TABLE[["age", "n"]], check_exact=True)


@ENDINGS
def test_what_was_written_in_pieces_is_read_whole(tmp_path, ending):
    path = tmp_path / "new folder" / f"t{ending}"
    write(path, [TABLE[:3], TABLE[3:4], TABLE[4:]])
    found = read_table(path).reset_index(drop=True)
    pd.testing.assert_frame_equal(found[["age", "sex", "n"]], TABLE[["age", "sex", "n"]])
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@ENDINGS
def test_text_keeps_its_spelling(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write(path, [TABLE])
    pieces = read_chunks(path, ["code"], verbatim=["code"], n_rows=4)
    assert pd.concat(pieces)["code"].tolist() == TABLE["code"].tolist()


@pytest.mark.parametrize("ending", [*SUFFIXES, ".xlsx"])
def test_names_of_columns_are_read_whatever_the_case_of_the_ending(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    if ending == ".xlsx":
        TABLE.to_excel(path, index=False)
    else:
        write(path, [TABLE])
    for each in (path, path.rename(tmp_path / f"T{ending.upper()}")):
        if each.exists():
            assert column_names(each) == list(TABLE)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_types_survive_gaps(tmp_path, ending):
    ids = pd.DataFrame({"id": pd.array([2**60 + 1, 5, None, None], dtype="Int64")})
    write(tmp_path / f"in{ending}", [ids])
    pieces = list(read_chunks(tmp_path / f"in{ending}", ["id"], verbatim=["id"], n_rows=2))
    write(tmp_path / f"out{ending}", pieces)
    found = read_table(tmp_path / f"out{ending}")["id"]
    assert found.dropna().tolist() == [2**60 + 1, 5]


def test_only_some_files_know_their_size(tmp_path):
    for ending, rows in ((".parquet", 10), (".csv", None)):
        write(tmp_path / f"t{ending}", [TABLE])
        assert count_rows(tmp_path / f"t{ending}") == rows


@ENDINGS
def test_missing_columns_are_named(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write(path, [TABLE])
    with pytest.raises(DataError, match=r"no column 'aged'; did you mean 'age'\?"):
        next(read_chunks(path, ["aged"]))


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".feather"])
def test_a_damaged_file_is_refused(tmp_path, ending):
    (tmp_path / f"t{ending}").write_bytes(b"not a table")
    with pytest.raises(DataError, match="could not be read as a table"):
        list(read_chunks(tmp_path / f"t{ending}", ["age"]))


@ENDINGS
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_whatever_goes_wrong_leaves_the_earlier_file(tmp_path, ending, error):
    path = tmp_path / f"t{ending}"
    path.write_text("earlier")

    def half():
        yield TABLE
        raise error

    with pytest.raises(error):
        write(path, half())
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"t\.csv could not be written \(File exists\)"):
        write(tmp_path / "file" / "t.csv", [TABLE])
    with pytest.raises(DataError, match="is a folder"), written_whole(tmp_path):
        pass


def test_another_ending_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(DataError, match="must end in one of"):
        write(tmp_path / "t.xls", [TABLE])


def test_standard_output_gets_one_header(capsys):
    write("-", [TABLE[["n"]][:2], TABLE[["n"]][2:3]])
    assert capsys.readouterr().out == "n\n0\n1\n2\n"


def test_without_pyarrow_the_way_out_is_named(tmp_path, monkeypatch):
    write(tmp_path / "t.parquet", [TABLE])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'survtrace\[parquet\]'"):
        list(read_chunks(tmp_path / "t.parquet", ["age"]))
    with pytest.raises(DataError, match=r"pip install 'survtrace\[parquet\]'"):
        write(tmp_path / "new.parquet", [TABLE])


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_the_first_piece_decides_the_types_of_all(tmp_path, ending):
    whole = pd.DataFrame({"note": ["a", None, None], "n": [1.5, 2.0, np.nan]}, dtype=object)
    write(tmp_path / f"t{ending}", [whole[:1], whole[1:2], whole[2:]])
    found = read_table(tmp_path / f"t{ending}")
    assert found["note"].tolist()[0] == "a"
    assert found["note"].isna().tolist() == [False, True, True]
    np.testing.assert_array_equal(found["n"], [1.5, 2.0, np.nan])


@pytest.mark.parametrize("n_rows", [4, 10, 99])
def test_pieces_of_a_sheet_make_up_the_table(tmp_path, n_rows):
    TABLE.to_excel(tmp_path / "t.xlsx", index=False)
    pieces = list(read_chunks(tmp_path / "t.xlsx", ["n", "sex"], n_rows=n_rows))
    assert max(map(len, pieces)) <= n_rows
    found = pd.concat(pieces, ignore_index=True)
    pd.testing.assert_frame_equal(found, TABLE[["n", "sex"]])
    with pytest.raises(DataError, match="'weight'"):
        list(read_chunks(tmp_path / "t.xlsx", ["n", "weight"], n_rows=n_rows))


def test_a_closed_standard_output_is_told_of(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(DataError, match="standard output is closed"), write_chunks("-"):
        pass


def test_a_table_on_standard_output_is_utf_8_wherever_it_is_run(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    with write_chunks("-") as write_piece:
        write_piece(pd.DataFrame({"sex": ["f\u00e9minin"]}))
    assert stream.buffer.getvalue().decode("utf-8").split() == ["sex", "f\u00e9minin"]
