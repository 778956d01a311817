"""Factor and power are those under which outcomes of new subjects are most likely."""

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.inference import curves
from survtrace.training.local_rows import read_local_rows
from survtrace.training.rescaling import (
    Rescaling,
    _loss_and_gradient,
    events_ratio,
    log_hazards,
    log_likelihood,
    most_likely,
    put_into,
    rescale,
    typical_log_hazards,
)


@pytest.fixture(scope="module")
def est(draw_cohort, tiny):
    X, y = draw_cohort(300, n_causes=2)
    return SurvTRACE(**{**tiny, "max_epochs": 10, "lr": 0.02}).fit(X, y)


@pytest.fixture
def network(est):
    state = {name: tensor.clone() for name, tensor in est.network_.state_dict().items()}
    yield est.network_
    est.network_.load_state_dict(state)


def subjects_of(est, X, y):
    cohort = read_local_rows(est, X, y).cohort(0.1, [1, 2])
    return cohort.layout.tensors(cohort.store)


@pytest.fixture(scope="module")
def subjects(est, draw_cohort):
    return subjects_of(est, *draw_cohort(400, n_causes=2, seed=3))


def test_the_likelihood_is_that_of_the_averaged_curve(est, draw_cohort, subjects):
    X, y = draw_cohort(400, n_causes=2, seed=3)
    found = log_likelihood(log_hazards(est.network_, subjects).double(), subjects).numpy()
    ends = np.minimum(y["duration"].to_numpy(), est.time_grid_[-1])
    survival = np.diagonal(est.predict_survival_function(X, ends))
    censored = (y["event"].to_numpy() == 0) | (y["duration"].to_numpy() > est.time_grid_[-1])
    np.testing.assert_allclose(found[censored], np.log(survival)[censored], atol=1e-5)
    # Of an event it is the slope of the incidence: a finite difference, in lengths of intervals.
    i = int(np.flatnonzero(~censored)[0])
    cause, at = int(y["event"].iloc[i]) - 1, ends[i]
    incidence = est.predict_cumulative_incidence(X[i : i + 1], [at - 1e-4, at])[0, cause]
    length = np.diff(est.time_grid_)[np.searchsorted(est.time_grid_, at) - 1]
    assert found[i] == pytest.approx(np.log(np.diff(incidence)[0] / 1e-4 * length), abs=1e-3)


def test_a_subject_that_enters_late_counts_from_its_entry_on(est, draw_cohort):
    X, y = draw_cohort(50, n_causes=2, seed=3)
    late = y.assign(entry=y["duration"] / 2, event=0)
    subjects = subjects_of(est, X, late)
    found = log_likelihood(log_hazards(est.network_, subjects).double(), subjects).numpy()
    starts, ends = (np.minimum(late[name], est.time_grid_[-1]) for name in ("entry", "duration"))
    given = est.predict_survival_function(X, np.array(ends)[:, None], conditional_after=starts)
    np.testing.assert_allclose(found, np.log(given[:, 0]), atol=1e-5)


def test_hazards_that_were_scaled_are_scaled_back(est, network, subjects, monkeypatch):
    monkeypatch.setattr("survtrace.training.rescaling.SPREAD_OF_POWER", 1e3)
    monkeypatch.setattr("survtrace.training.rescaling.HALF_AN_EVENT", 0.0)
    log_hazard = log_hazards(network, subjects)
    typical = typical_log_hazards(log_hazard, subjects)
    before = most_likely(log_hazard, typical, subjects, with_power=True)
    moved = Rescaling(torch.tensor([0.7, -0.4]), torch.tensor([1.5, 0.6]))
    put_into(network, moved, typical)
    changed = log_hazards(network, subjects)
    torch.testing.assert_close(
        changed,
        moved.log_factor.view(-1, 1) + typical + moved.power.view(-1, 1) * (log_hazard - typical),
    )
    after = most_likely(changed, typical_log_hazards(changed, subjects), subjects, with_power=True)
    np.testing.assert_allclose(after.power * moved.power, before.power, atol=0.01)
    np.testing.assert_allclose(after.log_factor + moved.log_factor, before.log_factor, atol=0.01)


def test_the_level_makes_expected_events_the_observed_ones(network, subjects):
    network.recalibration_factor.mul_(3.0)
    rescale(network, subjects, with_power=False)
    assert (network.hazard_power == 1).all()
    hazard = torch.exp(log_hazards(network, subjects)).mean(0).double()
    at = curves.TimeIndex(
        subjects.interval[:, None],
        subjects.fraction[:, None].double(),
        torch.zeros(len(hazard), 1).double(),
        torch.zeros(4).double(),
    )
    lived = curves.net_incidence(hazard[None], at)[0, :, :, 0]
    expected = -torch.log1p(-lived).sum(0)
    observed = torch.bincount(subjects.event, minlength=3)[1:]
    np.testing.assert_allclose(expected, observed, rtol=0.03)


def test_a_cause_without_an_event_keeps_a_hazard_above_0(network, subjects):
    none_of_2 = subjects._replace(event=torch.where(subjects.event == 2, 0, subjects.event))
    rescale(network, none_of_2, with_power=True)
    hazard = torch.exp(log_hazards(network, subjects))
    assert (hazard > 0).all()
    assert torch.isfinite(hazard).all()


def test_few_events_change_little(est, network, subjects):
    some = type(subjects)(*(column[:4] for column in subjects))
    log_hazard = log_hazards(network, some)
    found = most_likely(log_hazard, typical_log_hazards(log_hazard, some), some, with_power=True)
    assert (found.power - 1).abs().max() < 0.5


def test_hazards_of_many_subjects_are_those_of_each_chunk(network, subjects, monkeypatch):
    whole = log_hazards(network, subjects)
    monkeypatch.setattr("survtrace.training.rescaling.CHUNK", 150)
    torch.testing.assert_close(log_hazards(network, subjects), whole)


def test_in_an_interval_that_nobody_lives_in_all_subjects_are_typical(network, subjects):
    log_hazard = log_hazards(network, subjects)
    gone = subjects._replace(interval=torch.zeros_like(subjects.interval))
    typical = typical_log_hazards(log_hazard, gone)
    torch.testing.assert_close(typical[:, 1:], log_hazard.mean((0, 1))[:, 1:])
    weight = gone.fraction / gone.fraction.sum()
    expected = torch.einsum("s,sk->k", weight, log_hazard.mean(0)[:, :, 0])
    torch.testing.assert_close(typical[:, 0], expected)


def test_where_no_event_is_expected_and_none_is_seen_their_ratio_is_1(network, subjects):
    network.recalibration_factor.fill_(1e-12)
    nothing = subjects._replace(event=torch.zeros_like(subjects.event))
    assert events_ratio(network, nothing) == pytest.approx(1.0)
    one = nothing._replace(event=(torch.arange(len(subjects.event)) == 0).long())
    assert events_ratio(network, one) == pytest.approx(3.0)


def test_a_power_two_deviations_from_1_costs_two_units_of_likelihood(network, subjects):
    """The logarithm of a normal density. All subjects are typical: powers change no hazard."""
    typical = log_hazards(network, subjects).mean((0, 1))
    alike = typical.expand(1, len(subjects.event), -1, -1)
    usual, far = (
        _loss_and_gradient(
            torch.tensor([0, 0, 1, power], dtype=torch.float64, requires_grad=True),
            alike,
            typical,
            subjects,
        )[0]
        for power in (1, 2)
    )
    assert far - usual == pytest.approx(2.0)
