"""Rows are drawn fairly and copied as they are."""

import gzip

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SettingError
from survtrace.tables.files.splitting import copy_rows, draw_held_out, read_verbatim

ODD = (
    b'\xef\xbb\xbfid,note,size\r\n007,"a, b",1.50\r\n008,"two\nlines ""quoted""",2.0e1\r\n'
    b'\r\n009,5" pipe,\xe9\r\n010,,3'
)


def test_the_same_seed_draws_the_same_rows_and_another_draws_others():
    draws = [draw_held_out(100, 0.25, seed=seed) for seed in (0, 0, 1)]
    assert draws[0].sum() == 25
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_rare_labels_do_not_shift_the_share():
    labels = [str(number) for number in range(50) for _ in range(2)]
    assert draw_held_out(100, 0.25, labels=labels).sum() == 25


def test_rows_without_a_subject_are_subjects_of_their_own():
    subjects = [None, None, None, None, "a", "a", "a", "a"]
    held_out = draw_held_out(8, 0.4, subjects=subjects)
    assert held_out[4:].all() or not held_out[4:].any()
    assert held_out[:4].sum() in (1, 2)


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5])
def test_a_share_lies_between_0_and_1(fraction):
    with pytest.raises(SettingError, match="must lie between 0 and 1"):
        draw_held_out(10, fraction)


def test_no_side_may_be_empty():
    with pytest.raises(DataError, match="leaves one side empty"):
        draw_held_out(3, 0.01)
    with pytest.raises(DataError, match="at least two subjects"):
        draw_held_out(3, 0.5, subjects=["a", "a", "a"])


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_text_is_copied_to_the_byte(tmp_path, name):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "wb") as file:
        file.write(ODD)
    mask = np.array([False, True, False, True])
    out = tmp_path / name.replace("t", "new")
    copy_rows(tmp_path / name, {out: mask})
    with opened(out, "rb") as file:
        assert file.read() == (
            b'\xef\xbb\xbfid,note,size\r\n008,"two\nlines ""quoted""",2.0e1\r\n010,,3\n'
        )
    assert read_verbatim(tmp_path / name, [])[0] == 4


def test_a_line_break_in_the_first_text_of_a_row_ends_no_row(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'note,id\n"two\nlines",1\n"",2\n"\n",3\n')
    copy_rows(tmp_path / "t.csv", {tmp_path / "new.csv": np.array([True, False, True])})
    assert (tmp_path / "new.csv").read_bytes() == b'note,id\n"two\nlines",1\n"\n",3\n'


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_types_are_kept(tmp_path, ending):
    frame = pd.DataFrame({"id": ["007", "8"], "sex": pd.Categorical(["f", "m"]), "n": [1, 2]})
    getattr(frame, f"to_{ending}")(tmp_path / f"t.{ending}")
    out = tmp_path / f"new.{ending}"
    copy_rows(tmp_path / f"t.{ending}", {out: np.array([False, True])})
    copied = getattr(pd, f"read_{ending}")(out)
    pd.testing.assert_frame_equal(copied, frame[1:].reset_index(drop=True))
    assert read_verbatim(tmp_path / f"t.{ending}", ["id"]) == (2, {"id": ["007", "8"]})


def test_rows_of_a_sheet_are_written_as_they_are_shown_and_nothing_beside(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"id": ["007", "008"], "age": [61, 47]}).to_excel(tmp_path / "t.xlsx", index=False)
    copy_rows(tmp_path / "t.xlsx", {tmp_path / "new.csv": np.array([False, True])})
    assert (tmp_path / "new.csv").read_text() == "id,age\n008,47\n"


def test_a_table_that_is_counted_differently_is_refused_and_nothing_is_left(tmp_path):
    (tmp_path / "t.csv").write_bytes(ODD)
    with pytest.raises(DataError, match="4 rows of text, of which 2 were read"):
        copy_rows(tmp_path / "t.csv", {tmp_path / "new.csv": np.array([True, False])})
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_standard_input_cannot_be_split(tmp_path):
    with pytest.raises(DataError, match="standard input cannot be split"):
        copy_rows("-", {tmp_path / "new.csv": np.array([True])})


def test_the_seed_is_0_unless_said():
    np.testing.assert_array_equal(draw_held_out(100, 0.25), draw_held_out(100, 0.25, seed=0))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_is_a_label_like_any_other(missing):
    labels = np.array(["0", "1", "not known"] * 40, dtype=object)
    expected = draw_held_out(120, 0.25, labels=labels)
    labels[labels == "not known"] = missing
    np.testing.assert_array_equal(draw_held_out(120, 0.25, labels=labels), expected)


def test_a_subject_counts_by_the_label_of_its_last_row():
    """Of 40 subjects, 20 have an event, all of them in their last row."""
    subjects = np.repeat(np.arange(40), 2)
    labels = np.where(np.arange(80) % 4 == 3, "1", "0")
    held_out = draw_held_out(80, 0.25, labels=labels, subjects=subjects)
    assert held_out[labels == "1"].sum() == 5
    assert held_out.sum() == 20


@pytest.mark.parametrize(
    "rows",
    [
        '1,"say ""a"", b\nand c",2\n3,d,4\n',
        '1,"a ""\nb",2\n3,d,4\n',
        '1,"",2\n3,"""",4\n5,"""\n",6\n',
        '1,a "quoted" b,2\n3,5" pipe,4\n',
        '1,"a"b,"c\nd"\n3,"e",4\n',
        '"1","a","2"\n\n"3","b\n\nc","4"',
        " \t \n1,a,2\n\r\n3,b,4\n",
    ],
    ids=repr,
)
def test_a_text_has_the_rows_that_pandas_reads(tmp_path, rows):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,note,n\n" + rows.encode())
    frame = pd.read_csv(path)
    assert read_verbatim(path, []) == (len(frame), {})
    for row in range(len(frame)):
        out = tmp_path / f"{row}.csv"
        copy_rows(path, {out: np.arange(len(frame)) == row})
        found = pd.read_csv(out, dtype=str, keep_default_na=False).iloc[0].tolist()
        assert found == pd.read_csv(path, dtype=str, keep_default_na=False).iloc[row].tolist()


def test_a_table_without_rows_has_no_subjects_to_split():
    with pytest.raises(DataError, match="at least two subjects; got 0"):
        draw_held_out(0, 0.5)


def test_of_a_text_without_rows_the_header_is_copied(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"id,age\n")
    copy_rows(tmp_path / "t.csv", {tmp_path / "new.csv": np.zeros(0, dtype=bool)})
    assert (tmp_path / "new.csv").read_bytes() == b"id,age\n"
