from types import SimpleNamespace

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.cohort.batch_source import MemorySource
from survtrace.cohort.prepare import prepare
from survtrace.cohort.source import read_frame
from survtrace.losses.hazard import exposure
from survtrace.losses.level import count_events
from survtrace.network.assembly import Network
from survtrace.training.fit import plan_training
from survtrace.training.level import recalibrate


@pytest.fixture(scope="module")
def parts(three_causes, tiny):
    settings = SimpleNamespace(**SurvTRACE(**{**tiny, "validation_fraction": 0.2}).get_params())
    with prepare(read_frame(*three_causes), settings, [1, 2]) as ready:
        network = Network(plan_training(settings, ready, [1, 2], base=5)[0])
    network.initialise([1, 2])
    return network.eval(), ready


def batch_source(ready, chunk=4096):
    rows = ready.split.training, ready.split.validation
    return MemorySource(ready.layout.tensors(ready.store), *rows, [1, 2], 32, chunk)


@torch.no_grad()
def expected_and_observed(network, ready):
    cohort = ready.layout.tensors(ready.store)
    batch = cohort.take(torch.from_numpy(ready.split.training))
    logits = network.cause_logits(batch.rows, batch.values)
    hazard = torch.nn.functional.softplus(logits) * network.level
    lived = exposure(batch.interval, batch.fraction, 3)
    expected = (hazard * lived.unsqueeze(2)).sum(1)
    return expected, count_events(batch.interval, batch.event, batch.weight, 3, 3)


@pytest.mark.parametrize("chunk", [4096, 17])
def test_afterwards_expected_events_are_the_observed_ones(parts, chunk):
    network, ready = parts
    with torch.no_grad():
        network.level.fill_(1.0)
        for head in network.causes.heads:
            head.outer.bias += 0.7
    recalibrate(network, batch_source(ready, chunk))
    expected, observed = expected_and_observed(network, ready)
    assert ((expected - observed).abs() <= 0.5).all()


def test_it_forgets_an_earlier_level(parts):
    network, ready = parts
    recalibrate(network, batch_source(ready))
    once = network.level.clone()
    recalibrate(network, batch_source(ready))
    torch.testing.assert_close(network.level, once)


@pytest.mark.parametrize(
    ("ips", "setting", "done"),
    [
        ("none", "auto", False),
        ("causes", "auto", False),
        ("covariates", "auto", False),
        ("events", "auto", True),
        ("stabilised", "auto", True),
        ("paper", "auto", True),
        ("paper", False, False),
        ("none", True, True),
    ],
)
def test_it_is_done_where_weights_depend_on_the_outcome_or_when_asked(
    three_causes, tiny, ips, setting, done
):
    est = SurvTRACE(**{**tiny, "ips": ips, "recalibrate": setting, "max_epochs": 1})
    est.fit(*three_causes)
    assert bool((est.network_.level != 1).any()) == done


def test_a_recalibrated_fit_expects_as_many_events_as_it_saw(three_causes, tiny):
    X, y = three_causes
    levels = {}
    for setting in (True, False):
        settings = {**tiny, "ips": "paper", "recalibrate": setting, "max_epochs": 3, "lr": 0.02}
        est = SurvTRACE(**settings).fit(X, y)
        times = np.minimum(y["duration"], est.time_grid_[-1])
        hazard = est.predict_cumulative_hazard_function(X, times)
        own = hazard[np.arange(len(X)), :, np.arange(len(X))].sum()
        levels[setting] = own / (y["event"] > 0).sum()
    assert levels[True] == pytest.approx(1, abs=0.1)
    assert abs(levels[False] - 1) > abs(levels[True] - 1)
