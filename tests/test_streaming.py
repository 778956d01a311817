"""Predictions from file to file are those of the estimator, however the table is cut."""

import warnings

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SettingError, SurvTRACE
from survtrace.errors import SurvtraceError
from survtrace.streaming import predict_file
from survtrace.tables.files.formats import read_table


@pytest.fixture
def csv(three_causes, tmp_path):
    three_causes[0].assign(patient=[f"{row:03d}" for row in range(240)]).to_csv(
        tmp_path / "new.csv", index=False
    )
    return tmp_path / "new.csv"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("n_rows", [1, 37, 1000])
def test_pieces_of_any_size_give_the_estimators_answers(
    fitted_three, three_causes, tmp_path, ending, n_rows
):
    X = three_causes[0][:80]
    source, out = tmp_path / f"new{ending}", tmp_path / f"out{ending}"
    X.to_csv(source, index=False) if ending == ".csv" else X.to_parquet(source)
    assert predict_file(fitted_three, source, out, [2.5, 8], n_rows=n_rows) == 80
    found = read_table(out).to_numpy()
    incidence = fitted_three.predict_cumulative_incidence(X, [2.5, 8])
    np.testing.assert_array_equal(found[:, 2:], incidence.reshape(80, 6))
    survival = fitted_three.predict_survival_function(X, [2.5, 8])
    np.testing.assert_allclose(found[:, :2], survival, atol=1e-15)


@pytest.mark.parametrize("name", ["T.PARQUET", "T.FEATHER", "T.TSV", "T.CSV.GZ"])
def test_an_ending_in_capitals_is_that_ending(fitted_three, three_causes, tmp_path, name):
    three_causes[0][:5].to_csv(tmp_path / "new.csv", index=False)
    predict_file(fitted_three, tmp_path / "new.csv", tmp_path / name, [2.5])
    written = (tmp_path / name).read_bytes()
    predict_file(fitted_three, tmp_path / "new.csv", tmp_path / name.lower(), [2.5])
    table = read_table(tmp_path / name.lower())
    pd.testing.assert_frame_equal(read_table(tmp_path / name), table)
    assert written[:4] == (tmp_path / name.lower()).read_bytes()[:4]


def test_the_table_that_is_read_is_not_written_over(fitted_three, csv, tmp_path):
    before = csv.read_bytes()
    (tmp_path / "link.csv").symlink_to(csv)
    (tmp_path / "folder").mkdir()
    for table, out in ((csv, csv), (tmp_path / "link.csv", csv), (tmp_path / "folder",) * 2):
        out = out / "out.parquet" if out.is_dir() else out
        with pytest.raises(SettingError, match=r"is, or lies in, what is read .* never written to"):
            predict_file(fitted_three, table, out, [2.5])
    assert csv.read_bytes() == before


def test_a_folder_of_parquet_files_is_one_table(fitted_three, three_causes, tmp_path):
    X = three_causes[0]
    (tmp_path / "new").mkdir()
    X[:100].to_parquet(tmp_path / "new" / "a.parquet")
    X[100:].to_parquet(tmp_path / "new" / "b.parquet")
    assert predict_file(fitted_three, tmp_path / "new", tmp_path / "out.csv", [8], n_rows=70) == 240
    found = read_table(tmp_path / "out.csv")["survival_8"]
    expected = fitted_three.predict_survival_function(X, [8])[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_deviations_stand_beside_what_they_belong_to(fitted_three, three_causes, csv, tmp_path):
    predict_file(fitted_three, csv, tmp_path / "out.csv", [8], std=True)
    found = read_table(tmp_path / "out.csv")
    assert list(found)[:4] == ["survival_8", "survival_8_std", "incidence_1_8", "incidence_1_8_std"]
    answers = fitted_three.predict_survival_function(three_causes[0], [8], return_std=True)
    np.testing.assert_array_equal(found.to_numpy()[:, :2], np.hstack(answers))


def test_kept_columns_come_first_as_they_were(fitted_three, three_causes, csv, tmp_path):
    plain, kept = tmp_path / "plain.csv", tmp_path / "kept.csv"
    predict_file(fitted_three, csv, plain, [8], n_rows=50)
    predict_file(fitted_three, csv, kept, [8], keep=["patient", "age", "sex"], n_rows=50)
    found, source = (pd.read_csv(path, dtype=str) for path in (kept, csv))
    pd.testing.assert_frame_equal(found.iloc[:, :3], source[["patient", "age", "sex"]])
    pd.testing.assert_frame_equal(found.iloc[:, 3:], pd.read_csv(plain, dtype=str))


@pytest.fixture
def coded(draw_cohort, tiny):
    """A function of a column of codes that fits an estimator to it and a few numbers."""

    def fit(codes):
        X, y = draw_cohort(120)
        X = X[["age"]].assign(code=np.resize(codes, 120))
        return SurvTRACE(**tiny, categorical=["code"]).fit(X, y), X

    return fit


@pytest.mark.parametrize(
    ("learned", "spelled"),
    [
        ([1, 2, 3], ["01", "2.0", "3"]),
        ([1.5, 2.0, np.nan], ["1.50", "2", ""]),
        ([True, False, True], ["TRUE", "false", "True"]),
        (["01", "1", "x"], ["01", "1", "x"]),
    ],
)
def test_a_code_is_known_however_it_was_read(coded, tmp_path, learned, spelled):
    est, X = coded(np.array(learned, dtype=object))
    text = X.assign(code=np.resize(np.array(spelled, dtype=object), len(X)))
    text.to_csv(tmp_path / "new.csv", index=False)
    predict_file(est, tmp_path / "new.csv", tmp_path / "out.csv", [8], n_rows=2)
    found = read_table(tmp_path / "out.csv")["incidence_1_8"]
    np.testing.assert_array_equal(found, est.predict_cumulative_incidence(X, [8])[:, 0, 0])


def test_a_warning_is_given_once_not_for_every_piece(fitted_three, three_causes, tmp_path):
    X = three_causes[0].assign(stage="IX")
    X.to_csv(tmp_path / "new.csv", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predict_file(fitted_three, tmp_path / "new.csv", tmp_path / "out.csv", [99], n_rows=50)
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2
    assert "1 of 1 times lie beyond the grid" in said[0]
    assert "categories not seen in fit" in said[1]


def test_an_error_names_the_rows(fitted_three, three_causes, tmp_path):
    X = three_causes[0].astype({"age": object})
    X.loc[120, "age"] = "old"
    X.to_csv(tmp_path / "new.csv", index=False)
    words = r"in rows 100 to 149: column 'age' is numerical"
    with pytest.raises(DataError, match=words):
        predict_file(fitted_three, tmp_path / "new.csv", tmp_path / "out.csv", [8], n_rows=50)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_table_without_rows_is_refused(fitted_three, three_causes, tmp_path, ending):
    X, path = three_causes[0][:0], tmp_path / f"new{ending}"
    X.to_csv(path, index=False) if ending == ".csv" else X.to_parquet(path)
    with pytest.raises(DataError, match="has no rows"):
        predict_file(fitted_three, path, tmp_path / "out.csv", [8])
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"times": "a year"}, "times must be a flat sequence"),
        ({"times": [[2.0, 8.0]]}, r"columns are named by them; got \[\[2.0, 8.0\]\]"),
        ({"times": [2.0, np.nan]}, "times must be a flat sequence"),
        ({"out": 3}, "out must be a path"),
    ],
    ids=str,
)
def test_what_are_no_times_or_no_path_is_refused(fitted_three, csv, tmp_path, wrong, words):
    question = {"out": tmp_path / "out.csv", "times": [2.0], **wrong}
    with pytest.raises(ValueError, match=words) as refused:
        predict_file(fitted_three, csv, **question)
    assert isinstance(refused.value, SurvtraceError)
    assert not (tmp_path / "out.csv").exists()


def test_every_piece_is_counted(fitted_three, csv, tmp_path):
    counted = []
    predict_file(fitted_three, csv, tmp_path / "o.csv", [8], n_rows=100, advance=counted.append)
    assert counted == [100, 100, 40]


@pytest.mark.parametrize("n_rows", [1, 37, 1000])
def test_the_time_after_a_column_is_the_same_in_pieces_of_any_size(
    fitted_three, three_causes, tmp_path, n_rows
):
    X = three_causes[0][:80]
    now = np.linspace(0.0, 4.0, 80)
    X.assign(now=now).to_csv(tmp_path / "new.csv", index=False)
    question = {"after": "now", "from_after": True, "causes": False, "n_rows": n_rows}
    predict_file(fitted_three, tmp_path / "new.csv", tmp_path / "out.csv", [1, 3], **question)
    found = read_table(tmp_path / "out.csv")
    assert list(found) == ["survival_+1", "survival_+3"]
    asked = {"times": now[:, None] + [1, 3], "conditional_after": now}
    np.testing.assert_array_equal(
        found.to_numpy(), fitted_three.predict_survival_function(X, **asked)
    )


def test_a_row_without_the_time_to_go_on_from_is_named(fitted_three, three_causes, tmp_path):
    three_causes[0].assign(now=[None, *[1.0] * 239]).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(
        DataError, match=r"'now' .*in every row; 1 of 240 have none \(first: row 0\)"
    ):
        predict_file(fitted_three, tmp_path / "new.csv", tmp_path / "out.csv", [8], after="now")
