"""What a validation says is what the scores say, in all subjects and in each group."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from survtrace.errors import DataError, DataWarning, LearnedRowsWarning
from survtrace.evaluation import validate
from survtrace.evaluation.validation import COLUMNS
from survtrace.evaluation.validation_scores import NAMES, SCALES
from survtrace.metrics import (
    auc_at,
    brier_score_at,
    calibration_errors,
    calibration_intercept_slope,
    centre_spread,
    concordance_cause_specific,
    net_benefit,
    net_benefit_difference,
    observed_expected_ratio,
    scaled_brier_score,
    smooth_calibration_curve,
)

HORIZON = 5.0


class KnowsTheHazards:
    """Predicts the incidences that the cohort was drawn from."""

    causes_ = ("relapse", "death")
    feature_names_in_ = np.array(["x", "sex"])

    def predict_cumulative_incidence(self, X, times, conditional_after=0.0):
        assert list(X.columns) == ["x", "sex"]
        hazard = np.exp(np.outer(X["x"], [0.8, -0.3])) / [9.0, 15.0]
        every = hazard.sum(axis=1)
        ended = 1 - np.exp(-np.outer(every, np.asarray(times) - conditional_after))
        return (hazard / every[:, None])[:, :, None] * ended[:, None, :]


def drawn(n_subjects, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=n_subjects), "sex": rng.choice(["f", "m"], n_subjects)})
    hazard = np.exp(np.outer(X["x"], [0.8, -0.3])) / [9.0, 15.0]
    latent, censoring = rng.exponential(1 / hazard), rng.uniform(1.0, 15.0, n_subjects)
    first = latent.min(axis=1)
    label = np.array(["relapse", "death"])[latent.argmin(axis=1)]
    event = np.where(first < censoring, label, "censored")
    X["hospital"] = rng.choice(np.arange(1, 8), n_subjects, p=[0.19] * 5 + [0.025] * 2)
    return X, pd.DataFrame({"event": event, "duration": np.minimum(first, censoring)})


X, Y = drawn(600)
EST = KnowsTheHazards()
MALE = (X["sex"] == "m").to_numpy()
SETTINGS = {"horizons": [3.0, HORIZON], "thresholds": [0.1, 0.3]}


@pytest.fixture(scope="module")
def found():
    with pytest.warns(DataWarning, match="2 groups are not scored .* hospital = 6, hospital = 7"):
        return validate(EST, X, Y, **SETTINGS, by=["sex", "x"], centre="hospital")


def of(frame, **where):
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


def predicted(rows, cause):
    table = X.loc[rows, ["x", "sex"]]
    return EST.predict_cumulative_incidence(table, [HORIZON])[:, EST.causes_.index(cause), 0]


@pytest.mark.parametrize("cause", EST.causes_)
@pytest.mark.parametrize("group", ["all", "m"])
def test_each_score_is_that_of_its_function_in_the_same_subjects(found, cause, group):
    rows = MALE if group == "m" else np.full(len(X), True)
    frame = of(found.groups, column="sex", group="m") if group == "m" else found.scores
    here = of(frame, cause=cause, horizon=HORIZON).set_index("score")
    where = (Y[rows], predicted(rows, cause), HORIZON)
    ratio = observed_expected_ratio(*where, cause=cause)
    line = calibration_intercept_slope(*where, cause=cause)
    expected = {
        "observed": ratio.observed,
        "expected": ratio.expected,
        "O/E": ratio,
        "intercept": line.intercept,
        "slope": line.slope,
        "C": concordance_cause_specific(*where, cause=cause),
        "AUC": auc_at(*where, cause=cause),
        "Brier": brier_score_at(*where, cause=cause),
        "IPA": scaled_brier_score(*where, cause=cause),
    }
    for name, score in expected.items():
        row = here.loc[name, ["value", "standard_error", "low", "high"]].tolist()
        assert row == pytest.approx([score, score.standard_error, *score.interval()]), name
    assert here.loc["calibration p", "value"] == line.p_value
    assert here.loc["ICI", "value"] == pytest.approx(
        float(calibration_errors(*where, cause=cause).ici)
    )
    assert list(here.index) == list(NAMES)


def test_curves_are_those_of_their_functions(found):
    cause, everybody = "relapse", np.full(len(X), True)
    where = (Y, predicted(everybody, cause), HORIZON)
    curve = smooth_calibration_curve(*where, cause=cause)
    drawn_curve = of(found.calibration, cause=cause, horizon=HORIZON)
    np.testing.assert_allclose(drawn_curve["observed"], curve.observed)
    np.testing.assert_allclose(drawn_curve["high"], curve.high)
    benefit = net_benefit(*where, [0.1, 0.3], cause=cause)
    decisions = of(found.decisions, cause=cause, horizon=HORIZON)
    expected = {
        "model": benefit.by_prediction,
        "treat all": benefit.treat_all,
        "treat none": benefit.treat_none,
    }
    for strategy, scores in expected.items():
        own = of(decisions, strategy=strategy)
        assert own["value"].tolist() == pytest.approx([float(score) for score in scores])
        assert own["low"].tolist() == pytest.approx([score.interval()[0] for score in scores])


def test_the_gain_is_the_difference_to_the_better_of_treating_all_and_none(found):
    cause = "death"
    where = (Y, predicted(np.full(len(X), True), cause))
    own = of(found.decisions, cause=cause, horizon=HORIZON, strategy="model")
    assert of(found.decisions, strategy="treat all")["gain"].isna().all()
    better = of(found.decisions, cause=cause, horizon=HORIZON, strategy="treat all")["value"] > 0
    assert better.tolist() == [True, False]
    for row, other in zip(own.to_dict("records"), (np.ones(600), np.zeros(600)), strict=True):
        threshold = [row["threshold"]]
        [gain] = net_benefit_difference(*where, other, HORIZON, threshold, cause=cause)
        ends = [row["gain"], row["gain_low"], row["gain_high"]]
        assert ends == pytest.approx([gain, *gain.interval()])


def test_every_subject_is_counted_once(found):
    parts = found.counts[["events", "other_events", "censored", "event_free"]].sum(axis=1)
    assert (parts == len(X)).all()
    assert (found.tenths.groupby(["cause", "horizon"])["n"].sum() == len(X)).all()
    assert (found.predictions.groupby(["cause", "horizon"])["n"].sum() == len(X)).all()
    sizes = of(found.groups, score="C").groupby(["column", "cause", "horizon"])["n"].sum()
    assert (sizes == len(X)).all()


def test_small_groups_are_there_with_the_reason_and_without_a_score(found):
    small = of(found.groups, column="hospital", group="7")
    assert small["value"].isna().all()
    assert small["note"].str.contains("10 of each are needed").all()
    assert small["events"].max() < 10
    scored = found.groups[found.groups["group"] != "7"][["value", "note"]]
    assert (scored["value"].notna() | (scored["note"] != "")).all()


def test_between_centres_is_what_the_spread_of_their_scores_says(found):
    assert found.centre == "hospital"
    row = of(found.spread, cause="relapse", horizon=HORIZON, score="O/E").iloc[0]
    centres = of(found.groups, column="hospital", cause="relapse", horizon=HORIZON, score="O/E")
    expected = centre_spread(centres["value"], centres["standard_error"], scale="log")
    assert row["n_centres"] == 5
    assert (row["mean"], row["tau"]) == (expected.mean, expected.tau)
    assert row["new_low"] <= row["low"] <= row["mean"] <= row["high"] <= row["new_high"]


def test_each_score_is_tested_for_a_difference_between_the_groups_of_a_column(found):
    here = of(found.differences, cause="death", horizon=HORIZON)
    tested = set(zip(here["column"], here["score"], strict=True))
    assert tested == set(product(["sex", "x", "hospital"], SCALES))
    reversed_sex = X.assign(x=np.where(MALE, -X["x"], X["x"]))
    other = validate(EST, reversed_sex.drop(columns="hospital"), Y, **SETTINGS, by="sex")
    before = of(here, column="sex").set_index("score")["p_value"]
    after = of(other.differences, cause="relapse", horizon=HORIZON).set_index("score")["p_value"]
    assert before["C"] > 0.01 > 1e-6 > after["C"]


def test_scores_without_an_error_are_left_out_of_tests_and_spread():
    """Predictions are equal in a hospital: so is the AUC, .5, whoever is drawn there."""

    class KnowsTheHospital:
        causes_ = ("relapse", "death")

        def predict_cumulative_incidence(self, X, times):
            share = X["hospital"].to_numpy()[:, None, None] / 20
            return np.broadcast_to(share, (len(X), 2, len(times)))

    large = X["hospital"] < 6
    settings = {"horizons": [HORIZON], "centre": "hospital"}
    found = validate(KnowsTheHospital(), X[large], Y[large], **settings)
    spread = of(found.spread, cause="relapse").set_index("score")
    assert (of(found.groups, score="AUC")["standard_error"] == 0).all()
    assert spread.loc["AUC", "n_centres"] == 0
    assert spread.loc["expected", "n_centres"] == 0
    assert spread.loc["O/E", "n_centres"] == 5
    assert np.isnan(of(found.differences, score="AUC")["p_value"]).all()


def test_groups_may_be_given_as_values_and_centres_as_numbers():
    half = np.arange(600) % 2
    given = validate(EST, X[["x", "sex"]], Y, **SETTINGS, by={"half": half}, centre=half)
    named = X[["x", "sex"]].assign(half=half, centre=half)
    same = validate(EST, named, Y, **SETTINGS, by="half", centre="centre")
    pd.testing.assert_frame_equal(given.groups, same.groups)
    assert given.groups["group"].unique().tolist() == ["0", "1"]


def test_every_frame_has_its_columns_also_without_groups():
    alone = validate(EST, X[["x", "sex"]], Y, **SETTINGS)
    for name, columns in COLUMNS.items():
        assert getattr(alone, name).columns.tolist() == columns
    assert len(alone.groups) == len(alone.spread) == len(alone.differences) == 0


def test_durations_in_another_unit_are_asked_about():
    in_weeks = Y.assign(duration=Y["duration"] * 52)
    with pytest.warns(DataWarning, match="times the events that the model expects. Are durations"):
        validate(EST, X[["x", "sex"]], in_weeks, horizons=[20.0], thresholds=[0.1])


def test_at_a_landmark_those_under_observation_are_scored_from_it_on(found):
    later = validate(EST, X[["x", "sex"]], Y, horizons=[3.0], landmark=2.0, by="sex")
    there = (Y["duration"] > 2.0).to_numpy()
    future = Y[there].assign(duration=Y["duration"][there] - 2.0)
    ahead = validate(EST, X.loc[there, ["x", "sex"]], future, horizons=[3.0], by="sex")
    pd.testing.assert_frame_equal(later.scores, ahead.scores)  # hazards are constant
    pd.testing.assert_frame_equal(later.groups, ahead.groups)
    assert later.landmark == 2.0


def test_what_late_entry_leaves_out_is_said():
    entry = np.where(np.arange(600) % 3 == 0, 0.5, 0.0)
    seen = Y["duration"] > entry
    late = Y.assign(entry=entry)[seen]
    scores = validate(EST, X.loc[seen, ["x", "sex"]], late, **SETTINGS).scores
    slopes = of(scores, score="slope")
    assert slopes["value"].isna().all()
    assert slopes["note"].str.contains("observed from 0 on").all()
    assert of(scores, score="O/E")["value"].notna().all()


def test_thresholds_may_be_given_in_any_order_and_twice():
    found, expected = (
        validate(EST, X[["x", "sex"]], Y, horizons=[HORIZON], thresholds=given).decisions
        for given in ([0.3, 0.1, 0.3], [0.1, 0.3])
    )
    pd.testing.assert_frame_equal(found, expected)


def test_thresholds_are_by_default_as_far_as_predictions_go():
    decisions = validate(EST, X[["x", "sex"]], Y, horizons=[HORIZON]).decisions
    for cause in EST.causes_:
        thresholds = of(decisions, cause=cause)["threshold"]
        most = np.quantile(predicted(np.full(600, True), cause), 0.99)
        assert thresholds.min() == pytest.approx(0.02 if most > 0.5 else 0.01)
        assert most - 0.02 <= thresholds.max() <= most + 0.02


def test_rows_learned_from_are_warned_of(fitted_three, three_causes):
    with pytest.warns(LearnedRowsWarning, match="rows the model was trained on"):
        validate(fitted_three, *three_causes, horizons=[6.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "Sex"}, r"has no 'Sex' \(is 'sex' meant to be 'Sex'\?\)"),
        ({"by": {"a": [1, 2]}}, r"one value for each of the 600 subjects; 'a' has 2"),
        ({"by": {"id": np.arange(600).astype(str)}}, "at most 50 different values; 'id' has 600"),
        ({"cuts": {"x": [0.0]}}, r"\['x'\] are not. Name them in by"),
        ({"by": "sex", "cuts": {"sex": [1]}}, "'sex' holds text"),
        ({"horizons": [99.0]}, "within the follow-up"),
        ({"landmark": [1.0, 2.0]}, "has one landmark"),
    ],
)
def test_what_cannot_be_grouped_or_scored_is_refused(settings, message):
    with pytest.raises(DataError, match=message):
        validate(EST, X[["x", "sex"]], Y, **{**SETTINGS, **settings})


def test_where_nothing_can_be_scored_it_is_refused_with_the_way_out():
    entry = np.linspace(50, 80, len(X))
    by_age = Y.assign(entry=entry, duration=entry + Y["duration"])
    with pytest.raises(DataError, match=r"nothing can be scored here.*landmark=s\.") as refused:
        validate(EST, X.drop(columns="hospital"), by_age, horizons=[75.0])
    assert refused.value.in_command.endswith("Say --landmark TIME.")


def test_one_group_that_is_too_small_is_told_of_in_the_singular():
    hospital = X["hospital"].where(X["hospital"] != 6, 1)
    with pytest.warns(DataWarning, match="; 1 group is not scored .*: hospital = 7[.]"):
        validate(EST, X.assign(hospital=hospital), Y, horizons=[HORIZON], centre="hospital")
