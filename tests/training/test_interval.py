"""What predictions may err by is learned beside the fit, which it leaves as it is."""

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.training.interval import LEVELS, learn_scale, log_log_incidence, refit, simulate


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
