"""Many machines answer what one process answers."""

import pickle
import warnings

import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.streaming import predict_file

pytest.importorskip("ray", reason="needs ray: pip install 'survtrace[distributed]'")

from survtrace.distributed import predict_files
from survtrace.distributed.spans import Worker

pytestmark = [
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),
    pytest.mark.xdist_group("ray"),
]


def test_answers_and_warnings_are_those_of_one_process(
    cluster, fitted_three, three_causes, tmp_path
):
    X = three_causes[0].assign(who=[f"{row:03d}" for row in range(240)])
    X["stage"] = X["stage"].astype(str).mask(X["who"] > "110", "IX")
    (tmp_path / "new").mkdir()
    for first, last in ((0, 70), (70, 240)):
        X[first:last].to_parquet(tmp_path / "new" / f"{first}.parquet")
    fitted_three.save(tmp_path / "model")
    asked = {"times": [2.5, 8], "keep": ["who"], "std": True, "n_rows": 20}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        predict_file(fitted_three, tmp_path / "new", tmp_path / "one.parquet", **asked)
        predict_files(tmp_path / "model", tmp_path / "new", tmp_path / "many", **asked)
    said = [str(each.message) for each in caught if each.category is DataWarning]
    assert said == ["in rows 100 to 119: " + said[0].partition(": ")[2]] * 2
    assert len(list((tmp_path / "many").iterdir())) > 2
    expected, found = (pd.read_parquet(tmp_path / name) for name in ("one.parquet", "many"))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_an_error_of_ours_is_handed_on():
    """As a result: Ray would wrap it, and lose what it is."""

    def refuse(span):
        raise DataError(f"row {span.start} is empty")

    error, remarks = pickle.loads(Worker(refuse)({"first": 3, "last": 4})["result"])
    assert isinstance(error, DataError)
    assert (str(error), remarks) == ("row 3 is empty", [])


def test_a_table_it_cannot_read_is_refused(fitted_three, three_causes, files, tmp_path):
    X = three_causes[0]
    X.to_csv(tmp_path / "t.csv")
    X[:0].to_parquet(tmp_path / "empty.parquet")
    for name, words in (("t.csv", "reads a Parquet file"), ("empty.parquet", "has no rows")):
        with pytest.raises(DataError, match=words):
            predict_files(fitted_three, tmp_path / name, tmp_path / "out", [8])
    with pytest.raises(DataError, match="exists; it is left alone"):
        predict_files(fitted_three, files, tmp_path, [8])
