"""A path answers like the table it leads to."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from survtrace import DataError, SurvTRACE
from survtrace.inference import paths
from survtrace.tables.files import chunks


@pytest.fixture(params=["parquet", "csv", "folder"])
def path(request, three_causes, tmp_path, monkeypatch):
    """The table of three causes, read in pieces of fifty rows, columns in another order."""
    X, y = three_causes
    read = chunks.read_chunks
    monkeypatch.setattr(paths, "read_chunks", lambda *a, **k: read(*a, **{**k, "n_rows": 50}))
    table = X[["stage", "age", "sex", "size"]].assign(months=y["duration"], cause=y["event"])
    if request.param == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"
    if request.param == "parquet":
        table.to_parquet(tmp_path / "t.parquet")
        return tmp_path / "t.parquet"
    for first in (0, 100):
        table[first : first + 100 if first == 0 else None].to_parquet(tmp_path / f"{first}.parquet")
    return tmp_path


METHODS = {
    "predict": (),
    "predict_proba": (5.0,),
    "predict_survival_function": ([2.0, 5.0],),
    "predict_cumulative_incidence": ([2.0, 5.0],),
    "predict_net_incidence": ([2.0, 5.0],),
    "predict_cumulative_hazard_function": ([2.0, 5.0],),
    "predict_quantile": ([0.1, 0.2],),
    "predict_rmst": (5.0,),
    "attention": (),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_path_answers_like_its_table(fitted_three, three_causes, path, method):
    answer = getattr(fitted_three, method)
    expected = answer(three_causes[0], *METHODS[method])
    np.testing.assert_array_equal(answer(path, *METHODS[method]), expected)
    np.testing.assert_array_equal(answer(str(path), *METHODS[method]), expected)


def test_settings_reach_every_piece(fitted_three, three_causes, path):
    X = three_causes[0]
    after = np.linspace(0, 3, len(X))
    for settings in ({"conditional_after": after}, {"conditional_after": 1.0}, {"cause": 2}):
        np.testing.assert_array_equal(
            fitted_three.predict_cumulative_incidence(path, [4.0], **settings),
            fitted_three.predict_cumulative_incidence(X, [4.0], **settings),
        )
    found = fitted_three.predict_survival_function(path, [4.0], return_std=True)
    expected = fitted_three.predict_survival_function(X, [4.0], return_std=True)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    functions = fitted_three.predict_survival_function(path, return_array=False)
    assert functions.shape == (240,)


@pytest.mark.parametrize("n_times", [100, 241])
def test_a_time_for_each_subject_means_each(fitted_three, path, n_times):
    with pytest.raises(DataError, match=f"conditional_after must be .* got {n_times} times"):
        fitted_three.predict_survival_function(path, conditional_after=np.ones(n_times))


def test_the_score_of_a_file_is_that_of_its_table(fitted_three, three_causes, path):
    names = {"event": "cause", "duration": "months"}
    expected = fitted_three.score(*three_causes)
    assert fitted_three.score(path, names) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(DataError, match="y must say which of its columns"):
        fitted_three.score(path, three_causes[1])


def test_a_warning_is_given_once(fitted_three, path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted_three.predict_survival_function(path, [99.0])
    assert len(caught) == 1


def test_errors_name_the_way_out(fitted_three, three_causes, tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        fitted_three.predict("nowhere.parquet")
    with pytest.raises(DataError, match="must end in one of"):
        fitted_three.predict("table.xls")
    X = three_causes[0]
    X[:0].to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="has no rows"):
        fitted_three.predict(tmp_path / "t.parquet")
    X.drop(columns="age").to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no column 'age'"):
        fitted_three.predict(tmp_path / "t.parquet")
    with pytest.raises(NotFittedError):
        SurvTRACE().predict_survival_function("t.parquet")
