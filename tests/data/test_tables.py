import pandas as pd
import pytest

from survtrace import DataError
from survtrace.data.tables import read_table, split_outcome

TABLE = pd.DataFrame({"age": [50.0, 60.5], "sex": ["f", "m"], "months": [3, 4], "died": [0, 1]})


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", lambda path: TABLE.to_csv(path, index=False)),
        ("t.csv.gz", lambda path: TABLE.to_csv(path, index=False)),
        ("t.tsv", lambda path: TABLE.to_csv(path, index=False, sep="\t")),
        ("t.parquet", TABLE.to_parquet),
        ("t.feather", TABLE.to_feather),
    ],
)
def test_every_format_gives_the_same_table(tmp_path, name, write):
    write(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist"):
        read_table(tmp_path / "nowhere.csv")


def test_another_ending_is_refused(tmp_path):
    (tmp_path / "t.xls").write_text("")
    with pytest.raises(DataError, match=r"must end in one of .*\.parquet.*; got t\.xls"):
        read_table(tmp_path / "t.xls")


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_text("not a table")
    with pytest.raises(DataError, match="could not be read as a table"):
        read_table(tmp_path / "t.parquet")


def test_the_outcome_is_never_a_covariate():
    X, y = split_outcome(TABLE, "months", "died", drop=["sex"])
    assert list(X) == ["age"]
    assert y["event"].tolist() == [0, 1]


def test_missing_columns_are_named():
    with pytest.raises(DataError, match=r"no column \['years'\]; it has \['age'"):
        split_outcome(TABLE, "years", "died")
