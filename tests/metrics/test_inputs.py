import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning, SettingError
from survtrace.metrics import (
    brier_score,
    brier_score_at,
    censoring_survival,
    centre_spread,
    concordance_paper,
    mean_incidence,
    net_benefit,
    observed_expected_ratio,
)
from survtrace.metrics.inputs import TOLERANCE, pick_cause, read_horizon, read_times
from survtrace.tables.outcome.outcome import Outcome, Surv, read_outcome

EVENT, DURATION = [1, 0, 1], [1.0, 2.0, 3.0]
Y_OF_TWO = {"event": [1, 0], "duration": [1.0, 2.0]}


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_arrays(EVENT, DURATION),
        {"event": EVENT, "time": DURATION},
        np.array([(True, 1.0), (False, 2.0), (True, 3.0)], dtype=[("status", "?"), ("days", "f8")]),
        read_outcome({"event": EVENT, "duration": DURATION}),
    ],
)
def test_scores_accept_every_form_of_outcome(y):
    assert concordance_paper(y, [3.0, 2.0, 1.0]) == 1


def test_the_only_cause_need_not_be_named():
    assert pick_cause(read_outcome({"event": ["death", "censored"], "duration": [1, 2]})) == 1


def test_a_declared_cause_may_be_absent_from_these_subjects():
    outcome = Outcome(np.array([1.0]), np.array([1]), ("death", "relapse"))
    assert pick_cause(outcome, "relapse") == 2


def test_one_time_may_be_a_plain_number():
    np.testing.assert_array_equal(read_times(2), [2.0])


def test_no_horizon_is_infinite():
    assert read_horizon(None) == np.inf


def test_a_horizon_is_one_number():
    for horizon in ("5 years", [1.0], 0, -1, np.nan):
        with pytest.raises(DataError, match="horizon must"):
            read_horizon(horizon)


def test_a_score_of_nobody_is_refused():
    with pytest.raises(DataError, match="needs at least one subject; y has none"):
        mean_incidence({"event": [], "duration": []}, [], 1.0)


def test_where_all_are_censored_no_cause_is_asked_for():
    with pytest.raises(DataError, match="all 2 subjects are censored"):
        pick_cause(read_outcome({"event": [0, 0], "duration": [1, 2]}), "death")


def test_predictions_with_labels_are_taken_in_the_order_of_the_outcome():
    y = pd.DataFrame({"event": EVENT, "duration": DURATION}, index=list("abc"))
    incidence = pd.Series([0.9, 0.2, 0.5], index=list("abc"))
    plain = brier_score_at(y, incidence.to_numpy(), 2.5)
    assert brier_score_at(y, incidence, 2.5) == plain
    turned = incidence[::-1]
    with pytest.warns(DataWarning, match="incidence is taken in the order of y"):
        assert brier_score_at(y, turned, 2.5) == plain
    with pytest.warns(DataWarning, match="estimate is taken in the order of y"):
        assert concordance_paper(y, turned) == concordance_paper(y, incidence)
    with pytest.raises(DataError, match="1 of 3 labels of y are not among those of incidence"):
        brier_score_at(y, incidence.set_axis(list("abd")), 2.5)


def test_probabilities_may_be_off_by_rounding_and_no_more():
    y = {"event": EVENT, "duration": DURATION}
    brier_score_at(y, [1 + 1e-9, -1e-9, 0.5], 2.5)
    for wrong in (1 + 1e-6, -1e-6):
        with pytest.raises(DataError, match=r"incidence must lie within \[0, 1\]"):
            brier_score_at(y, [wrong, 0.5, 0.5], 2.5)


@pytest.mark.parametrize("time", [0, -1.0, np.nan, np.inf, [5.0, 6.0], "soon", None])
def test_a_score_at_one_time_needs_a_time_above_0(time):
    for score in (brier_score_at, observed_expected_ratio):
        with pytest.raises(DataError, match="the time to score at must"):
            score(Y_OF_TWO, [0.5, 0.2], time)
    with pytest.raises(DataError, match="the time to score at must"):
        net_benefit(Y_OF_TWO, [0.5, 0.2], time, [0.1])


@pytest.mark.parametrize("floor", [2, 0, -1, 1, np.nan, "small"])
def test_the_floor_of_the_censoring_survival_is_a_share(floor):
    with pytest.raises(SettingError, match="floor must be a number above 0 and below 1"):
        censoring_survival(Y_OF_TWO, floor=floor)


def test_a_centre_without_an_error_is_not_left_out_in_silence():
    with pytest.raises(DataError, match=r"errors must be above 0, .* 1 of 3 .*entry 1"):
        centre_spread([0.1, 0.2, 0.3], [0.1, 0.0, 0.1])


def test_a_probability_off_by_just_the_tolerance_is_taken():
    y = {"event": EVENT, "duration": DURATION}
    assert np.isfinite(brier_score_at(y, [1 + TOLERANCE, -TOLERANCE, 0.5], 2.5))


def test_of_curves_the_first_subject_with_an_impossible_value_is_named():
    incidence = [[0.1, 0.2], [0.1, 0.2], [1.5, 0.2]]
    with pytest.raises(DataError, match=r"1 of 6 values do not \(first: row 2, 1\.5\)"):
        brier_score({"event": EVENT, "duration": DURATION}, incidence, [1.5, 2.5])
