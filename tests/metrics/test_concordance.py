from fractions import Fraction

import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import (
    censoring_survival,
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
)
from survtrace.tables.outcome.outcome import Outcome

Y = {"event": [1, 2, 0, 1, 2], "duration": [1.0, 2.0, 3.0, 4.0, 5.0]}
ESTIMATE = np.array([0.9, 0.1, 0.5, 0.6, 0.2])
SCORES = [concordance_paper, concordance_cause_specific]
BOTH = pytest.mark.parametrize("score", SCORES)


@BOTH
def test_a_perfect_ranking_scores_one(score):
    assert score(Y, ESTIMATE, cause=1) == 1


def test_only_the_cause_specific_score_asks_those_with_another_event_to_rank_low():
    ranked_high = [0.9, 1.0, 0.5, 0.6, 0.2]
    assert concordance_paper(Y, ranked_high, cause=1) < 1
    after_the_first = {"event": [2, 1, 0], "duration": [1.0, 2.0, 3.0]}
    assert concordance_paper(after_the_first, [0.9, 0.5, 0.1], cause=1) == 1
    assert concordance_cause_specific(after_the_first, [0.9, 0.5, 0.1], cause=1) == 0.5


def test_both_scores_agree_for_one_cause():
    y = {"event": [1, 0, 1, 0, 0, 1], "duration": [1.0, 2.0, 3.0, 3.0, 4.0, 5.0]}
    estimate = [0.3, 0.9, 0.5, 0.2, 0.6, 0.1]
    paper, cause_specific = (score(y, estimate) for score in SCORES)
    assert paper == pytest.approx(cause_specific)


def test_the_horizon_is_left_out_by_the_paper_and_included_by_the_cause_specific_score():
    y = {"event": [1, 1, 1], "duration": [1.0, 2.0, 3.0]}
    wrong_at_two = [0.9, 0.1, 0.2]
    assert concordance_paper(y, wrong_at_two, horizon=2.0) == 1
    assert concordance_cause_specific(y, wrong_at_two, horizon=2.0) == pytest.approx(2 / 3)


def test_other_causes_are_censoring_in_the_weights_of_the_paper():
    expected = concordance_paper(Y, ESTIMATE[::-1], cause=1, y_train=Y)
    as_given = censoring_survival(Y, cause=1)
    assert concordance_paper(Y, ESTIMATE[::-1], cause=1, y_train=as_given) == expected


@BOTH
def test_a_horizon_before_the_first_event_is_nan_with_a_warning(score):
    with pytest.warns(DataWarning, match="no pair of subjects can be compared.*horizon 0.5"):
        assert np.isnan(score(Y, ESTIMATE, 0.5, cause=1))


@BOTH
def test_one_subject_makes_no_pair(score):
    with pytest.warns(DataWarning, match="no pair of subjects"):
        assert np.isnan(score({"event": [1], "duration": [1.0]}, [0.3]))


@BOTH
def test_estimates_in_single_precision_are_welcome(score):
    assert score(Y, ESTIMATE.astype("float32"), cause=1) == 1


@BOTH
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2],), "estimate has 2 rows and y has 5"),
        (([0.1, np.nan, 0.3, 0.4, np.inf],), "finite; 2 of 5 values do not .first: row 1, nan"),
        ((np.ones((5, 2)),), r"one number for each subject; got shape \(5, 2\)"),
        ((["a"] * 5,), "estimate must hold numbers"),
        ((ESTIMATE, -1.0), r"horizon must be a time above 0; got -1\.0"),
        ((ESTIMATE, np.nan), "horizon must be a time above 0; got nan"),
    ],
)
def test_bad_input_is_refused(score, arguments, message):
    with pytest.raises(DataError, match=message):
        score(Y, *arguments, cause=1)


@BOTH
def test_the_cause_must_be_named_if_there_are_several(score):
    with pytest.raises(DataError, match=r"told which; the outcome has \[1, 2\].*cause=1"):
        score(Y, ESTIMATE)
    with pytest.raises(DataError, match="got 7"):
        score(Y, ESTIMATE, cause=7)


@BOTH
def test_an_outcome_without_events_is_refused(score):
    with pytest.raises(DataError, match="all 2 subjects are censored"):
        score({"event": [0, 0], "duration": [1, 2]}, [0.1, 0.2])


def test_antolini_compares_at_the_time_of_each_event():
    y = {"event": [1, 1, 1], "duration": [1.0, 2.0, 3.0]}
    crossing = [[0.9, 0.9, 1.0], [0.1, 0.5, 1.0], [0.2, 0.3, 1.0]]
    assert concordance_antolini(y, crossing, [1.0, 2.0, 3.0]) == 1
    assert concordance_antolini(y, np.array(crossing)[:, :1], [1.0]) == pytest.approx(2 / 3)


def test_antolini_keeps_the_last_value_after_the_last_time():
    y = {"event": [1, 1], "duration": [8.0, 9.0]}
    assert concordance_antolini(y, [[0.3, 0.9], [0.5, 0.4]], [1.0, 2.0]) == 1


def test_antolini_warns_of_events_before_its_first_time():
    y = {"event": [1, 1], "duration": [1.0, 3.0]}
    with pytest.warns(DataWarning, match="1 events come before the first of times, 2"):
        assert concordance_antolini(y, [[0.9], [0.1]], [2.0]) == 0.5


def test_antolini_refuses_unsorted_times_and_impossible_incidence():
    with pytest.raises(DataError, match=r"times must increase.*entry 1"):
        concordance_antolini(Y, np.zeros((5, 2)), [2.0, 1.0], cause=1)
    with pytest.raises(DataError, match=r"incidence must lie within \[0, 1\]; 1 of 5.*row 0, 1.2"):
        concordance_antolini(Y, [[1.2], [0], [0], [0], [0]], [1.0], cause=1)


def test_a_horizon_may_be_any_number():
    with pytest.warns(DataWarning, match="usable event up to the horizon 0.333333"):
        score = concordance_cause_specific(
            {"event": [1, 0], "duration": [1.0, 2.0]}, [0.2, 0.1], Fraction(1, 3)
        )
    assert np.isnan(score)


@BOTH
def test_only_events_up_to_the_last_case_need_many_at_risk_in_any_unit_of_time(score):
    """Five are at risk at 5, when another cause strikes, before sixty more enter at 6."""
    entry = np.repeat([0.0, 6.0], [40, 60])
    first = np.concatenate([np.linspace(1, 2, 12), np.full(23, 4.0), [5.0, 7.0, 7.0, 7.0, 7.0]])
    duration = np.concatenate([first, np.linspace(7, 9, 60)])
    event = np.repeat([1, 0, 2, 0], [12, 23, 1, 64])
    estimate, found = np.linspace(1, 0, 100) ** 2, []
    for unit in (1.0, 0.1, 365.0):
        y = Outcome(unit * duration, event, (1, 2), entry=unit * entry)
        found.append(score(y, estimate, 3.0 * unit, cause=1))
    assert found == pytest.approx([1, 1, 1])
