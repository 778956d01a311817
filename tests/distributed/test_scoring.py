"""Many machines answer what one process answers."""

import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.streaming import predict_file

pytest.importorskip("ray", reason="needs ray: pip install 'survtrace[distributed]'")

from survtrace.distributed import predict_files

pytestmark = [
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),
    pytest.mark.xdist_group("ray"),
]


def test_answers_are_those_of_one_process(cluster, fitted_three, files, tmp_path):
    fitted_three.save(tmp_path / "model")
    asked = {"times": [2.5, 8], "keep": ["who"], "std": True, "n_rows": 20}
    predict_file(fitted_three, files, tmp_path / "one.parquet", **asked)
    assert predict_files(tmp_path / "model", files, tmp_path / "many", **asked) == 240
    assert len(list((tmp_path / "many").iterdir())) > 2
    expected, found = (pd.read_parquet(tmp_path / name) for name in ("one.parquet", "many"))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_what_a_worker_finds_is_said_here(cluster, fitted_three, three_causes, tmp_path):
    X, alone = three_causes[0], {"n_rows": 50, "n_workers": 1}
    X.assign(stage="IX").to_parquet(tmp_path / "unseen.parquet")
    with pytest.warns(DataWarning, match="categories not seen in fit") as said:
        predict_files(fitted_three, tmp_path / "unseen.parquet", tmp_path / "out", [8], **alone)
    assert len(said) == 1
    X.assign(age=["old"] * len(X)).to_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(DataError, match=r"^column 'age' is numerical"):
        predict_files(fitted_three, tmp_path / "wrong.parquet", tmp_path / "no", [8], **alone)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out",
        "unseen.parquet",
        "wrong.parquet",
    ]


def test_a_table_it_cannot_read_is_refused(fitted_three, three_causes, files, tmp_path):
    X = three_causes[0]
    X.to_csv(tmp_path / "t.csv")
    X[:0].to_parquet(tmp_path / "empty.parquet")
    for name, words in (("t.csv", "reads a Parquet file"), ("empty.parquet", "has no rows")):
        with pytest.raises(DataError, match=words):
            predict_files(fitted_three, tmp_path / name, tmp_path / "out", [8])
    with pytest.raises(DataError, match="exists; it is left alone"):
        predict_files(fitted_three, files, tmp_path, [8])
