"""A raw table is fitted, saved and predicted from as it comes."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, SettingError, SurvTRACE, load

SECRET = "P7341"


@pytest.fixture(scope="module")
def raw(one_cause):
    """The table of 160 subjects as an export would write it."""
    X, y = one_cause
    gaps = X["size"].isna()
    texts = X["size"].round(3).map("{:.3f} mm".format).str.replace(".", ",")
    rough = pd.DataFrame(
        {
            "patient": [f"P{7341 + 13 * row}" for row in range(len(X))],
            "seen": pd.date_range("2020-01-01", periods=len(X)).strftime("%d.%m.%Y"),
            "age": X["age"].round(2).map("{:.2f}".format).str.replace(".", ","),
            "size": texts.mask(gaps, "unknown"),
            "sex": np.where(np.arange(len(X)) % 3 == 0, X["sex"].str.upper(), X["sex"]),
            "stage": X["stage"],
            "died on": np.where(y["event"] > 0, "2021", ""),
        }
    )
    clean = X.assign(age=X["age"].round(2), size=X["size"].round(3))
    return rough, clean, y


@pytest.fixture(scope="module")
def fitted(raw, tiny):
    rough, _, y = raw
    columns = {"size": {"label": "Tumour size"}, "age": {"unit": "years", "low": 0, "high": 120}}
    with pytest.warns(DataWarning, match="some columns of X are not used as they are") as caught:
        est = SurvTRACE(**tiny, columns=columns, time_unit="years", cause_names={1: "death"}).fit(
            rough, y
        )
    assert len(caught) == 1
    return est


def test_a_raw_table_gives_the_predictions_of_the_clean_one(raw, fitted, tiny):
    rough, clean, y = raw
    lower = clean.assign(sex=rough["sex"].str.casefold())
    expected = SurvTRACE(**tiny).fit(lower, y)
    assert fitted.encoding_.left_out == ("patient", "seen", "died on")
    np.testing.assert_array_equal(fitted.predict(rough), expected.predict(lower))


def test_a_prediction_takes_the_table_with_and_without_what_was_left_out(raw, fitted):
    rough = raw[0]
    bare = rough.drop(columns=["patient", "seen", "died on"])
    np.testing.assert_array_equal(fitted.predict(bare), fitted.predict(rough))


def test_numbers_and_other_spellings_are_understood_at_prediction(raw, fitted):
    rough, clean, _ = raw
    typed = rough.assign(age=clean["age"], size=clean["size"], sex=rough["sex"].str.lower() + " ")
    np.testing.assert_allclose(fitted.predict(typed), fitted.predict(rough))


def test_a_file_in_pieces_gives_the_same(raw, fitted, tmp_path):
    rough = raw[0]
    rough.to_csv(tmp_path / "t.csv", index=False, sep=";")
    np.testing.assert_array_equal(fitted.predict(tmp_path / "t.csv"), fitted.predict(rough))


def test_names_and_units_are_kept(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    for est in (fitted, load(tmp_path / "model")):
        assert est.cause_names_ == {1: "death"}
        assert est.time_unit_ == "years"
        assert est.covariate_labels_["size"] == "Tumour size (mm)"
        assert est.covariate_labels_["age"] == "age (years)"
        assert est.covariate_labels_["sex"] == "sex"


def test_values_of_columns_that_are_left_out_are_not_in_the_model(raw, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    note = (tmp_path / "model" / "estimator.json").read_text(encoding="utf-8")
    assert SECRET not in note
    assert "01.01.2020" not in note
    np.testing.assert_array_equal(load(tmp_path / "model").predict(raw[0]), fitted.predict(raw[0]))


def test_a_folder_of_before_still_loads(fitted_one, one_cause, tmp_path, sign_anew):
    def forget(note):
        for setting in ("columns", "time_unit", "cause_names"):
            del note["settings"][setting]
        for entry in ("left_out", "censored", "card"):
            del note[entry]

    fitted_one.save(tmp_path / "model")
    sign_anew(tmp_path / "model", forget)
    est = load(tmp_path / "model")
    assert est.censored_ == []
    assert est.card_ == {}
    assert est.cause_names_ == {1: "cause 1"}
    np.testing.assert_array_equal(est.predict(one_cause[0]), fitted_one.predict(one_cause[0]))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("age", "sixty", r"'age' is numerical; 1 of 160 .*row 7, 'sixty' is no number"),
        ("age", "-5", r"'age' must lie between 0 and 120.*row 7, -5"),
        ("age", "1300", r"'age' must lie between 0 and 120.*row 7, 1300"),
        ("size", "3 cm", r"'size' is in 'mm'; '3 cm' is in another unit"),
    ],
)
def test_impossible_values_are_refused_at_prediction(raw, fitted, name, value, message):
    changed = raw[0].copy()
    changed.loc[7, name] = value
    with pytest.raises(DataError, match=message):
        fitted.predict(changed)


def test_impossible_values_are_refused_in_fit(one_cause, tiny):
    X, y = one_cause
    with pytest.raises(DataError, match=r"'age' must lie between 0 and 50"):
        SurvTRACE(**tiny, columns={"age": {"low": 0, "high": 50}}).fit(X, y)


def test_text_in_a_column_that_had_numbers_is_read_with_a_warning(fitted_one, one_cause):
    X = one_cause[0]
    texts = X.assign(age=X["age"].astype(object))
    texts.loc[3, "age"] = "<40"
    with pytest.warns(DataWarning, match="'age' holds numbers written as text.*bound, in 1 of 160"):
        fitted_one.predict(texts)
    texts.loc[3, "age"] = "1,234"
    with pytest.raises(DataError, match="'1,234' could be one of two numbers"):
        fitted_one.predict(texts)


def test_a_misspelt_covariate_gets_the_nearest_name(fitted_one, one_cause):
    with pytest.raises(DataError, match=r"missing: \['stage'\] \(is 'Stages' meant to be 'stage'"):
        fitted_one.predict(one_cause[0].rename(columns={"stage": "Stages"}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": 3}, "columns must be a data dictionary"),
        ({"columns": {"agee": {"unit": "y"}}}, "names 'agee', .* did you mean 'age'"),
        ({"time_unit": 3}, "time_unit must be a text"),
        ({"cause_names": {2: "x"}}, r"causes of the outcome, which are \[1\]; '2' is none"),
        ({"cause_names": {1: 2}}, "cause_names must be a mapping"),
    ],
)
def test_settings_are_checked_before_the_fit(one_cause, tiny, settings, message):
    with pytest.raises(SettingError, match=message):
        SurvTRACE(**tiny, **settings).fit(*one_cause)


def test_nothing_left_to_learn_from_is_refused(one_cause, tiny):
    ids = pd.DataFrame({"id": [f"P{row}" for row in range(160)]})
    with pytest.raises(DataError, match="all its columns are left out"):
        SurvTRACE(**tiny).fit(ids, one_cause[1])


def test_files_are_planned_by_their_first_rows(raw, tiny, tmp_path):
    rough, _, y = raw
    table = rough.assign(years=y["duration"], event=y["event"])
    table.to_parquet(tmp_path / "t.parquet")
    roles = {"event": "event", "duration": "years"}
    with pytest.warns(DataWarning, match="left out: patient"):
        est = SurvTRACE(**tiny).fit(tmp_path / "t.parquet", roles)
    assert est.encoding_.left_out == ("patient", "seen", "died on", "event", "years")
    assert est.encoding_.covariates[0].decimal == ","
    np.testing.assert_array_equal(est.predict(table), est.predict(rough))
