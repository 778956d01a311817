"""Numbers too large to compute with are refused by column and row, never turned into NaN."""

import numpy as np
import polars as pl
import pytest

from survtrace import DataError, SurvTRACE
from survtrace.tables.covariates.magnitude import LARGEST, require_magnitude


@pytest.mark.parametrize("value", [1e21, -1e30, 1e300], ids=str)
def test_too_large_a_value_is_refused_at_fit_by_its_row_in_the_table(one_cause, tiny, value):
    X, y = one_cause
    wild = X.copy()
    wild.loc[157, "age"] = value
    with pytest.raises(
        DataError, match=r"between -1e\+20 and 1e\+20; column 'age' has 1 .*row 157"
    ):
        SurvTRACE(**tiny).fit(wild, y)
    with pytest.raises(
        DataError, match=r"column 'age' has 1 of 160 values beyond \(first: row 157"
    ):
        SurvTRACE(**tiny).fit(X, y, eval_set=(wild, y))


@pytest.mark.parametrize("value", [1e21, 10**400, -(10**400)], ids=lambda v: str(v)[:5])
def test_too_large_a_value_is_refused_at_prediction(fitted_one, one_cause, value):
    X = one_cause[0].head(5).astype({"age": object})
    X.loc[3, "age"] = value
    columns = {name: X[name].tolist() for name in X}
    for method in (fitted_one.predict, fitted_one.attention, fitted_one.predict_quantile):
        for table in (X, columns):
            with pytest.raises(DataError, match=r"'age' has 1 of 5 values beyond \(first: row 3"):
                method(table)


def test_a_whole_number_beyond_any_float_is_refused_at_fit(one_cause, tiny):
    X, y = one_cause
    wild = X.astype({"age": object})
    wild.loc[157, "age"] = 10**400
    with pytest.raises(DataError, match=r"'age' has 1 of 160 values beyond \(first: row 157\)"):
        SurvTRACE(**tiny).fit(wild, y)
    array = wild[["age", "size"]].to_numpy(dtype=object)
    with pytest.raises(DataError, match=r"'x0' has 1 of 160 values beyond \(first: row 157\)"):
        SurvTRACE(**tiny).fit(array, y)


def test_a_file_with_too_large_a_value_is_refused_by_its_row(one_cause, tiny, tmp_path, fitted_one):
    X, y = one_cause
    wild = X.assign(cause=y["event"], months=y["duration"])
    wild.loc[150, "age"] = 1e30
    wild.to_parquet(tmp_path / "t.parquet")
    roles = {"event": "cause", "duration": "months"}
    with pytest.raises(DataError, match=r"column 'age' has 1 of 160 values beyond .*row 150"):
        SurvTRACE(**tiny).fit(tmp_path / "t.parquet", roles)
    wild[X.columns].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"column 'age' has 1 of 160 values beyond .*row 150"):
        fitted_one.predict(tmp_path / "t.csv")


def test_whole_numbers_of_64_bits_are_numbers_like_others(one_cause, tiny):
    X, y = one_cause
    largest = np.full(160, np.iinfo(np.uint64).max) - np.arange(160, dtype=np.uint64) * 2**55
    assert largest.max() < LARGEST
    for table in (X.assign(cells=largest), pl.from_pandas(X.assign(cells=largest))):
        est = SurvTRACE(**{**tiny, "max_epochs": 1}).fit(table, y)
        assert np.isfinite(est.predict(table)).all()


@pytest.mark.filterwarnings("ignore:age lies outside:survtrace.DataWarning")
@pytest.mark.filterwarnings("ignore:.*unlike the patients:UserWarning")
def test_values_as_far_as_they_may_be_give_numbers(fitted_three, three_causes):
    X = three_causes[0].head(40)
    scale = fitted_three.encoding_.columns[0]
    for far in (-0.99e9, 0.99e9):
        wild = X.assign(age=scale.mean + far * scale.deviation)
        for answer in (
            fitted_three.predict_cumulative_incidence(wild),
            fitted_three.predict_cumulative_hazard_function(wild),
            fitted_three.predict_rmst(wild, 1.0),
            fitted_three.attention(wild),
        ):
            assert np.isfinite(answer).all()


def test_the_largest_numbers_are_not_beyond():
    require_magnitude(np.array([LARGEST, -LARGEST, np.nan]), "age")
    with pytest.raises(DataError, match="'age' has 2 of 2 values beyond"):
        require_magnitude(np.nextafter([LARGEST, -LARGEST], [np.inf, -np.inf]), "age")
