"""What predictions may err by is learned beside the fit, which it leaves as it is."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.batch import INTEGER_COLUMNS, Batch
from survtrace.cohort.prepare import Cohort
from survtrace.network.assembly import Network, Shape
from survtrace.tables.outcome.outcome import Outcome
from survtrace.training.interval import (
    LEVELS,
    _with_outcome,
    censoring_positions,
    learn_scale,
    log_log_incidence,
    member_hazards,
    refit,
    simulate,
)


@pytest.fixture(scope="module")
def learned(three_causes, tiny):
    return SurvTRACE(**{**tiny, "intervals": True}).fit(*three_causes)


def test_the_network_is_the_same_to_the_bit(learned, fitted_three):
    state, without = learned.network_.state_dict(), fitted_three.network_.state_dict()
    assert all(torch.equal(state[name], without[name]) for name in without)
    assert learned.history_.drop(columns="seconds").equals(
        fitted_three.history_.drop(columns="seconds")
    )


def test_the_same_seed_learns_the_same(learned, three_causes, tiny):
    again = SurvTRACE(**{**tiny, "intervals": True}).fit(*three_causes)
    assert again.interval_ == learned.interval_


def test_one_number_for_each_state_and_interval(learned):
    scale, n_intervals = learned.interval_, len(learned.time_grid_) - 1
    assert np.shape(scale.floor) == (4, n_intervals)
    assert np.shape(scale.factor) == (4,)
    assert np.shape(scale.quantiles) == (4, len(LEVELS))


def test_one_member_and_late_entry_have_intervals(one_cause, tiny, late_entry):
    X, y = one_cause
    settings = {**tiny, "n_members": 1, "intervals": True, "mortality_weight": 0, "stay_weight": 0}
    est = SurvTRACE(**settings).fit(X, late_entry(y))
    low, high = est.predict_interval(X, [8.0])
    assert (low < high).all()


@pytest.mark.parametrize("kind", ["start-stop rows", "weights that depend on the outcome", "files"])
def test_what_it_cannot_be_learned_from_leaves_none(kind, one_cause, tiny, cut, tmp_path):
    X, y = one_cause
    settings = {**tiny, "intervals": True, "mortality_weight": 0, "stay_weight": 0}
    if kind == "start-stop rows":
        X, y = cut(X, y)
    elif kind == "files":
        X.join(y).to_parquet(tmp_path / "table.parquet")
        X, y = tmp_path / "table.parquet", {"event": "event", "duration": "duration"}
    else:
        settings["ips"] = "events"
    assert SurvTRACE(**settings).fit(X, y).interval_ is None


def test_simulated_outcomes_follow_the_hazards():
    rng, n = np.random.default_rng(0), 40_000
    hazard = np.tile([[[0.2, 0.6], [0.1, 0.2]]], (n, 1, 1))
    left, event = simulate(hazard, np.zeros(n), np.full(n, 2.0), rng)
    truth = -np.expm1(-np.exp(log_log_incidence(hazard[None, :1])[0, 0]))
    for cause in (1, 2):
        for j in (0, 1):
            share = np.mean((event == cause) & (left <= j + 1))
            assert share == pytest.approx(truth[cause, j], abs=0.008)
    assert (left[event == 0] == 2.0).all()


def test_simulated_outcomes_come_after_entry_and_before_the_end_of_observation():
    rng, n = np.random.default_rng(0), 5_000
    entry = rng.uniform(0, 1.5, n)
    end = entry + rng.uniform(0, 1, n) * (2 - entry)
    left, event = simulate(np.full((n, 1, 2), 0.8), entry, end, rng)
    assert ((entry <= left) & (left <= end)).all()
    assert (left[event == 0] == end[event == 0]).all()
    # The hazard lived through is what events are expected to be.
    assert event.sum() == pytest.approx(0.8 * (left - entry).sum(), rel=0.05)


def test_a_scale_gives_back_the_errors_it_was_learned_from():
    rng, n = np.random.default_rng(0), 4000
    deviation = rng.uniform(0.1, 1.0, (n, 1, 2))
    members = deviation * np.array([-1.0, 1.0])[:, None, None, None]
    errors = rng.normal(size=(2, n, 1, 2)) * np.hypot([0.3, 0.6], 1.5 * deviation)
    scale = learn_scale(errors, members, [10**6])
    assert scale["floor"][0] == pytest.approx([0.3, 0.6], abs=0.12)
    assert scale["factor"] == pytest.approx([1.5], rel=0.1)
    assert scale["quantiles"][0][LEVELS.index(0.95)] == pytest.approx(1.96, rel=0.05)


def test_from_few_events_intervals_have_a_larger_margin():
    rng = np.random.default_rng(0)
    errors, members = rng.normal(size=(2, 500, 1, 2)), np.zeros((2, 500, 1, 2))
    few, many = (np.array(learn_scale(errors, members, [n])["quantiles"]) for n in (40, 4000))
    np.testing.assert_allclose(few / many, 1.25 / 1.0025)


@pytest.mark.parametrize(
    ("error", "words"),
    [(KeyboardInterrupt(), "were broken off"), (MemoryError(), "need more memory than there is")],
)
def test_a_fit_outlives_what_stops_its_intervals(error, words, one_cause, tiny, monkeypatch):
    def stop(*_):
        raise error

    monkeypatch.setattr("survtrace.training.interval.member_hazards", stop)
    with pytest.warns(UserWarning, match=words):
        est = SurvTRACE(**{**tiny, "max_epochs": 1, "intervals": True}).fit(*one_cause)
    assert est.interval_ is None


def test_a_simulated_fit_that_is_interrupted_leaves_no_intervals(one_cause, tiny, monkeypatch):
    def interrupted(network, source, plan, history):
        history.interrupted = True

    monkeypatch.setattr("survtrace.training.interval.train", interrupted)
    with pytest.warns(UserWarning, match="were broken off"):
        est = SurvTRACE(**{**tiny, "max_epochs": 1, "intervals": True}).fit(*one_cause)
    assert est.interval_ is None


@pytest.mark.parametrize("recalibrate", [True, False])
def test_simulated_fits_are_recalibrated_as_the_fit_is(recalibrate, one_cause, tiny, monkeypatch):
    refitted = []

    def keep(*parts):
        refitted.append(refit(*parts))
        return refitted[-1]

    monkeypatch.setattr("survtrace.training.interval.refit", keep)
    settings = {**tiny, "max_epochs": 1, "intervals": True, "recalibrate": recalibrate}
    est = SurvTRACE(**settings).fit(*one_cause)
    for network in (est.network_, *refitted):
        assert bool((network.recalibration_factor != 1).any()) == recalibrate
    assert len(refitted) == 1


def test_errors_are_measured_on_four_members_and_4096_subjects_at_most(
    draw_cohort, tiny, monkeypatch
):
    shapes = []

    def keep(errors, members, n_events):
        shapes.append((errors.shape[:2], members.shape[:2]))
        return learn_scale(errors, members, n_events)

    monkeypatch.setattr("survtrace.training.interval.learn_scale", keep)
    settings = {**tiny, "n_members": 5, "max_epochs": 1, "batch_size": 1024, "intervals": True}
    SurvTRACE(**settings).fit(*draw_cohort(4200))
    assert shapes == [((4, 4096), (5, 4096))]


def batch_of(n_subjects, **columns):
    none = torch.zeros(n_subjects)
    plain = {
        "rows": torch.zeros(n_subjects, 2, dtype=torch.int32),
        "values": torch.ones(n_subjects, 2),
        **dict.fromkeys(INTEGER_COLUMNS, none.long()),
        **dict.fromkeys(("fraction", "stay", "weight", "entry_fraction", "whole"), none),
        "ips": torch.ones(n_subjects, 1),
    }
    return Batch(**{**plain, **columns})


def noisy_network():
    shape = Shape(
        n_members=2, n_rows=6, n_tokens=2, n_causes=2, n_intervals=3, silent_rows=(0,), width=8,
        depth=1, n_heads=2, hidden=8, head_depth=1, token_bias=False, proportional=0.0,
        dropout=0.5, attention_dropout=0.5, token_dropout=0.5, head_dropout=0.5,
    )  # fmt: skip
    network = Network(shape)
    network.initialise([1, 2])
    return network


def test_hazards_of_members_are_those_of_prediction_times_the_factor():
    """Without dropout, though the network was left as it trains."""
    network = noisy_network()
    subjects = batch_of(3, rows=torch.tensor([[1, 4], [2, 5], [3, 4]], dtype=torch.int32))
    plain = member_hazards(network.eval(), subjects)
    network.recalibration_factor.fill_(3.0)
    torch.testing.assert_close(member_hazards(network.train(), subjects), 3 * plain)
    assert (plain > 0).all()


@pytest.mark.parametrize(
    ("event", "left", "drawn", "expected"),
    [
        (1, 1.0, 0.75, 1.5),  # G is .75 at the event; it is below .5625 from 3 on
        (1, 1.0, 0.25, 2.0),  # and below .1875 only from 4 on
        (1, 0.25, 0.6, 1.5),  # before anyone is censored G is 1
        (1, 0.25, 0.8, 0.5),
        (0, 0.75, 0.5, 0.75),  # who was censored keeps that time
    ],
)
def test_observation_would_have_ended_where_censoring_falls_to_what_was_drawn(
    event, left, drawn, expected
):
    """Censored at 1, 3 and 4, an event at 2: G is .75 from 1 on, .375 from 3 on, then 0."""
    known = Outcome(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 0]), (1,))
    cohort = Mock(spec=Cohort, trained_on=known, cuts=np.array([0.0, 2.0, 4.0]))
    subjects = batch_of(1, fraction=torch.tensor([left]), event=torch.tensor([event]))
    rng = Mock(spec=np.random.Generator)
    rng.random.return_value = np.array([drawn])
    assert censoring_positions(subjects, cohort, rng).tolist() == [expected]


def test_a_place_that_rounding_puts_beyond_the_grid_lies_in_its_last_interval():
    stay = SimpleNamespace(standardise=lambda duration: duration)
    layout = SimpleNamespace(stay=stay)
    cohort = Mock(spec=Cohort, cuts=np.array([0.0, 2.0, 6.0]), layout=layout)
    left = np.array([0.0, 1.0, 1.25, 2 + 1e-12])
    found = _with_outcome(batch_of(4), left, np.array([0, 1, 1, 0]), cohort)
    assert found.interval.tolist() == [0, 0, 1, 1]
    assert found.fraction.tolist() == [0.0, 1.0, 0.25, 1.0]
    assert found.stay.tolist() == [0.0, 2.0, 3.0, 6.0]
    assert found.event.tolist() == [0, 1, 1, 0]


def test_an_incidence_of_0_or_1_is_taken_for_one_a_millionth_away():
    hazard = np.array([0.0, 100.0]).reshape(1, 2, 1, 1)
    found = log_log_incidence(hazard)[0, :, 0, 0]
    np.testing.assert_allclose(found, [np.log(1e-6), np.log(np.log(1e6))], rtol=1e-6)


def test_simulated_fits_draw_another_dropout_than_the_fit(one_cause, tiny, monkeypatch):
    seeds, seed_dropout = [], Network.seed_dropout

    def keep(network, seed):
        seeds.append(seed)
        seed_dropout(network, seed)

    monkeypatch.setattr(Network, "seed_dropout", keep)
    SurvTRACE(**{**tiny, "max_epochs": 1, "intervals": True}).fit(*one_cause)
    first, second = (seed for seed in seeds if seed is not None)
    assert first != second
