"""A network goes on training from where it is, with factor and power moved into its heads."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.network.assembly import Network
from survtrace.training.fine_tuning import fold_in_recalibration, head_parameters
from survtrace.training.flat_parameters import gather_parameters
from survtrace.training.local_rows import read_local_rows
from survtrace.training.rescaling import events_ratio, log_hazards


@pytest.fixture(scope="module")
def parts(draw_cohort, tiny):
    X, y = draw_cohort(200, n_causes=2)
    est = SurvTRACE(**{**tiny, "max_epochs": 5, "lr": 0.02}).fit(X, y)
    cohort = read_local_rows(est, X, y).cohort(0.1, [1, 2])
    return est.network_, cohort.layout.tensors(cohort.store)


@pytest.fixture
def network(parts):
    return copy.deepcopy(parts[0])


def test_marked_parameters_are_those_of_the_heads(network):
    marks = head_parameters(network)
    flat = gather_parameters(network)
    flat.data.copy_(marks.expand_as(flat))
    for name, parameter in network.named_parameters():
        assert (parameter == float(name.startswith("causes."))).all(), name


def test_factors_and_powers_move_into_the_heads(network, parts):
    subjects = parts[1]
    network.recalibration_factor.copy_(torch.tensor([[1.6, 0.7, 1.0], [0.5, 1.0, 2.0]]))
    network.hazard_power.copy_(torch.tensor([1.3, 0.8]))
    before, ratio = log_hazards(network, subjects), events_ratio(network, subjects)
    fold_in_recalibration(network, subjects)
    assert (network.recalibration_factor == 1).all()
    assert (network.hazard_power == 1).all()
    assert events_ratio(network, subjects) == pytest.approx(ratio, rel=1e-3)
    after = log_hazards(network, subjects)
    assert np.corrcoef(before.flatten(), after.flatten())[0, 1] > 0.99
    assert (before - after).abs().mean() < 0.1


def test_without_a_recalibration_heads_stay_what_they_are(network, parts):
    network.recalibration_factor.fill_(1.0)
    before = copy.deepcopy(network.state_dict())
    fold_in_recalibration(network, parts[1])
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_the_heads_of_a_single_member_are_marked_as_those_of_several_are(network):
    alone = Network(replace(network.shape, n_members=1))
    assert torch.equal(head_parameters(alone), head_parameters(network))
