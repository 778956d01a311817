"""What scores must satisfy where subjects enter late or have several rows."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from survtrace.errors import DataError, DataWarning
from survtrace.metrics import (
    aalen_johansen,
    auc,
    auc_at,
    bootstrap,
    brier_score_at,
    censoring_survival,
    concordance_antolini,
    concordance_cause_specific,
    concordance_paper,
    integrated_brier_score,
    kaplan_meier,
    nelson_aalen,
    net_benefit,
    net_benefit_difference,
    observed_expected_ratio,
)
from survtrace.metrics.censoring import read_weights
from survtrace.tables.outcome.outcome import Outcome

often = settings(deadline=None, max_examples=80)
NAMES = ["brier", "ibs", "auc", "paper", "cause specific", "antolini"]
NAMES += ["observed", "mean", "O/E", "net benefit", "gain"]


@st.composite
def cohorts(draw):
    """An outcome of two causes, full of ties between entries, events and censorings."""
    n = draw(st.integers(20, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    entry = np.where(np.arange(n) < 14, 0, rng.integers(0, 5, n)) / 2
    duration = entry + rng.integers(1, draw(st.integers(2, 12)), n) / 2
    event = rng.choice(3, n, p=rng.dirichlet(np.ones(3)))
    event[-2:] = [1, 2]
    entry[-3] = 1.0  # somebody enters late
    duration[-3] = max(duration[-3], 2.0)
    y = Outcome(duration, event, (1, 2), entry=entry)
    return y, rng.integers(0, draw(st.integers(1, 12)) + 1, n) / 10, rng


def found(score, *arguments, **named):
    """Scores of tiny cohorts may be truncated, undefined or refused, which is not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return score(*arguments, **named)
        except DataError:
            reject()


def score_of(name, y, estimate, **named):
    if name == "brier":
        return found(brier_score_at, y, estimate / 3, 1.5, cause=1, **named)
    if name == "ibs":
        curves = np.outer(estimate / 3, [1, 2])
        return found(integrated_brier_score, y, curves, [1.0, 2.0], cause=1, **named)
    if name == "auc":
        return found(auc_at, y, estimate, 1.5, cause=1, **named)
    if name == "antolini":
        return found(concordance_antolini, y, np.outer(estimate, [0.3, 0.5]), [0.5, 1.5], cause=1)
    if name in ("observed", "mean", "O/E"):
        # Half a tenth for those predicted 0, of whom alone no ratio could be told.
        ratio = found(observed_expected_ratio, y, estimate / 3 + 0.05, 1.5, cause=1)
        return {"observed": ratio.observed, "mean": ratio.expected, "O/E": ratio}[name]
    if name == "net benefit":
        return found(net_benefit, y, estimate / 2, 1.5, [0.2], cause=1).by_prediction[0]
    if name == "gain":
        other = np.abs(0.7 - estimate) / 2
        return found(net_benefit_difference, y, estimate / 2, other, 1.5, [0.2], cause=1)[0]
    of = concordance_paper if name == "paper" else concordance_cause_specific
    return found(of, y, estimate, 2.0, cause=1, **named)


def with_gaps(y, rng):
    """Cut half of the rows in three and leave the middle out: these subjects come back."""
    chosen = rng.random(len(y)) < 0.5
    first, second = (y.entry + share * (y.duration - y.entry) for share in (0.25, 0.75))
    entry = np.concatenate([np.where(chosen, second, y.entry), y.entry[chosen]])
    duration = np.concatenate([y.duration, first[chosen]])
    event = np.concatenate([y.event, np.zeros(chosen.sum(), dtype=int)])
    subject = np.concatenate([np.arange(len(y)), np.flatnonzero(chosen)])
    order = rng.permutation(len(entry))
    columns = duration[order], event[order]
    return Outcome(*columns, y.causes, entry=entry[order], id=subject[order]), subject[order]


def cut(y, rng, n_cuts=15):
    """Cut random rows in two at times within them; also return the row each comes from."""
    id = np.arange(len(y)) if y.id is None else y.id
    columns = [y.entry, y.duration, y.event, id, np.arange(len(y))]
    for _ in range(n_cuts):
        entry, duration, event, id, source = columns
        row = rng.integers(len(entry))
        at = rng.uniform(entry[row], duration[row])
        if rng.random() < 0.5:  # at a time at which something may happen to others
            at = rng.choice(np.arange(1, 12)) / 2
        if not entry[row] < at < duration[row]:
            continue
        columns = [np.append(each, each[row]) for each in columns]
        columns[1][row], columns[2][row], columns[0][-1] = at, 0, at
    entry, duration, event, id, source = columns
    order = rng.permutation(len(entry))  # rows of one subject need not lie together
    order = order[np.argsort(duration[order], kind="stable")]
    rows = Outcome(duration[order], event[order], y.causes, entry=entry[order], id=id[order])
    return rows, source[order]


def pairs(y):
    return np.meshgrid(np.arange(len(y)), np.arange(len(y)), indexing="ij")


def share(weight, first, second):
    concordant = (first > second) + 0.5 * (first == second)
    return np.nan if weight.sum() == 0 else (weight * concordant).sum() / weight.sum()


@often
@given(cohorts())
def test_the_chance_to_be_observed_times_survival_is_the_number_under_observation(cohort):
    y = cohort[0]
    chance, S = censoring_survival(y), found(kaplan_meier, y)
    over = (chance.n_observed == 0) | (S.at(chance.times) == 0)
    until = chance.times[: np.append(over, True).argmax()]  # before nobody is left
    together = chance.at(until) * S.at(until)
    n_observed = ((y.entry <= until[:, None]) & (y.duration > until[:, None])).sum(axis=1)
    np.testing.assert_allclose(together / together[0], n_observed / n_observed[0], atol=1e-12)


@often
@given(cohorts(), st.sampled_from([0.5, 1.5, 2.0, 4.0]))
def test_weights_of_the_events_give_aalen_johansen(cohort, time):
    y = cohort[0]
    weights = read_weights(None, y)
    found(lambda: weights.require_start(time, "this"))
    if time <= weights.censoring.last_usable:
        weight = weights.by(time)
        seen = [weight[(y.event == k) & (y.duration <= time)].sum() for k in (1, 2)]
        np.testing.assert_allclose(
            np.array(seen) / weight.sum(), found(aalen_johansen, y).at(time), atol=1e-12
        )


@often
@given(cohorts(), st.sampled_from([0.5, 1.5, 2.0, 4.0]))
def test_the_brier_score_of_predicting_nothing_is_aalen_johansen(cohort, time):
    y = cohort[0]
    nothing = found(brier_score_at, y, np.zeros(len(y)), time, cause=1)
    if not np.isnan(nothing):
        assert nothing == pytest.approx(float(found(aalen_johansen, y, 1).at(time)), abs=1e-12)


@often
@given(cohorts(), st.sampled_from([None, 1.5, 2.0, 4.0]))
def test_concordance_of_the_paper_compares_pairs_jointly_at_risk(cohort, horizon):
    y, estimate, _ = cohort
    chance = censoring_survival(y, cause=1)
    i, j = pairs(y)
    t, event = y.duration, y.event
    case = (event == 1) & (t < (horizon or np.inf)) & (t <= chance.last_usable)
    after = (t[i] < t[j]) | ((t[i] == t[j]) & (event[j] != 1))
    both = case[i] & after & (y.entry[j] < t[i])
    ours = found(concordance_paper, y, estimate, horizon, cause=1)
    weight = np.where(both, np.nan_to_num(chance.inverse_before(t))[i] ** 2, 0)
    expected = share(weight, estimate[i], estimate[j])
    assert ours == pytest.approx(expected, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from([None, 1.5, 2.0, 4.0]))
def test_cause_specific_concordance_equals_its_definition(cohort, horizon):
    y, estimate, _ = cohort
    chance = censoring_survival(y)
    i, j = pairs(y)
    t, event = y.duration, y.event
    case = (event == 1) & (t <= (horizon or np.inf)) & (t <= chance.last_usable)
    later = ((t[i] < t[j]) | ((t[i] == t[j]) & (event[j] == 0))) & (y.entry[j] < t[i])
    never = (t[j] <= t[i]) & (event[j] == 2)
    ours = found(concordance_cause_specific, y, estimate, horizon, cause=1)
    before = np.nan_to_num(chance.inverse_before(t))
    weight = np.where(later, before[i] ** 2, np.where(never, before[i] * before[j], 0))
    expected = share(weight * case[i], estimate[i], estimate[j])
    assert ours == pytest.approx(expected, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from(["all", "event_free"]))
def test_area_equals_its_definition(cohort, controls):
    y, estimate, _ = cohort
    chance, time = censoring_survival(y), 2.0
    i, j = pairs(y)
    t = y.duration
    ours = found(auc, y, estimate, [time], cause=1, controls=controls)[0]
    before = np.nan_to_num(chance.inverse_before(t))
    case = np.where((t <= time) & (y.event == 1), before, 0)
    other = np.where((t <= time) & (y.event == 2) & (controls == "all"), before, 0)
    followed = (t > time) & (y.entry <= time)
    control = np.where(followed, np.nan_to_num(chance.inverse(time)), other)
    expected = share(case[i] * control[j], estimate[i], estimate[j])
    expected = expected if time <= chance.last_usable else np.nan
    assert ours == pytest.approx(expected, abs=1e-10, nan_ok=True)


@often
@given(cohorts(), st.sampled_from(NAMES))
def test_influences_are_the_derivative_by_a_subjects_multiplicity(cohort, name):
    """A subject counted k times more moves the score by k influences, weights included."""
    y, estimate, rng = cohort
    k, n, chosen = 10_000, len(y), rng.integers(len(y))
    rows = np.append(np.repeat(np.arange(n), k // n), chosen)
    whole, more = score_of(name, y, estimate), score_of(name, y.take(rows), estimate[rows])
    if not np.isnan(whole):
        per_copy = whole.influence[chosen] * n / (len(rows) - 1)
        gained = float(more) - float(score_of(name, y.take(rows[:-1]), estimate[rows[:-1]]))
        assert gained == pytest.approx(per_copy, abs=2e-3 * max(abs(per_copy), 1 / k))


@often
@given(cohorts(), st.sampled_from(NAMES))
def test_influences_sum_to_zero(cohort, name):
    y, estimate, _ = cohort
    influence = score_of(name, y, estimate).influence
    assert np.isnan(influence).all() or abs(influence.sum()) < 1e-10


@often
@given(cohorts(), st.sampled_from(NAMES))
def test_an_entry_of_zero_for_everybody_is_none(cohort, name):
    y, estimate, _ = cohort
    ordinary = replace(y, entry=None)
    first, second = (
        score_of(name, each, estimate) for each in (ordinary, replace(y, entry=np.zeros(len(y))))
    )
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first.influence, second.influence)


@often
@given(cohorts())
def test_cutting_rows_leaves_curves_unchanged(cohort):
    y, _, rng = cohort
    rows, _ = cut(y, rng)
    for curve in (kaplan_meier, aalen_johansen, nelson_aalen, censoring_survival):
        whole, parts = found(curve, y), found(curve, rows)
        np.testing.assert_array_equal(whole.times, parts.times)
        np.testing.assert_array_equal(whole.values, parts.values)


@often
@given(cohorts())
def test_who_is_in_a_gap_is_not_at_risk(cohort):
    y, _, rng = cohort
    rows, _ = with_gaps(y, rng)
    S, F = found(kaplan_meier, rows), found(aalen_johansen, rows)
    free, incidence = 1.0, np.zeros(2)
    for t in np.unique(rows.duration):
        at_risk = max(((rows.entry < t) & (t <= rows.duration)).sum(), 1)
        events = np.array([((rows.duration == t) & (rows.event == k)).sum() for k in (1, 2)])
        incidence = incidence + free * events / at_risk
        free *= 1 - events.sum() / at_risk
        np.testing.assert_allclose([S.at(t), *F.at(t)], [free, *incidence], atol=1e-12)


@often
@given(cohorts())
def test_nor_is_it_compared_with(cohort):
    y, estimate, rng = cohort
    rows, subject = with_gaps(y, rng)
    values = estimate[subject]
    i, j = pairs(rows)
    t, event = rows.duration, rows.event
    after = (t[i] < t[j]) | ((t[i] == t[j]) & (event[j] != 1))
    weight = (event[i] == 1) & after & (rows.entry[j] < t[i]) & (subject[i] != subject[j])
    ours = found(concordance_antolini, rows, values[:, None], [1e-9], cause=1)
    expected = share(weight.astype(float), values[i], values[j])
    assert ours == pytest.approx(expected, abs=1e-12, nan_ok=True)


@often
@given(cohorts(), st.sampled_from(["paper", "antolini"]))
def test_cutting_rows_leaves_concordances_and_their_errors_unchanged(cohort, name):
    y, estimate, rng = cohort
    rows, source = cut(y, rng)
    whole, parts = score_of(name, y, estimate), score_of(name, rows, estimate[source])
    assert parts == pytest.approx(whole, abs=1e-12, nan_ok=True)
    np.testing.assert_allclose(parts.influence, whole.influence, atol=1e-12)
    assert parts.n_effective == whole.n_effective


@often
@given(cohorts(), st.sampled_from(["paper", "antolini"]))
def test_cutting_rows_of_subjects_observed_from_zero_leaves_concordances_unchanged(cohort, name):
    y, estimate, rng = cohort
    ordinary = replace(y, entry=np.zeros(len(y)))
    rows, source = cut(ordinary, rng)
    whole, parts = score_of(name, ordinary, estimate), score_of(name, rows, estimate[source])
    assert parts == pytest.approx(whole, abs=1e-12, nan_ok=True)
    np.testing.assert_allclose(parts.influence, whole.influence, atol=1e-12)


def competing(n, rng):
    """Time and cause of the event of anybody in the population, and its hazards."""
    x = rng.normal(size=n)
    hazards = np.stack([np.exp(x), 0.5 * np.exp(-0.5 * x)], axis=1)
    latent = rng.exponential(1 / hazards)
    return latent.min(axis=1), 1 + latent.argmin(axis=1), hazards


def seen_late(n, seed):
    """Those event-free at their entry, which is late for half of the population."""
    rng = np.random.default_rng(seed)
    first, cause, hazards = competing(n, rng)
    entry = np.where(rng.random(n) < 0.5, 0, rng.uniform(0, 1, n))
    leaves = entry + rng.uniform(0.5, 3, n)
    seen = first > entry
    event = np.where(first <= leaves, cause, 0)
    duration = np.minimum(first, leaves)
    return Outcome(duration[seen], event[seen], (1, 2), entry=entry[seen]), hazards[seen]


def incidence(hazards, times):
    total = hazards.sum(axis=1, keepdims=True)
    return hazards[:, :1] / total * (1 - np.exp(-total * np.asarray(times)))


SCORES = {
    "brier": lambda y, h: brier_score_at(y, incidence(h, [1.0]), 1.0, cause=1),
    "ibs": lambda y, h: integrated_brier_score(
        y, incidence(h, [0.3, 0.8, 1.5]), [0.3, 0.8, 1.5], cause=1
    ),
    "auc": lambda y, h: auc_at(y, h[:, 0], 1.0, cause=1),
    "paper": lambda y, h: concordance_paper(y, h[:, 0], 1.5, cause=1),
    "cause specific": lambda y, h: concordance_cause_specific(y, h[:, 0], 1.5, cause=1),
}


@pytest.mark.parametrize("name", SCORES)
def test_independent_entry_leaves_a_score_that_of_the_population(name):
    first, cause, hazards = competing(200_000, np.random.default_rng(0))
    truth = SCORES[name](Outcome(first, cause, (1, 2)), hazards)
    y, hazards = seen_late(30_000, seed=1)
    low, high = SCORES[name](y, hazards).interval(0.999)
    assert low < truth < high


def test_entry_ignored_makes_a_survival_that_is_too_high():
    truth = (competing(400_000, np.random.default_rng(0))[0] > 1.0).mean()
    y, _ = seen_late(60_000, seed=1)
    assert kaplan_meier(y).at(1.0) == pytest.approx(truth, abs=0.01)
    assert kaplan_meier(replace(y, entry=None)).at(1.0) > truth + 0.05


@pytest.mark.parametrize("name", SCORES)
def test_the_standard_error_is_close_to_that_of_the_bootstrap(name):
    y, hazards = seen_late(900, seed=2)
    drawn = bootstrap(SCORES[name], y, hazards, random_state=0, n_resamples=300)
    assert drawn.estimate.standard_error == pytest.approx(drawn.standard_error, rel=0.15)


def test_the_error_of_weights_from_other_late_entries_is_that_over_such_tables():
    scored, *tables = (seen_late(150, seed)[0] for seed in range(300))
    score = partial(brier_score_at, scored, np.full(len(scored), 0.1), 1.0, cause=1)
    scores = [score(y_train=each) for each in tables]
    errors = np.array([(each.independent**2).sum() for each in scores])
    assert np.std(scores) == pytest.approx(np.sqrt(errors.mean()), rel=0.12)
