import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import StepFunction, aalen_johansen, kaplan_meier, nelson_aalen
from survtrace.metrics.event_table import event_table
from survtrace.metrics.inputs import joined
from survtrace.tables.outcome.outcome import Outcome, read_outcome

TIED = {"event": [1, 1, 0, 2, 0], "duration": [1.0, 1.0, 1.0, 2.0, 3.0]}


def test_a_step_function_includes_a_jump_at_its_time_and_leaves_it_out_just_before():
    curve = StepFunction(np.array([1.0, 3.0]), np.array([0.6, 0.2]), initial=1.0)
    np.testing.assert_array_equal(curve.at([0, 1, 2, 3, 9]), [1, 0.6, 0.6, 0.2, 0.2])
    np.testing.assert_array_equal(curve.before([0, 1, 2, 3, 9]), [1, 1, 0.6, 0.6, 0.2])


def test_a_step_function_of_several_curves_keeps_their_axis():
    curves = StepFunction(np.array([1.0]), np.array([[0.3], [0.4]]))
    assert curves.at([0.5, 1.0, 2.0]).shape == (2, 3)
    np.testing.assert_array_equal(curves.at(5.0), [0.3, 0.4])


def test_the_event_table_counts_ties_once():
    table = event_table(read_outcome(TIED))
    np.testing.assert_array_equal(table.times, [1, 2, 3])
    np.testing.assert_array_equal(table.at_risk, [5, 2, 1])
    np.testing.assert_array_equal(table.events, [[2, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(table.censored, [1, 0, 1])


def test_curves_of_tied_events_match_hand_calculation():
    np.testing.assert_allclose(kaplan_meier(TIED).values, [0.6, 0.3, 0.3])
    np.testing.assert_allclose(nelson_aalen(TIED).values, [[0.4, 0.4, 0.4], [0, 0.5, 0.5]])
    np.testing.assert_allclose(aalen_johansen(TIED).values, [[0.4, 0.4, 0.4], [0, 0.3, 0.3]])


def test_without_events_survival_stays_one():
    y = {"event": [0, 0], "duration": [1.0, 2.0]}
    np.testing.assert_array_equal(kaplan_meier(y).values, [1, 1])
    assert aalen_johansen(y).values.shape == (0, 2)


def test_text_causes_are_asked_for_by_label():
    y = {"event": ["relapse", "censored", "death"], "duration": [1.0, 2.0, 3.0]}
    assert aalen_johansen(y, cause="death").at(3.0) == pytest.approx(2 / 3)


def test_an_absent_cause_is_refused():
    with pytest.raises(DataError, match=r"one of the labels \[1, 2\]; got 3"):
        aalen_johansen(TIED, cause=3)


def test_an_empty_outcome_is_refused():
    with pytest.raises(DataError, match="at least one subject; got none"):
        kaplan_meier({"event": np.array([], int), "duration": np.array([], float)})


def late(entry, duration, event, id=None, causes=(1,)):
    arrays = [np.array(duration, float), np.array(event)]
    id = None if id is None else np.array(id)
    return Outcome(*arrays, causes, entry=np.array(entry, float), id=id)


def test_who_enters_at_a_time_is_not_at_risk_then_and_who_leaves_is():
    table = event_table(late([0, 0, 1, 2], [1, 2, 2, 3], [1, 0, 1, 1]))
    np.testing.assert_array_equal(table.times, [0, 1, 2, 3])
    np.testing.assert_array_equal(table.at_risk, [0, 2, 2, 1])
    np.testing.assert_array_equal(table.entered, [2, 1, 1, 0])
    np.testing.assert_array_equal(table.censored, [0, 0, 1, 0])


def test_an_entry_of_zero_for_everybody_changes_nothing():
    y = read_outcome(TIED)
    zero = Outcome(y.duration, y.event, y.causes, entry=np.zeros(5))
    for curve in (kaplan_meier, nelson_aalen, aalen_johansen):
        np.testing.assert_array_equal(curve(zero).values, curve(y).values)
        np.testing.assert_array_equal(curve(zero).times, curve(y).times)


def test_rows_of_a_subject_that_touch_are_one_and_a_gap_is_not_at_risk():
    whole = late([0, 0], [4, 3], [1, 0])
    cut = late([0, 1, 0], [1, 4, 3], [0, 1, 0], id=[0, 0, 1])
    np.testing.assert_array_equal(event_table(cut).at_risk, event_table(whole).at_risk)
    gap = late([0, 2, 0], [1, 4, 3], [0, 1, 1], id=[0, 0, 1])
    np.testing.assert_array_equal(event_table(gap).times, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(event_table(gap).at_risk, [0, 2, 1, 2, 1])


def test_survival_that_falls_to_zero_before_all_have_entered_is_remarked_on():
    y = late([0, 2, 2], [1, 3, 4], [1, 1, 1])
    with pytest.warns(DataWarning, match="falls to 0 at 1, where all 1 at risk.* 2 subjects enter"):
        assert kaplan_meier(y).at(4.0) == 0
    with pytest.warns(DataWarning, match="falls to 0 at 1"):
        aalen_johansen(y)
    twice = late([0, 0, 2, 3], [1, 1, 3, 4], [1, 1, 1, 1])
    with pytest.warns(DataWarning, match="falls to 0 at 1, where all 2 at risk"):
        kaplan_meier(twice)


def test_curves_of_late_entry_match_hand_calculation():
    y = late([0, 0, 1, 1], [1, 3, 2, 4], [1, 2, 1, 0], causes=(1, 2))
    np.testing.assert_allclose(kaplan_meier(y).at([1, 2, 3]), [1 / 2, 1 / 3, 1 / 6])
    np.testing.assert_allclose(aalen_johansen(y).at(3), [2 / 3, 1 / 6])
    np.testing.assert_allclose(nelson_aalen(y).at(3), [1 / 2 + 1 / 3, 1 / 2])


CURVES = (kaplan_meier, nelson_aalen, aalen_johansen)


def random_outcome(n=60, n_causes=2, seed=0, censored=0.3):
    rng = np.random.default_rng(seed)
    event = np.where(rng.random(n) < censored, 0, rng.integers(1, n_causes + 1, n))
    return Outcome(rng.integers(1, 15, n).astype(float), event, tuple(range(1, n_causes + 1)))


def random_spells(n=60, seed=0):
    """Subjects of two causes that enter late, half of whom leave for a while and come back."""
    rng = np.random.default_rng(seed)
    entry = np.r_[np.zeros(20), rng.integers(0, 6, n - 20)]
    leaves, back = entry + rng.integers(1, 4, n), entry + rng.integers(5, 7, n)
    end, event, id = back + rng.integers(1, 9, n), rng.integers(0, 3, n), np.arange(n)
    away = id % 2 == 0
    rows = [
        (np.where(away, back, entry), end, event, id),
        (entry[away], leaves[away], np.zeros(away.sum(), int), id[away]),
    ]
    start, stop, event, id = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return late(start, stop, event, id, causes=(1, 2))


def influences(outcome, cause):
    """Of each subject on Aalen-Johansen at each time, by its recursion: shape (subject, time)."""
    rows, table = joined(outcome), event_table(outcome)
    subject = np.arange(len(rows)) if rows.id is None else rows.id
    entry = np.full(len(rows), -1.0) if rows.entry is None else rows.entry
    free, of_free, of_incidence, found = 1.0, 0.0, 0.0, []
    for m, time in enumerate(table.times):
        at_risk = (entry < time) & (rows.duration >= time)
        of_hazard = np.zeros((len(table.events), subject.max() + 1))
        hazard = table.events[:, m] / max(table.at_risk[m], 1)
        for k, each in enumerate(hazard):
            happens = (rows.duration == time) & (rows.event == k + 1)
            change = at_risk * (happens - each) / max(table.at_risk[m], 1)
            of_hazard[k] = np.bincount(subject, weights=change)
        of_incidence = of_incidence + of_free * hazard[cause - 1] + free * of_hazard[cause - 1]
        of_free = of_free * (1 - hazard.sum()) - free * of_hazard.sum(axis=0)
        free *= 1 - hazard.sum()
        found.append(of_incidence)
    return np.array(found).T


@pytest.mark.parametrize("outcome", [random_outcome(), random_outcome(14, 3), random_spells()])
def test_the_variance_of_aalen_johansen_is_the_sum_of_squared_influences(outcome):
    for cause in outcome.causes:
        each = influences(outcome, cause)
        np.testing.assert_allclose(each.sum(axis=0), 0, atol=1e-14)
        variance = aalen_johansen(outcome, cause).variance
        np.testing.assert_allclose(variance, (each**2).sum(axis=0), atol=1e-15, rtol=1e-11)


def test_variances_of_tied_events_match_hand_calculation():
    np.testing.assert_allclose(kaplan_meier(TIED).variance[:2], [0.6 * 0.4 / 5, 0.09 * 19 / 30])
    aalen = [[2 / 25, 2 / 25], [0, 1 / 4]]
    np.testing.assert_allclose(nelson_aalen(TIED).variance[:, :2], aalen)


def test_late_entry_of_a_subject_that_leaves_before_the_first_event_changes_no_variance():
    y = random_outcome()
    y = Outcome(y.duration + 1, y.event, y.causes)
    entry = np.append(np.zeros(len(y)), 0.25)
    more = Outcome(np.append(y.duration, 0.5), np.append(y.event, 0), y.causes, entry=entry)
    for curve in CURVES:
        np.testing.assert_allclose(curve(more).variance[..., 3:], curve(y).variance, atol=1e-15)


@pytest.mark.parametrize("curve", CURVES)
def test_twice_the_subjects_halve_the_variance(curve):
    y = random_outcome()
    twice = y.take(np.repeat(np.arange(len(y)), 2))
    np.testing.assert_allclose(curve(twice).variance, curve(y).variance / 2, atol=1e-16)


def test_without_censoring_variances_are_those_of_shares():
    y = random_outcome(censored=0.0)
    for curve in (kaplan_meier(y), aalen_johansen(y)):
        expected = curve.values * (1 - curve.values) / len(y)
        np.testing.assert_allclose(curve.variance, expected, atol=1e-16)


def test_the_incidence_of_the_only_cause_is_the_complement_of_survival_with_its_interval():
    y = random_outcome(n_causes=1)
    survival, incidence = kaplan_meier(y), aalen_johansen(y, cause=1)
    np.testing.assert_allclose(incidence.variance, survival.variance, atol=1e-16)
    for scales in ({}, {"scale": "plain"}):
        low, high = survival.interval(survival.times, **scales)
        complement = incidence.interval(survival.times, **scales)
        np.testing.assert_allclose(complement, [1 - high, 1 - low], atol=1e-14)


@pytest.mark.parametrize("curve", CURVES)
def test_a_cause_asked_for_has_the_variance_and_interval_it_has_among_all(curve):
    y, times = random_spells(), [1.0, 5.0, 9.0]
    if curve is not kaplan_meier:
        np.testing.assert_array_equal(curve(y, 2).variance, curve(y).variance[1])
        np.testing.assert_array_equal(
            curve(y, 2).interval(times)[0], curve(y).interval(times)[0][1]
        )


@pytest.mark.parametrize("curve", CURVES)
def test_rows_that_touch_have_the_variance_of_one_row(curve):
    whole = late([0, 0, 1, 0], [4, 3, 5, 6], [1, 0, 2, 1], causes=(1, 2))
    cut = late([0, 2, 0, 1, 0], [2, 4, 3, 5, 6], [0, 1, 0, 2, 1], [0, 0, 1, 2, 3], causes=(1, 2))
    np.testing.assert_array_equal(curve(cut).variance, curve(whole).variance)


@pytest.mark.parametrize("scale", [None, "plain", "log", "log-log", "cloglog"])
@pytest.mark.parametrize("curve", [kaplan_meier, aalen_johansen])
def test_an_interval_holds_the_value_within_the_bounds_and_widens_with_the_level(curve, scale):
    found = curve(random_outcome(14))
    value, inside = found.at(found.times), (found.values > 0) & (found.values < 1)
    narrow, wide = (found.interval(found.times, level, scale) for level in (0.5, 0.95))
    ends = [np.zeros(value.shape), wide[0], narrow[0], value, narrow[1], wide[1]]
    in_order = np.diff([*ends, np.ones(value.shape)], axis=0) >= 0
    assert in_order[:, inside].all()


def test_an_interval_of_a_cumulative_hazard_is_positive_and_symmetric_in_its_logarithm():
    hazard = nelson_aalen(random_outcome(), cause=1)
    low, high = hazard.interval(hazard.times)
    np.testing.assert_allclose(low * high, hazard.values**2)
    assert (hazard.interval(hazard.times, scale="plain")[0] >= 0).all()


def test_before_the_first_event_and_where_nobody_is_left_an_interval_is_unknown():
    y = {"event": [0, 1, 1], "duration": [1.0, 2.0, 3.0]}
    for curve in (kaplan_meier(y), aalen_johansen(y, cause=1)):
        ends = np.array(curve.interval([0.5, 1, 2, 3]))
        np.testing.assert_array_equal(np.isnan(ends), [[True, True, False, True]] * 2)
        np.testing.assert_allclose(curve.standard_error([0.5, 1, 3]), 0, atol=1e-15)


def test_a_curve_without_variance_has_no_interval():
    curve = StepFunction(np.array([1.0]), np.array([0.6]))
    with pytest.raises(DataError, match=r"needs a curve with a variance; this one has none\. Take"):
        curve.interval(1.0)


def test_an_unknown_scale_and_an_impossible_level_are_refused():
    with pytest.raises(SettingError, match=r"scale must be one of .*'cloglog'\); got 'logit'"):
        kaplan_meier(TIED).interval(1.0, scale="logit")
    with pytest.raises(SettingError, match=r"level must lie between 0 and 1; got 95"):
        kaplan_meier(TIED).interval(1.0, level=95)


def test_curves_without_events_have_no_variance():
    y = {"event": [0, 0], "duration": [1.0, 2.0]}
    np.testing.assert_array_equal(kaplan_meier(y).variance, [0, 0])
    assert aalen_johansen(y).variance.shape == nelson_aalen(y).variance.shape == (0, 2)


def test_no_time_or_a_text_has_no_value():
    curve = kaplan_meier({"event": [1, 0], "duration": [1.0, 2.0]})
    with pytest.raises(DataError, match="times must not be missing; 1 of 2 are NaN"):
        curve.at([1.0, np.nan])
    with pytest.raises(DataError, match="times must hold numbers"):
        curve.before("soon")


def test_where_very_many_end_at_once_and_nobody_is_left_variances_are_those_of_shares():
    n = 100_000
    duration, event = np.where(np.arange(n) % 1000, 2.0, 1.0), np.where(np.arange(n) % 7, 2, 1)
    curves = aalen_johansen(Outcome(duration, event, (1, 2)))
    np.testing.assert_allclose(curves.variance, curves.values * (1 - curves.values) / n, rtol=1e-11)
