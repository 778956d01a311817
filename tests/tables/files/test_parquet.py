"""A folder of Parquet files is one table, wherever it was cut."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from survtrace import DataError
from survtrace.tables.files.chunks import count_rows, read_chunks
from survtrace.tables.files.formats import read_table
from survtrace.tables.files.parquet import (
    count_parquet_rows,
    parquet_chunks,
    parquet_columns,
    parquet_files,
    parquet_schema,
)

TABLE = pd.DataFrame(
    {"age": np.arange(23.0), "sex": pd.Categorical(["f", "m", "f"] * 7 + ["x"] * 2)}
)


@pytest.fixture
def folder(tmp_path):
    """The table in three files, one of them in a subfolder; and things that are none."""
    (tmp_path / "t" / "b").mkdir(parents=True)
    TABLE[:5].to_parquet(tmp_path / "t" / "a.parquet", row_group_size=2)
    TABLE[5:16].to_parquet(tmp_path / "t" / "b" / "1.parquet", index=False)
    TABLE[16:].to_parquet(tmp_path / "t" / "c.parquet", index=False)
    (tmp_path / "t" / "_SUCCESS").write_text("")
    (tmp_path / "t" / ".hidden.parquet").write_text("no table")
    return tmp_path / "t"


def test_files_come_in_the_order_of_their_names(folder):
    assert [file.name for file in parquet_files(folder)] == ["a.parquet", "1.parquet", "c.parquet"]
    assert count_rows(folder) == count_parquet_rows(folder) == len(TABLE)


@pytest.mark.parametrize("n_rows", [1, 4, 7, 23, 99])
def test_every_piece_but_the_last_is_full(folder, n_rows):
    pieces = list(parquet_chunks(folder, ["sex", "age"], n_rows))
    assert {len(piece) for piece in pieces[:-1]} <= {n_rows}
    found = pa.concat_tables(pieces)
    assert found.column_names == ["sex", "age"]
    assert found["age"].to_pylist() == TABLE["age"].tolist()
    assert found["sex"].to_pylist() == TABLE["sex"].tolist()


def test_a_folder_is_read_like_a_file(folder):
    whole = read_table(folder)
    assert whole["age"].tolist() == TABLE["age"].tolist()
    assert whole["sex"].tolist() == TABLE["sex"].tolist()
    found = pd.concat(read_chunks(folder, ["age"], n_rows=6), ignore_index=True)
    pd.testing.assert_frame_equal(found, TABLE[["age"]])


def test_types_that_differ_a_little_are_widened(tmp_path):
    pd.DataFrame({"n": [1, 2], "word": ["x", "y"], "gone": [None, None]}).to_parquet(
        tmp_path / "a.parquet"
    )
    other = {"n": [0.5, None], "word": pd.Categorical(["y", None]), "gone": [7, 8]}
    pd.DataFrame(other).to_parquet(tmp_path / "b.parquet")
    [piece] = parquet_chunks(tmp_path, ["n", "word", "gone"], 10)
    assert piece.to_pydict() == {
        "n": [1.0, 2.0, 0.5, None],
        "word": ["x", "y", "y", None],
        "gone": [None, None, 7, 8],
    }


def test_the_index_of_a_frame_is_no_column(tmp_path):
    TABLE.set_index(pd.Index(range(100, 123), name="patient")).to_parquet(tmp_path / "t.parquet")
    TABLE[::2].to_parquet(tmp_path / "u.parquet", index=True)
    assert parquet_columns(tmp_path / "t.parquet") == ["age", "sex"]
    assert parquet_columns(tmp_path / "u.parquet") == ["age", "sex"]


def test_other_columns_or_other_types_are_refused(tmp_path):
    TABLE.to_parquet(tmp_path / "a.parquet")
    TABLE[["age"]].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet and a\.parquet differ in \['sex'\]"):
        parquet_schema(tmp_path)
    TABLE.assign(age="old").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"one type in all files.*age"):
        parquet_schema(tmp_path)


def test_a_folder_without_tables_and_tables_without_rows(tmp_path):
    with pytest.raises(DataError, match=r"a folder without files that end in \.parquet"):
        read_table(tmp_path)
    TABLE[:0].to_parquet(tmp_path / "t.parquet")
    assert list(parquet_chunks(tmp_path, ["age"], 5)) == []
    assert list(read_table(tmp_path)) == ["age", "sex"]


def test_a_huge_row_group_is_not_read_whole(tmp_path):
    parquet.write_table(pa.table({"n": range(100_000)}), tmp_path / "t.parquet")
    first = next(parquet_chunks(tmp_path / "t.parquet", ["n"], 100))
    assert first["n"].to_pylist() == list(range(100))


@pytest.mark.parametrize("n_rows", [1, 3, 4, 30])
def test_some_pieces_are_those_of_the_whole(folder, n_rows):
    pieces = [piece["age"].to_pylist() for piece in parquet_chunks(folder, ["age"], n_rows)]
    for first in range(len(pieces) + 2):
        for last in range(first, len(pieces) + 2):
            span = parquet_chunks(folder, ["age"], n_rows, range(first, last))
            assert [piece["age"].to_pylist() for piece in span] == pieces[first:last]


def test_the_first_file_says_which_column_is_the_index(tmp_path):
    frame = pd.DataFrame({"age": [61, 47, 52], "patient": [7, 9, 8]})
    frame.set_index("patient").to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet", index=False)
    assert parquet_columns(tmp_path) == ["age"]


def test_a_column_that_is_not_asked_for_is_not_read(tmp_path):
    """Of two columns, the pages of the second are damaged."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": [1, 2, 3], "b": [4, 5, 6]})
    parquet.write_table(table, path, use_dictionary=False, compression="none")
    first = parquet.read_metadata(path).row_group(0).column(1).data_page_offset
    content = path.read_bytes()
    path.write_bytes(content[:first] + b"\xff" * 20 + content[first + 20 :])
    [piece] = parquet_chunks(path, ["a"], 10)
    assert piece.to_pydict() == {"a": [1, 2, 3]}
    with pytest.raises(OSError, match=r"."):
        list(parquet_chunks(path, ["b"], 10))


def test_a_column_that_is_there_twice_is_named(tmp_path):
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["age", "age"])
    parquet.write_table(twice, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"\['age'\] occur more than once in t\.parquet"):
        parquet_schema(tmp_path / "t.parquet")


def test_a_pipe_or_a_link_to_nothing_among_the_files_is_not_waited_for(folder):
    (folder / "late.parquet").symlink_to(folder / "nowhere")
    with pytest.raises(DataError, match=r"late\.parquet is a pipe, a device or a link to nothing"):
        parquet_files(folder)
