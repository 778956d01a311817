"""What bad input gets: every row of the table in section 6 of the design, in its order."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.exceptions import NotFittedError

from survtrace import (
    DataError,
    DataWarning,
    SavedFileError,
    SettingError,
    Surv,
    SurvTRACE,
    TrainingError,
    load,
    ops,
)
from survtrace.app.calculator.write import write_page
from survtrace.export.onnx_file import export_onnx
from survtrace.metrics import (
    brier_score,
    brier_score_survival,
    concordance_cause_specific,
    d_calibration,
    integrated_brier_score,
)
from survtrace.report.page import write_report
from survtrace.report.validation_page import write_validation
from survtrace.training import loop
from survtrace.tuning import tune


@pytest.fixture
def refused(one_cause, tiny):
    """A function that fits changed data and expects an error."""

    def check(message, X=None, y=None, error=DataError, **settings):
        with pytest.raises(error, match=message):
            SurvTRACE(**{**tiny, **settings}).fit(
                one_cause[0] if X is None else X, one_cause[1] if y is None else y
            )

    return check


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"finite; 2 of 160 are not \(first: row 3, nan\)"),
        (np.inf, r"finite; 2 of 160 are not \(first: row 3, inf\)"),
        (-1.0, r"zero or more; 2 of 160 are not \(first: row 3, -1.0\)"),
        ("long", r"a number; 2 of 160 are not \(first: row 3, 'long'\)"),
    ],
)
def test_a_bad_duration(refused, one_cause, value, message):
    y = one_cause[1].astype({"duration": object})
    y.loc[[3, 9], "duration"] = value
    refused(message, y=y)


def test_a_duration_that_means_not_known(one_cause, tiny):
    X, y = one_cause
    odd = y.assign(duration=y["duration"].where(~y.index.isin([3, 9]), 9999))
    with pytest.warns(DataWarning, match="duration is 9999 for 2 of 160 subjects, and at most 19"):
        SurvTRACE(**tiny).fit(X, odd)


def test_an_event_at_zero(refused, one_cause, tiny):
    X, y = one_cause
    early = y.copy()
    early.loc[4] = [1, 0.0]
    n_events = int((early["event"] > 0).sum())
    refused(rf"above 0; 1 of {n_events} events .*row 4.*zero_duration='shift'", y=early)
    early.loc[4] = [0, 0.0]
    with pytest.warns(DataWarning, match="1 of 160 subjects are censored at duration 0"):
        SurvTRACE(**tiny).fit(X, early)


def test_nobody_with_an_event(refused, one_cause):
    refused(
        "at least one subject must have an event; all 1.. are censored",
        y=one_cause[1].assign(event=0),
    )


def test_a_cause_with_fewer_events_than_the_grid_can_bear(one_cause, tiny):
    X, y = one_cause
    rare = y.copy()
    rare["event"] = rare["event"].astype(object)
    rare.loc[rare.index[rare["event"] == 1][:2], "event"] = "rare"
    with pytest.warns(DataWarning, match=r"fewer events than .*\(3\): \{'rare': [12]\}"):
        SurvTRACE(**tiny).fit(X, rare)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y.assign(event=y["event"].where(y.index != 7, -1)), r"row 7, -1"),
        (lambda y: y.assign(event=y["event"].where(y.index != 7)), r"row 7, nan"),
        (lambda y: y.to_numpy(), r"shape \(160, 2\).*Surv\.from_arrays"),
        (lambda y: y["duration"].to_numpy(), r"shape \(160,\).*Surv\.from_arrays"),
        (lambda y: y[["event"]], r"got \['event'\].*Surv\.from_arrays"),
        (lambda y: y.assign(age=1), r"got \['event', 'duration', 'age'\].*Surv\.from_arrays"),
        (lambda y: y[:-1], r"X has 160 rows and y has 159.*Surv\.from_arrays"),
    ],
)
def test_a_bad_outcome(refused, one_cause, change, message):
    refused(message, y=change(one_cause[1]))


@pytest.fixture
def two_rows_each(one_cause):
    """Every subject's row cut in two: covariates, and an outcome with entry and id."""
    X, y = one_cause
    cut = pd.concat([y.assign(duration=y["duration"] / 2, entry=0.0, event=0), y])
    cut["entry"] = cut["entry"].fillna(y["duration"] / 2)
    cut["id"] = cut.index
    return pd.concat([X, X], ignore_index=True), cut.reset_index(drop=True)


def _at(y, name, value, row=7):
    return y.assign(**{name: y[name].astype(object).where(y.index != row, value)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda y: _at(y, "entry", 1e3),
            r"before duration, both .*1 of 320 .*row 7, id 7: entry 1000",
        ),
        (lambda y: _at(y, "entry", -1.0), r"entry must be zero or more; 1 of 320 .*row 7, -1\.0"),
        (lambda y: _at(y, "entry", np.nan), r"entry must be finite; 1 of 320 .*row 7, nan"),
        (
            lambda y: _at(y, "entry", 0.0, 167),
            r"must not overlap; 1 of 320 rows .*row 7 and row 167, id 7",
        ),
        (
            lambda y: y[::-1],
            r"in the order of time; 160 of 320 rows follow a later one .*Sort the table",
        ),
        (
            lambda y: _at(y, "event", 1),
            r"the last row of its subject; 1 of 160 subjects .*row 7 and row 167",
        ),
        (lambda y: _at(y, "id", None), r"id is missing in 1 of 320 rows \(first: row 7\)"),
        (lambda y: y.drop(columns="entry"), r"160 of 160 subjects have several rows .*pass entry="),
    ],
)
def test_bad_rows_of_a_subject(two_rows_each, tiny, change, message):
    X, y = two_rows_each
    changed = change(y).infer_objects()
    with pytest.raises(DataError, match=message):
        SurvTRACE(**tiny).fit(X.loc[changed.index], changed)


def test_gaps_between_rows_of_a_subject(two_rows_each, tiny):
    X, y = two_rows_each
    later = y["entry"] + 0.1 * (y["duration"] - y["entry"])
    gaps = y.assign(entry=y["entry"].where(y["entry"] == 0, later))
    settings = {**tiny, "mortality_weight": 0.0, "stay_weight": 0.0}
    with pytest.warns(
        DataWarning, match="160 of 160 subjects have gaps between their rows"
    ) as told:
        SurvTRACE(**settings).fit(X, gaps)
    assert sum("gaps" in str(each.message) for each in told) == 1


@pytest.mark.parametrize(
    ("labels", "question"),
    [
        ({0: 1, 1: 2}, r"R codes 1 for censored and 2 for dead.*censored=1 if.*censored=\[\] if"),
        ({0: "not dead", 1: "dead"}, r"'not dead' may mean censored.*censored='not dead' if"),
        ({0: "", 1: "dead"}, r"of 160 are not \(first: row \d+, ''\).*censored='empty'"),
    ],
)
def test_who_is_censored_is_asked(refused, one_cause, labels, question):
    y = one_cause[1]
    refused(question, y=y.assign(event=y["event"].map(labels)))


def test_a_date_is_no_event(refused, one_cause):
    y = one_cause[1]
    died = pd.Series(pd.date_range("2020-01-01", periods=160)).where(y["event"] == 1)
    for dates in (died, died.dt.strftime("%d.%m.%Y").fillna("")):
        refused("a date is no event code", y=y.assign(event=dates))


def test_rows_with_other_labels(refused, one_cause):
    X, y = one_cause
    refused("numbers that differ in order", y=y.sample(frac=1, random_state=0))
    X = X.set_axis([f"p{i}" for i in range(160)])
    refused("160 of 160 labels of X are not among those of y", X=X, y=y.set_axis(range(1000, 1160)))


def test_masked_and_complex_values(one_cause, fitted_one, tiny):
    X, y = one_cause
    numbers = X[["age", "size"]].to_numpy()
    masked = np.ma.masked_invalid(numbers)
    gaps = SurvTRACE(**tiny).fit(numbers, y)
    np.testing.assert_array_equal(
        gaps.predict(numbers), SurvTRACE(**tiny).fit(masked, y).predict(masked)
    )
    with pytest.raises(DataError, match="covariates must be real numbers; column 'age'"):
        SurvTRACE(**tiny).fit(X.assign(age=X["age"] + 1j), y)
    with pytest.raises(DataError, match="covariates must be real numbers; column 'age'"):
        fitted_one.predict(X.assign(age=(X["age"] + 1j).astype(object)))
    weight = np.ma.array(np.ones(160), mask=np.arange(160) == 7)
    with pytest.raises(DataError, match=r"sample_weight must not be missing.*first: row 7"):
        SurvTRACE(**tiny).fit(X, y, sample_weight=weight)
    with pytest.raises(DataError, match="sample_weight must be real numbers"):
        SurvTRACE(**tiny).fit(X, y, sample_weight=np.ones(160) + 0j)
    for times in ([1j], np.ma.array([1.0, 2.0], mask=[0, 1])):
        with pytest.raises(DataError, match="times must"):
            fitted_one.predict_survival_function(X, times)
        with pytest.raises(DataError, match="time_grid must"):
            SurvTRACE(**{**tiny, "time_grid": times}).fit(X, y)


@pytest.mark.parametrize(
    ("X", "hint"),
    [
        ({"age": 61, "sex": "f"}, r"one value for each column.*pd\.DataFrame\(\[row\]\)"),
        ([{"age": 61}, {"age": 47}], r"list of mappings.*pd\.DataFrame\(rows\)"),
        (np.arange(4.0), r"X\.reshape\(1, -1\) if it is one subject, X\.reshape\(-1, 1\) if"),
        (pd.Series([1.0, 2.0]), r"got shape \(2,\)"),
        ({"age": [1, 2], "sex": ["f"]}, "columns of one length"),
    ],
    ids=str,
)
def test_a_table_of_another_shape(refused, fitted_one, X, hint):
    refused(hint, X=X)
    with pytest.raises(DataError, match=hint):
        fitted_one.predict(X)


def test_no_outcome_at_all(one_cause, tiny):
    with pytest.raises(DataError, match=r"y is None.*Surv\.from_arrays"):
        SurvTRACE(**tiny).fit(one_cause[0], None)


@pytest.mark.parametrize(
    ("labels", "causes"),
    [({0: 0, 1: 1, 2: 3, 3: 3}, [1, 3]), ({0: "Alive", 1: "y", 2: "x", 3: "x"}, ["x", "y"])],
)
def test_gaps_and_text_are_accepted(three_causes, tiny, labels, causes):
    X, y = three_causes
    est = SurvTRACE(**tiny).fit(X, y.assign(event=y["event"].map(labels)))
    assert est.causes_ == causes


def test_several_labels_and_nobody_censored_is_a_question(refused, three_causes, tiny):
    X, y = three_causes
    y = y.assign(event=y["event"].map({0: "w", 1: "y", 2: "x", 3: "x"}))
    words = (
        r"nobody is censored, though.*with 'w' were followed longest\. Say .*censored='w'.*=\[\]"
    )
    refused(words, X=X, y=y)
    y = Surv.from_arrays(y["event"], y["duration"], censored=[])
    assert SurvTRACE(**tiny).fit(X, y).causes_ == ["w", "x", "y"]


def test_anything_but_dates_is_a_covariate(refused, one_cause, tiny):
    X, y = one_cause
    mixed = X.assign(
        gap=X["age"].mask(X["age"] > 60),
        truth=X["age"] > 55,
        word=X["sex"] + X["stage"].astype(str),
    )
    est = SurvTRACE(**tiny).fit(mixed, y)
    assert np.isfinite(est.predict(mixed)).all()
    dates = pd.date_range("2020-01-01", periods=160)
    for table in (X.assign(visit=dates), pl.from_pandas(X).with_columns(visit=pl.Series(dates))):
        refused("column 'visit' holds dates or times", X=table)


def test_constant_missing_and_duplicated_columns_and_infinity(refused, one_cause, tiny):
    X, y = one_cause
    idle = X.assign(one=1.0, none=np.nan, again=X["age"])
    with pytest.warns(
        DataWarning,
        match=r"'all missing': \['none'\], 'constant': \['one'\], 'a copy of another': \['again'\]",
    ) as caught:
        SurvTRACE(**tiny).fit(idle, y)
    assert len(caught) == 1
    infinite = X.copy()
    infinite.loc[5, "age"] = np.inf
    refused(r"column 'age' has 1 infinite values \(first: row \d+\)", X=infinite)
    twice = pd.concat([X, X[["age"]]], axis=1)
    refused(r"column names must differ; \['age'\]", X=twice)


def test_infinity_at_prediction(fitted_one, one_cause):
    X = one_cause[0].copy()
    X.loc[5, "age"] = -np.inf
    with pytest.raises(DataError, match=r"'age' has 1 infinite values \(first: row 5\)"):
        fitted_one.predict(X)


def test_infinity_among_categories_in_fit_and_prediction(refused, fitted_one, one_cause):
    X = one_cause[0].assign(sex=np.where(np.arange(160) == 5, np.inf, 1.0))
    told = r"'sex' has 1 infinite values \(first: row \d+\)"
    refused(told, X=X.astype({"sex": object}), categorical=["sex"])
    with pytest.raises(DataError, match=told):
        fitted_one.predict(X)


def test_an_unseen_category(fitted_one, one_cause):
    X = one_cause[0].assign(sex="other")
    with pytest.warns(DataWarning, match=r"unseen token.*\{'sex': 160\}") as caught:
        fitted_one.predict_proba(X, 2.0)
    assert len(caught) == 1


def test_missing_extra_and_reordered_columns(fitted_one, one_cause):
    X = one_cause[0]
    expected = fitted_one.predict(X)
    with pytest.raises(DataError, match=r"missing: \['age', 'stage'\]"):
        fitted_one.predict(X.drop(columns=["age", "stage"]))
    with pytest.warns(DataWarning, match=r"ignored: \['colour'\]") as caught:
        np.testing.assert_array_equal(fitted_one.predict(X.assign(colour="red")), expected)
    assert len(caught) == 1
    np.testing.assert_array_equal(fitted_one.predict(X[X.columns[::-1]]), expected)
    with pytest.raises(DataError, match="column 'age' is numerical"):
        fitted_one.predict(X.assign(age="old"))


def test_bad_times(fitted_one, one_cause):
    X, end = one_cause[0], fitted_one.time_grid_[-1]
    for times in ([-1.0], [np.nan], [1.0, np.nan]):
        with pytest.raises(DataError, match="times must be a flat sequence of numbers of zero or"):
            fitted_one.predict_survival_function(X, times)
    for time in (-1.0, np.nan):
        with pytest.raises(DataError, match="times must be"):
            fitted_one.predict_rmst(X, time)
        with pytest.raises(DataError, match="times must be"):
            fitted_one.predict_proba(X, time)
    with pytest.warns(DataWarning, match="1 of 2 times lie beyond the grid"):
        curve = fitted_one.predict_survival_function(X, [end, 2 * end])
    np.testing.assert_array_equal(curve[:, 0], curve[:, 1])


def test_scores_of_what_is_no_probability_or_no_cause(one_cause):
    y = one_cause[1]
    for score in (brier_score, integrated_brier_score):
        with pytest.raises(DataError, match=r"within \[0, 1\]; 320 of 320 values"):
            score(y, np.full((160, 2), 1.4), [1.0, 2.0])
        with pytest.raises(DataError, match=r"one of the labels \[1\]; got 2"):
            score(y, np.full((160, 2), 0.4), [1.0, 2.0], cause=2)
    with pytest.raises(DataError, match=r"within \[0, 1\]"):
        brier_score_survival(y, np.full((160, 1), -0.2), [1.0])
    with pytest.raises(DataError, match=r"within \[0, 1\]"):
        d_calibration(y, np.full(160, np.nan))
    with pytest.raises(DataError, match=r"one of the labels \[1\]; got 'x'"):
        concordance_cause_specific(y, np.zeros(160), cause="x")


def test_scoring_an_outcome_with_an_unknown_cause(fitted_one, one_cause):
    X, y = one_cause
    with pytest.raises(DataError, match=r"one of \[1\]; the outcome also has \[4\]"):
        fitted_one.score(X, y.assign(event=4))
    with pytest.raises(DataError, match="X has 3 rows and y has 160"):
        fitted_one.score(X[:3], y)


def test_a_loss_that_turns_non_finite(monkeypatch, one_cause, tiny):
    real, calls = ops.gradient, []

    def breaks(*arguments):
        calls.append(None)
        return real(*arguments) * (np.nan if len(calls) > 6 else 1.0)

    monkeypatch.setattr(ops, "gradient", breaks)
    est = SurvTRACE(**{**tiny, "max_epochs": 5})
    with pytest.raises(TrainingError, match=r"finite; it is not at epoch \d, batch \d"):
        est.fit(*one_cause)
    assert np.isfinite(est.predict(one_cause[0])).all()


@pytest.mark.parametrize("broken_epoch", [0, 2])
@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_validation_loss_that_turns_non_finite(
    monkeypatch, one_cause, tiny, broken, broken_epoch
):
    real, calls = loop.validation_loss, []

    def breaks(*arguments):
        losses = real(*arguments)
        if len(calls) == broken_epoch:
            losses[1] = broken
        calls.append(None)
        return losses

    monkeypatch.setattr(loop, "validation_loss", breaks)
    est = SurvTRACE(**{**tiny, "max_epochs": 5})
    words = rf"validation loss must stay finite; it is not at epoch {broken_epoch} for .*\(s\) 1\."
    with pytest.raises(TrainingError, match=words):
        est.fit(*one_cause)
    if broken_epoch == 0:
        with pytest.raises(NotFittedError, match="not fitted"):
            est.predict(one_cause[0])
    else:
        assert np.isfinite(est.predict(one_cause[0])).all()
        assert est.history_["epoch"].max() == broken_epoch - 1
        assert np.isfinite(est.history_["validation_loss"]).all()


def test_a_network_that_is_damaged_gives_no_numbers(one_cause, tiny):
    X, y = one_cause
    est = SurvTRACE(**{**tiny, "max_epochs": 1}).fit(X, y)
    with torch.no_grad():
        est.network_.recalibration_factor.fill_(np.nan)
    for method in (est.predict, est.predict_quantile, est.predict_cumulative_hazard_function):
        with pytest.raises(DataError, match=r"predictions must be finite; .* not for row 0"):
            method(X)


def test_a_bad_saved_estimator(fitted_one, tmp_path):
    folder = tmp_path / "saved"
    fitted_one.save(folder)
    note = json.loads((folder / "estimator.json").read_text())
    (folder / "estimator.json").write_text(json.dumps({**note, "format_version": 99}))
    with pytest.raises(SavedFileError, match=r"format version 99.*Upgrade survtrace"):
        load(folder)
    (folder / "estimator.json").write_text(json.dumps({**note, "format": "other"}))
    with pytest.raises(SavedFileError, match="not written by survtrace"):
        load(folder)
    (folder / "estimator.json").write_text(json.dumps(note)[:-9])
    with pytest.raises(SavedFileError, match="not JSON"):
        load(folder)
    (folder / "estimator.json").write_text(json.dumps(note))
    (folder / "tensors.safetensors").write_bytes(b"")
    with pytest.raises(SavedFileError, match="damaged"):
        load(folder)


def test_an_empty_frame_and_one_row(refused, fitted_one, one_cause, tiny):
    X, y = one_cause
    refused("at least two subjects; got 1", X=X[:1], y=y[:1])
    refused(r"subjects and covariates; got .*\(0, 4\)", X=X[:0], y=y[:0])
    refused(r"subjects and covariates; got .*\(160, 0\)", X=X[[]])
    with pytest.raises(DataError, match="at least one subject"):
        fitted_one.predict(X[:0])
    assert fitted_one.predict_survival_function(X[:1], [1.0, 2.0]).shape == (1, 2)
    assert fitted_one.predict_cumulative_incidence(X[:1], 1.0).shape == (1, 1, 1)


@pytest.mark.filterwarnings("ignore::survtrace.DataWarning")
@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_subjects_fits(one_cause, tiny, n):
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X[:n], y[:n].assign(event=1))
    assert np.isfinite(est.predict(X[:n])).all()


def test_an_outcome_packed_by_surv_is_checked_at_the_door():
    with pytest.raises(DataError, match="must be a number"):
        Surv.from_arrays([1, 0], ["soon", 2.0])


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda est, X, y: write_report(est, X, y, 3), "path"),
        (lambda est, X, y: write_validation(est, X, y, None), "path"),
        (lambda est, X, y: write_page(est, ["calculator.html"]), "path"),
        (lambda est, X, y: write_page(3, "calculator.html"), "model"),
        (lambda est, X, y: export_onnx(est, b"model.onnx"), "path"),
        (lambda est, X, y: export_onnx(est, "model.onnx", schema_path=3), "schema_path"),
        (lambda est, X, y: tune(X, y, 3), "folder"),
    ],
    ids=["report", "validation", "page", "page of a number", "onnx", "onnx schema", "search"],
)
def test_what_is_no_path_is_said_before_anything_is_made(write, name, fitted_one, one_cause):
    with pytest.raises(SettingError, match=f"^{name} must be a path: a text such as"):
        write(fitted_one, *one_cause)
