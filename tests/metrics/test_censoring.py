import pickle

import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    CensoringSurvival,
    auc,
    auc_at,
    brier_score,
    brier_score_at,
    brier_score_survival,
    censoring_survival,
    concordance_cause_specific,
    concordance_paper,
    d_calibration_incidence,
    integrated_brier_score,
    integrated_brier_score_survival,
    mean_incidence,
)
from survtrace.metrics.censoring import (
    UNRELATED,
    Part,
    Weights,
    _variance_of_count,
    read_weights,
    stood_for,
)
from survtrace.tables.outcome.outcome import Outcome, read_outcome

TRAIN = {"event": [1, 0, 1, 0, 0], "duration": [1.0, 2.0, 2.0, 3.0, 4.0]}


def test_of_tied_times_the_event_comes_first():
    np.testing.assert_allclose(censoring_survival(TRAIN).values, [1, 2 / 3, 1 / 3, 0])


def test_other_causes_count_as_censored_on_request():
    y = {"event": [1, 2, 1], "duration": [1.0, 2.0, 3.0]}
    np.testing.assert_array_equal(censoring_survival(y).values, [1, 1, 1])
    np.testing.assert_array_equal(censoring_survival(y, cause=1).values, [1, 0.5, 0.5])


def test_without_censoring_it_is_one_and_unknown_after_the_longest_duration():
    G = censoring_survival({"event": [1, 1], "duration": [1.0, 5.0]})
    np.testing.assert_array_equal(G.at([0, 5]), [1, 1])
    assert G.last_usable == 5.0
    np.testing.assert_array_equal(G.inverse([5.0, 5.1]), [1, np.nan])


def test_the_last_usable_time_is_just_before_it_falls_below_the_floor():
    G = censoring_survival(TRAIN, floor=0.5)
    assert G.last_usable == np.nextafter(3.0, 0)
    np.testing.assert_allclose(G.inverse([2.999, 3.0]), [1.5, np.nan])


def test_it_divides_by_left_limits_too():
    G = censoring_survival(TRAIN)
    np.testing.assert_allclose(G.inverse_before([2.0, 3.0]), [1.0, 1.5])


def test_it_can_be_stored_as_plain_arrays():
    G = censoring_survival(TRAIN, floor=0.4)
    again = CensoringSurvival(np.array(G.times.tolist()), np.array(G.values.tolist()), floor=0.4)
    assert again.last_usable == G.last_usable
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(G)).at([1, 3]), G.at([1, 3]))


TEST = {"event": [1, 1, 0, 1, 1], "duration": [1.0, 2.5, 3.5, 6.0, 7.0]}
ESTIMATE = [0.9, 0.4, 0.5, 0.3, 0.1]


@pytest.mark.parametrize("score", [concordance_paper, concordance_cause_specific])
def test_events_beyond_training_follow_up_truncate_a_concordance_with_one_warning(score):
    with pytest.warns(DataWarning, match="2 of 4 events lie; the score is truncated") as seen:
        truncated = score(TEST, ESTIMATE, y_train=TRAIN)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert truncated == score(TEST, ESTIMATE, horizon=3.9, y_train=TRAIN)


@pytest.mark.parametrize("score", [brier_score, auc])
def test_times_beyond_training_follow_up_are_nan_with_one_warning(score):
    prediction = np.column_stack([ESTIMATE] * 3)
    times = [1.0, 2.0, 5.0]
    with pytest.warns(DataWarning, match="1 of 3 times lie and 2 of 5 subjects") as seen:
        values = score(TEST, prediction, times, y_train=TRAIN)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(np.isnan(values), [False, False, True])


def test_an_integral_ends_where_the_censoring_survival_does():
    prediction = np.column_stack([ESTIMATE] * 4)
    with pytest.warns(DataWarning, match="the integral ends there") as seen:
        truncated = integrated_brier_score(TEST, prediction, [1, 2, 5, 6], y_train=TRAIN)
    assert len(seen) == 1
    assert truncated == integrated_brier_score(TEST, prediction[:, :2], [1, 2], y_train=TRAIN)


def test_an_integral_with_fewer_than_two_times_left_is_nan():
    prediction = np.column_stack([ESTIMATE] * 2)
    with pytest.warns(DataWarning, match="1 of 2 times"):
        assert np.isnan(integrated_brier_score(TEST, prediction, [1, 5], y_train=TRAIN))


def test_a_floor_of_ones_own_is_respected():
    G = censoring_survival(TRAIN, floor=0.5)
    with pytest.warns(DataWarning, match=r"below 0\.5 or unknown after time 3"):
        brier_score(TEST, ESTIMATE, 3.0, y_train=G)


def test_with_late_entry_too():
    y = Outcome(np.array([2.0, 3.0]), np.array([0, 1]), (1,), entry=np.array([0.0, 1.0]))
    assert censoring_survival(y, floor=0.5).floor == 0.5


Y = read_outcome({"event": [1, 0, 1, 0, 1, 1], "duration": [1.0, 1.0, 2.0, 2.0, 2.0, 3.0]})
HALF, CURVES = np.full(6, 0.5), np.full((6, 2), 0.5)
SCORES = [
    (auc, (HALF, [2.0])),
    (auc_at, (HALF, 2.0)),
    (brier_score, (HALF, [2.0])),
    (brier_score_at, (HALF, 2.0)),
    (brier_score_survival, (HALF, [2.0])),
    (concordance_paper, (HALF,)),
    (d_calibration_incidence, (HALF, HALF, 2.0)),
    (integrated_brier_score, (CURVES, [1.0, 2.0])),
    (integrated_brier_score_survival, (CURVES, [1.0, 2.0])),
]


def test_an_event_weighs_by_the_chance_of_being_followed_until_just_before_it():
    np.testing.assert_allclose(read_weights(None, Y).by(2.0), [1, 0, 1.25, 0, 1.25, 2.5])


def test_scikit_survival_also_counts_those_censored_at_the_time_of_the_event():
    weights = read_weights(None, Y, "scikit-survival")
    np.testing.assert_allclose(weights.by(2.0), [1.25, 0, 2.5, 0, 2.5, 2.5])


def test_both_rules_agree_where_no_event_is_tied_with_a_censoring():
    y = read_outcome({"event": [1, 0, 1, 1], "duration": [1.0, 2.0, 3.0, 4.0]})
    np.testing.assert_array_equal(
        read_weights(None, y).by(3.0), read_weights(None, y, "scikit-survival").by(3.0)
    )


@pytest.mark.parametrize(
    ("score", "arguments"), SCORES, ids=lambda each: getattr(each, "__name__", "")
)
def test_every_weighted_score_takes_one_of_two_rules(score, arguments):
    with pytest.raises(SettingError, match=r"ties must be one of .*'left-limit'.*got 'breslow'"):
        score(Y, *arguments, ties="breslow")


@pytest.mark.parametrize("name", ["brier_score_at", "integrated_brier_score", "concordance_paper"])
def test_weights_of_training_subjects_add_an_error_that_falls_with_their_number(name):
    rng = np.random.default_rng(0)
    latent, censoring = rng.exponential(1, 300), rng.exponential(1, 300)
    y = {"event": (latent <= censoring).astype(int), "duration": np.minimum(latent, censoring)}
    twice = {key: np.tile(values, 2) for key, values in y.items()}
    noisy = rng.normal(-latent)
    known = censoring_survival(y)
    exact = CensoringSurvival(known.times, known.values)

    def error(y_train):
        if name == "brier_score_at":
            return brier_score_at(y, np.full(300, 0.3), 1.0, y_train=y_train).standard_error
        if name == "concordance_paper":
            return concordance_paper(y, noisy, 1.0, y_train=y_train).standard_error
        curves = np.full((300, 2), 0.3)
        return integrated_brier_score(y, curves, [0.5, 1.0], y_train=y_train).standard_error

    few, many, none = error(known), error(censoring_survival(twice)), error(exact)
    assert few > many > none
    assert few**2 - none**2 == pytest.approx(2 * (many**2 - none**2), rel=1e-6)


def test_the_training_outcome_may_be_that_of_the_scored_subjects():
    other_way = read_weights({"event": Y.event.copy(), "duration": Y.duration.copy()}, Y)
    assert other_way.from_scored
    assert not read_weights(Y.take(np.arange(5)), Y).from_scored


def test_the_noise_of_a_mean_weight_cancels_that_of_the_subjects():
    """Mean weights are 1 whoever is drawn, so nobody has an influence on them."""
    weights = read_weights(None, Y)
    each = weights.by(2.0)
    ended = Y.duration <= 2.0
    influence, _ = weights.noise(
        Part(each * ended / 6, Y.duration, True), Part([(each * ~ended).sum() / 6], [2.0], False)
    )
    np.testing.assert_allclose((each - 1) / 6 + influence, 0, atol=1e-15)


def late(n=60, seed=0, earliest=0.0):
    """Durations in halves; a third enters late, tied with events and censorings."""
    rng = np.random.default_rng(seed)
    entry = earliest + np.where(np.arange(n) % 3, 0, rng.integers(1, 4, n) / 2)
    duration = entry + rng.integers(1, 8, n) / 2
    return Outcome(duration, rng.integers(0, 3, n), (1, 2), entry=entry)


def test_the_chance_to_be_observed_rises_with_entries_and_falls_with_censorings():
    y = Outcome(
        np.array([1.0, 2.0, 3.0, 3.0]), np.array([0, 1, 0, 1]), (1,), entry=np.array([0, 0, 0, 1.0])
    )
    chance = censoring_survival(y)
    np.testing.assert_array_equal(chance.times, [0, 1, 2, 3])
    np.testing.assert_array_equal(chance.entered, [3, 1, 0, 0])
    # at 1 one of three leaves and another comes; at 2 an event; at 3 one of one leaves
    np.testing.assert_allclose(chance.values, [1, 1, 1, 0])
    np.testing.assert_array_equal(chance.n_observed, [3, 3, 2, 0])


def test_the_chance_is_relative_to_its_highest_and_known_from_the_first_entry_on():
    chance = censoring_survival(late(earliest=40.0))
    assert chance.values.max() == 1
    assert chance.times[0] == 40


def test_who_enters_after_a_time_has_no_weight_then():
    y = late()
    weights = read_weights(None, y).by(1.0)
    np.testing.assert_array_equal(weights[(y.entry > 1.0)], 0)
    followed = (y.entry <= 1.0) & (y.duration > 1.0)
    assert len(np.unique(weights[followed])) == 1


REFUSED = {
    "a Brier score": lambda y, p: brier_score(y, p[:, None], [2.0], cause=1),
    "an area": lambda y, p: auc(y, p, [2.0], cause=1),
    "a concordance": lambda y, p: concordance_paper(y, p, cause=1),
    "a concordance counts": lambda y, p: concordance_cause_specific(y, p, cause=1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_early_event_with_few_at_risk_is_refused_with_the_way_out(name):
    y = late()
    first = Outcome(np.array([0.5]), np.array([1]), (1, 2), entry=np.array([0.0]))
    y = Outcome(
        np.append(y.duration + 1, first.duration),
        np.append(y.event, first.event),
        (1, 2),
        entry=np.append(y.entry + 1, first.entry),
    )
    with pytest.raises(DataError, match=rf"{name}.*at 0.5 there are 1, .*survtrace.landmark"):
        REFUSED[name](y, np.linspace(0, 1, len(y)))


def one_after_the_other(n_first, n_second):
    parts = [late(n_first), late(n_second, earliest=30.0)]
    names = ("duration", "event", "entry")
    duration, event, entry = (
        np.concatenate([getattr(each, name) for each in parts]) for name in names
    )
    return Outcome(duration, event, (1, 2), entry=entry), np.full((n_first + n_second, 1), 0.5)


def test_scores_after_a_time_with_nobody_left_are_refused_if_most_enter_later():
    y, half = one_after_the_other(60, 90)
    assert brier_score(y, half, [2.0], cause=1) == pytest.approx(0.25)
    with pytest.raises(DataError, match=r"at 4 there are 7, .*survtrace.landmark"):
        brier_score(y, half, [32.0], cause=1)


def test_scores_after_a_time_with_nobody_left_are_nan_if_few_enter_later():
    y, half = one_after_the_other(90, 12)
    assert brier_score(y, half, [2.0], cause=1) == pytest.approx(0.25)
    with pytest.warns(DataWarning, match="the score there is NaN"):
        assert np.isnan(brier_score(y, half, [32.0], cause=1))


def test_a_horizon_before_the_first_entry_is_refused():
    with pytest.raises(DataError, match="at 20 there are 0"):
        brier_score(late(earliest=40.0), np.full((60, 1), 0.5), [20.0], cause=1)


def test_weights_of_late_entries_are_not_those_of_ordinary_tables():
    y = late()
    ordinary = Outcome(y.duration, y.event, y.causes)
    half = np.full((60, 1), 0.5)
    with pytest.raises(DataError, match="scored enter late, those of y_train are observed from 0"):
        brier_score(y, half, [2.0], cause=1, y_train=ordinary)
    with pytest.raises(DataError, match="scored are observed from 0 on, those of y_train enter"):
        brier_score(ordinary, half, [2.0], cause=1, y_train=censoring_survival(y))
    assert brier_score(y, half, [2.0], cause=1, y_train=late(seed=1)) == pytest.approx(0.25)


def test_ties_of_scikit_survival_have_no_meaning_with_late_entry():
    with pytest.raises(SettingError, match="no meaning where subjects enter late"):
        brier_score(late(), np.full((60, 1), 0.5), [2.0], cause=1, ties="scikit-survival")


def test_stored_numbers_of_entries_give_the_same_errors():
    y, train = late(), late(seed=1, n=90)
    chance = censoring_survival(train)
    stored = CensoringSurvival(
        chance.times, chance.values, at_risk=chance.at_risk, entered=chance.entered
    )
    scores = [
        brier_score_at(y, np.linspace(0, 1, 60), 2.0, cause=1, y_train=g) for g in (train, stored)
    ]
    assert scores[0].standard_error == scores[1].standard_error
    assert len(scores[0].independent) == len(chance.times)
    known = CensoringSurvival(chance.times, chance.values, entered=chance.entered)
    score = brier_score_at(y, np.linspace(0, 1, 60), 2.0, cause=1, y_train=known)
    assert score.standard_error < scores[0].standard_error


def test_who_leaves_and_who_enters_at_one_time_both_vary():
    """At 2 two of six leave, by chance, and one enters, as one of a stream."""
    y = {
        "event": [0, 0, 1, 1, 1, 1, 1],
        "duration": [2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0],
        "entry": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0],
    }
    G = censoring_survival(y)
    left = G.at_risk * (1 - G.hazard)
    variance = dict(zip(G.times.tolist(), _variance_of_count(G, G.hazard, left), strict=True))
    assert variance[2.0] == pytest.approx(2 * (1 - 2 / 6) + 1)


@pytest.mark.parametrize("score", [brier_score, auc, concordance_cause_specific])
def test_start_stop_rows_are_refused_with_the_way_out(score):
    rows = Outcome(
        np.array([1.0, 4.0, 3.0]),
        np.array([0, 1, 0]),
        (1,),
        entry=np.array([0.0, 1.0, 0.0]),
        id=np.array([0, 0, 1]),
    )
    with pytest.raises(DataError, match=r"3 start-stop rows of 2 subjects.*survtrace.landmark"):
        score(rows, np.full((3, 1), 0.5) if score is brier_score else np.ones(3) / 2, [2.0])


def test_where_few_are_at_risk_early_the_command_is_told_its_own_way_out():
    entry = np.r_[np.zeros(3), np.full(30, 5.0)]
    duration = np.r_[1.0, 2.0, 3.0, np.linspace(6, 9, 30)]
    y = {"event": np.ones(33, dtype=int), "duration": duration, "entry": entry}
    with pytest.raises(DataError, match="10 or more subjects at risk at each early") as raised:
        concordance_cause_specific(y, -duration, horizon=8, y_train=y)
    assert "say --landmark S" in raised.value.in_command


def test_weights_of_the_scored_and_weights_taken_as_known_have_no_independent_errors():
    y = read_outcome({"event": [1, 0, 1, 0, 1], "duration": [1.0, 2.0, 3.0, 4.0, 5.0]})
    own = censoring_survival(y)
    known = CensoringSurvival(own.times, own.values)
    for weights in (read_weights(None, y), read_weights(known, y)):
        assert len(weights.noise(Part([0.3], [2.5], False))[1]) == 0
    assert not read_weights(known, y).noise(Part([0.3], [2.5], False))[0].any()


@pytest.mark.parametrize("most_enter", [4.0, 4.5])
def test_scores_across_a_time_with_nobody_left_are_refused_however_many_were_at_risk(most_enter):
    """Twenty are followed until 3 and thirty others from 4 on, of whom one may be the first."""
    entry, duration = (
        np.repeat([0.0, 4.0, most_enter], [20, 1, 29]),
        np.repeat([1.0, 3.0, 5.0, 9.0], [5, 15, 10, 20]),
    )
    y = Outcome(duration, np.repeat([1, 0, 1, 0], [5, 15, 10, 20]), (1,), entry=entry)
    half = np.full((50, 1), 0.5)
    assert brier_score(y, half, [2.0]) == pytest.approx(0.25)
    with pytest.raises(DataError, match=r"at 5 there are 30, .*survtrace.landmark"):
        brier_score(y, half, [6.0])


def test_influences_where_subjects_enter_late_are_what_leaving_one_out_says():
    """Each entry and each censoring changes the weights of all, as does who is at risk."""
    y, predicted = late(300), np.random.default_rng(1).random(300)
    score = brier_score_at(y, predicted, 2.0, cause=1)
    rows = [np.arange(300) != i for i in range(300)]
    others = np.array([float(brier_score_at(y.take(k), predicted[k], 2.0, cause=1)) for k in rows])
    np.testing.assert_allclose(score.influence, others.mean() - others, atol=2e-5)


def test_a_censoring_at_which_few_are_at_risk_early_does_no_harm():
    """Three are observed from 0 on, of whom one is censored; 40 enter before the first event."""
    entry, duration = np.repeat([0.0, 1.0], [3, 40]), np.append(0.5, np.linspace(2, 9, 42))
    event = np.append(0, np.ones(42, dtype=int))
    half = np.full((43, 1), 0.5)
    y = Outcome(duration, event, (1,), entry=entry)
    assert brier_score(y, half, [3.0]) == pytest.approx(0.25)
    had_it = Outcome(duration, np.ones(43, dtype=int), (1,), entry=entry)
    with pytest.raises(DataError, match=r"at 0.5 there are 3"):
        brier_score(had_it, half, [3.0])


def test_who_enters_after_nobody_was_left_has_next_to_no_chance_whoever_leaves_later():
    """By hand: one of three leaves at 1 and two at 2; of the two that enter at 4 one at 5."""
    entry, duration = np.array([0.0, 0, 0, 4, 4]), np.array([1.0, 2, 2, 5, 6])
    chance = censoring_survival(Outcome(duration, np.array([0, 0, 0, 0, 1]), (1,), entry=entry))
    np.testing.assert_array_equal(chance.times, [0, 1, 2, 4, 5, 6])
    later = [UNRELATED, UNRELATED / 2, UNRELATED / 2]
    np.testing.assert_allclose(chance.values, [1, 2 / 3, 0, *later], rtol=1e-12)
    assert chance.last_usable == np.nextafter(2.0, 0)


def test_late_scores_are_nan_where_all_who_have_entered_were_censored():
    """Weights come from others; those scored by them have a sum of 0 at 2."""
    entry = np.tile([0.0, 0.5], 20)
    others = Outcome(np.linspace(1.0, 6.0, 40), np.arange(40) % 2, (1,), entry=entry)
    scored = Outcome(np.full(12, 1.5), np.zeros(12, dtype=int), (1,), entry=np.tile([0, 0.5], 6))
    half, weights = np.full(12, 0.5), {"y_train": others}
    with pytest.warns(DataWarning, match=r"at 1 of 1 times \(first: 2\) nobody .* is NaN"):
        assert np.isnan(brier_score_at(scored, half, 2.0, **weights))
    with pytest.warns(DataWarning, match="all who have were censored; the mean is NaN"):
        assert np.isnan(mean_incidence(scored, half, 2.0, **weights))
    with pytest.warns(DataWarning, match="all who have were censored; the test is NaN"):
        assert np.isnan(d_calibration_incidence(scored, half, half, 2.0, **weights).p_value)


def test_times_that_nobody_stands_for_are_found_without_weighing_all_at_each_time(monkeypatch):
    """Of a million subjects, weighing them at each time took as long as the score itself."""
    entry, duration = np.array([1.0, 1.5, 5.0, 5.5]), np.array([2.0, 3.0, 6.0, 7.0])
    y = Outcome(duration, np.array([0, 0, 1, 0]), (1,), entry=entry)
    others = {"event": np.ones(9), "duration": np.arange(10.0, 19.0), "entry": np.arange(9.0)}
    times, weights = np.arange(0.5, 6.5), read_weights(others, y)
    summed = [bool(weights.by(time).sum() > 0) for time in times]
    monkeypatch.delattr(Weights, "by")
    with pytest.warns(DataWarning, match=r"at 3 of 6 times \(first: 0\.5\) nobody has entered"):
        found = stood_for(times, np.ones(6, dtype=bool), weights, "so")
    assert found.tolist() == summed == [False, True, True, False, False, True]
