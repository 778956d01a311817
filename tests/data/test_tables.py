import io

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError
from survtrace.data.tables import likely_identifiers, read_table, split_outcome

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


def test_another_separator_is_pointed_out(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, sep=";")
    with pytest.raises(DataError, match=r"t\.csv must be separated by ','; .* by ';'"):
        read_table(tmp_path / "t.csv")


def test_numbers_that_are_codes_become_categories():
    X, _ = split_outcome(TABLE, "months", "died", categorical=["age"])
    assert isinstance(X["age"].dtype, pd.CategoricalDtype)


def test_the_nearest_column_is_offered():
    with pytest.raises(DataError, match=r"no column 'month'; did you mean 'months'\? It has"):
        split_outcome(TABLE, "month", "died")


def test_what_tells_every_row_apart_is_likely_an_identifier():
    n = 150
    X = pd.DataFrame(
        {
            "name": [f"patient {row}" for row in range(n)],
            "number": range(n),
            "kind": pd.Categorical([f"k{row}" for row in range(n)]),
            "size": np.linspace(0, 1, n),
            "sex": ["f", "m", None] * (n // 3),
            "year": [2000 + row // 2 for row in range(n)],
        }
    )
    assert likely_identifiers(X) == ["name", "number", "kind"]
    assert likely_identifiers(X[:20]) == []  # too few to tell
