from types import SimpleNamespace

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.cohort.batch_source import MemorySource
from survtrace.cohort.prepare import prepare
from survtrace.cohort.source import read_frame
from survtrace.datasets import make_cohort
from survtrace.losses.hazard import lived_through
from survtrace.metrics import aalen_johansen
from survtrace.network.assembly import Network
from survtrace.training.fit import plan_training
from survtrace.training.recalibration import count_events, recalibrate, recalibration_factors

GENERATOR = torch.Generator().manual_seed(0)
INTERVAL = torch.randint(0, 3, (200,), generator=GENERATOR)
FRACTION = torch.rand(200, generator=GENERATOR)
EVENT = torch.randint(0, 3, (200,), generator=GENERATOR)
WEIGHT = torch.rand(200, generator=GENERATOR) + 0.5


@pytest.fixture(scope="module")
def parts(three_causes, tiny):
    settings = SimpleNamespace(**SurvTRACE(**{**tiny, "validation_fraction": 0.2}).get_params())
    with prepare(read_frame(*three_causes), settings, [1, 2]) as ready:
        network = Network(plan_training(settings, ready, [1, 2], base=5)[0])
    network.initialise([1, 2])
    return network.eval(), ready


def batch_source(ready, chunk=4096, change=lambda cohort: cohort):
    rows = ready.split.training, ready.split.validation
    return MemorySource(change(ready.layout.tensors(ready.store)), *rows, [1, 2], 32, chunk)


@torch.no_grad()
def expected_and_observed(network, ready, change=lambda cohort: cohort):
    cohort = change(ready.layout.tensors(ready.store))
    rows = torch.from_numpy(np.flatnonzero(ready.split.learned_from()))
    batch = cohort.take(rows.expand(2, -1))
    logits = network.cause_logits(batch.rows, batch.values)
    hazard = torch.nn.functional.softplus(logits) * network.recalibration_factor
    ends = batch.entry_interval, batch.entry_fraction, batch.interval, batch.fraction
    lived = lived_through(*ends, 3) * batch.weight.unsqueeze(-1)
    expected = (hazard * lived.unsqueeze(2)).sum(1)
    return expected, count_events(batch.interval, batch.event, batch.weight, 3, 3)


@pytest.mark.parametrize("chunk", [4096, 17])
def test_afterwards_expected_events_are_the_observed_ones(parts, chunk):
    network, ready = parts
    with torch.no_grad():
        network.recalibration_factor.fill_(1.0)
        for head in network.causes.heads:
            head.outer.bias += 0.7
    recalibrate(network, batch_source(ready, chunk).learned_from())
    expected, observed = expected_and_observed(network, ready)
    assert ((expected - observed).abs() <= 0.5).all()


def test_a_subject_is_expected_to_have_events_from_its_entry_on(parts, enter_late):
    network, ready = parts
    recalibrate(network, batch_source(ready, change=enter_late).learned_from())
    expected, observed = expected_and_observed(network, ready, enter_late)
    assert ((expected - observed).abs() <= 0.5).all()
    from_start, _ = expected_and_observed(network, ready)
    assert (from_start > expected).all()


def test_subjects_count_by_their_weights(parts):
    network, ready = parts

    def weighted(cohort):
        heavy = 1 + 4 * (cohort.event == 1)  # those of the first cause
        return cohort._replace(weight=heavy.to(cohort.weight.dtype))

    recalibrate(network, batch_source(ready).learned_from())
    plain = network.recalibration_factor.clone()
    recalibrate(network, batch_source(ready, change=weighted).learned_from())
    expected, observed = expected_and_observed(network, ready, weighted)
    assert ((expected - observed).abs() <= 0.5).all()
    assert (network.recalibration_factor[..., 0, :] > plain[..., 0, :]).all()


def test_rows_of_a_subject_share_what_it_adds_to_the_prior(parts):
    """A subject cut into two rows must not count twice against the half event."""
    network, ready = parts
    source = batch_source(ready)
    batch = source.cohort.take(source.training_rows)
    doubled = batch._replace(weight=2 * batch.weight)
    recalibrate(network, [batch])
    once = network.recalibration_factor.clone()
    recalibrate(network, [doubled], rows_per_subject=2.0)
    torch.testing.assert_close(network.recalibration_factor, once)


def test_members_may_have_rows_of_their_own(parts):
    network, ready = parts
    source = batch_source(ready)
    recalibrate(network, [source.cohort.take(source.training_rows)])
    together = network.recalibration_factor.clone()
    for member in (0, 1):
        recalibrate(network, [source.cohort.take(source.training_rows[member])])
        torch.testing.assert_close(network.recalibration_factor[member], together[member])


def test_it_forgets_an_earlier_factor(parts):
    network, ready = parts
    recalibrate(network, batch_source(ready).learned_from())
    once = network.recalibration_factor.clone()
    recalibrate(network, batch_source(ready).learned_from())
    torch.testing.assert_close(network.recalibration_factor, once)


@pytest.mark.parametrize(("setting", "done"), [(True, True), ("auto", True), (False, False)])
def test_it_is_done_unless_it_is_refused(three_causes, tiny, setting, done):
    est = SurvTRACE(**{**tiny, "recalibrate": setting, "max_epochs": 1}).fit(*three_causes)
    assert bool((est.network_.recalibration_factor != 1).any()) == done


def test_the_mean_incidence_is_that_of_the_table_though_dropout_shifts_the_hazards():
    X, y = make_cohort(800, random_state=3)
    settings = {"n_members": 3, "max_epochs": 15, "head_dropout": 0.4, "unknown_steps": 0}
    est = SurvTRACE(**settings, device="cpu", random_state=0, verbose=False).fit(X, y)
    times = est.time_grid_[1:]
    observed = aalen_johansen(y).at(times)
    after = est.predict_cumulative_incidence(X, times).mean(0) / observed - 1
    est.network_.recalibration_factor.fill_(1.0)
    before = est.predict_cumulative_incidence(X, times).mean(0) / observed - 1
    assert abs(after).mean() < 0.04 < 0.08 < abs(before).mean()


def test_a_recalibrated_fit_expects_as_many_events_as_it_saw(three_causes, tiny):
    X, y = three_causes
    ratios = {}
    for setting in (True, False):
        settings = {**tiny, "ips": "paper", "recalibrate": setting, "max_epochs": 3, "lr": 0.02}
        est = SurvTRACE(**settings).fit(X, y)
        times = np.minimum(y["duration"], est.time_grid_[-1])
        hazard = est.predict_cumulative_hazard_function(X, times)
        own = hazard[np.arange(len(X)), :, np.arange(len(X))].sum()
        ratios[setting] = own / (y["event"] > 0).sum()
    assert ratios[True] == pytest.approx(1, abs=0.1)
    assert abs(ratios[False] - 1) > abs(ratios[True] - 1)


def test_events_are_counted_by_cause_and_interval_with_their_weights():
    counts = count_events(INTERVAL, EVENT, WEIGHT, 2, 3)
    for cause in (1, 2):
        for interval in range(3):
            here = (cause == EVENT) & (interval == INTERVAL)
            torch.testing.assert_close(counts[cause - 1, interval], WEIGHT[here].sum())


def test_members_are_counted_apart():
    both = torch.stack([INTERVAL, INTERVAL.flip(0)])
    events, weights = EVENT.expand(2, -1), WEIGHT.expand(2, -1)
    counts = count_events(both, events, weights, 2, 3)
    torch.testing.assert_close(counts[1], count_events(both[1], EVENT, WEIGHT, 2, 3))


def test_factors_bring_expected_to_observed_within_half_an_event():
    expected, observed = torch.rand(2, 3) * 50, torch.rand(2, 3) * 50
    factor = recalibration_factors(expected, observed)
    assert ((expected * factor - observed).abs() <= 0.5 * (1 + factor)).all()
    assert (recalibration_factors(expected, torch.zeros(2, 3)) > 0).all()
    assert torch.isfinite(recalibration_factors(torch.zeros(2, 3), observed)).all()
