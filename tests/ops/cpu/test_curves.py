"""The kernel of curves agrees with the functions that define them, whatever the threads."""

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from survtrace.inference import curves as plain
from survtrace.ops.cpu.curves import N_SUBJECTS, States, curves, hazards
from survtrace.threads import threads

N_CAUSES, N_INTERVALS = 3, 5
CUTS = torch.linspace(0.0, 10.0, N_INTERVALS + 1, dtype=torch.float64)
TIMES = torch.tensor([[0.0, 0.3, 2.0, 9.9, 10.0, 4.0, 12.0]], dtype=torch.float64)
AT = plain.locate_times(TIMES, CUTS)
STATES = {
    "survival": States(True, 0, 0),
    "incidence": States(False, 0, N_CAUSES),
    "states": States(True, 0, N_CAUSES),
    "one cause": States(False, 1, 2),
}


def draw(n_members, n_subjects, spread=3.0):
    generator = torch.Generator().manual_seed(0)
    size = (n_members, n_subjects, N_CAUSES, N_INTERVALS)
    logits = spread * torch.randn(size, generator=generator)
    factor = torch.rand((n_members, 1, N_CAUSES, N_INTERVALS), generator=generator) + 0.5
    return logits, factor


def run(logits, factor, states, at=AT):
    shape = (logits.shape[1], len(states), at.points.shape[1])
    mean, deviation = np.empty(shape), np.empty(shape)
    place = at.interval.numpy(), at.fraction.numpy()
    bad = curves(logits, factor, *place, states, mean, deviation)
    return mean, deviation, bad


def defined(logits, factor, name):
    hazard = (softplus(logits) * factor).double()
    kind = {"one cause": "incidence"}.get(name, name)
    found = getattr(plain, kind)(hazard, AT)
    if name == "one cause":
        found = found[:, :, 1:2]
    return found.unsqueeze(2) if name == "survival" else found


@pytest.mark.parametrize("spread", [3.0, 40.0, 1e4])
@pytest.mark.parametrize("n_members", [1, 4])
@pytest.mark.parametrize("name", STATES)
def test_curves_are_those_of_the_definition(name, n_members, spread):
    logits, factor = draw(n_members, 70, spread)
    mean, deviation, bad = run(logits, factor, STATES[name])
    expected = defined(logits, factor, name)
    assert bad is None
    np.testing.assert_allclose(mean, expected.mean(0), rtol=2e-6, atol=1e-12)
    if n_members == 1:
        assert np.isnan(deviation).all()
    else:
        np.testing.assert_allclose(deviation, expected.std(0, correction=0), rtol=1e-5, atol=1e-7)


def test_each_subject_may_have_times_of_its_own():
    logits, factor = draw(2, 50)
    generator = torch.Generator().manual_seed(1)
    times = 12 * torch.rand((50, 3), generator=generator, dtype=torch.float64)
    found, _, _ = run(logits, factor, STATES["states"], plain.locate_times(times, CUTS))
    for subject in (0, 17, 49):
        at = plain.locate_times(times[subject : subject + 1], CUTS)
        alone, _, _ = run(logits, factor, STATES["states"], at)
        np.testing.assert_array_equal(found[subject], alone[subject])


def test_states_sum_to_one():
    mean, _, _ = run(*draw(4, 50), STATES["states"])
    np.testing.assert_allclose(mean.sum(1), 1.0, rtol=0, atol=1e-14)


def test_hazards_are_those_of_the_definition():
    logits, factor = draw(2, 70, 20.0)
    expected = (softplus(logits) * factor).double()
    torch.testing.assert_close(hazards(logits, factor), expected, rtol=4e-7, atol=0)


@pytest.mark.parametrize("n_threads", [2, 3, 5])
def test_the_number_of_threads_changes_no_bit(n_threads):
    logits, factor = draw(2, 3 * N_SUBJECTS)
    one = run(logits, factor, STATES["states"])
    with threads(n_threads):
        several = run(logits, factor, STATES["states"])
        np.testing.assert_array_equal(hazards(logits, factor), hazards(logits, factor))
    np.testing.assert_array_equal(several[0], one[0])
    np.testing.assert_array_equal(several[1], one[1])


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_the_first_subject_without_finite_hazards_is_named(value):
    logits, factor = draw(2, N_SUBJECTS)
    logits[1, [700, 300, N_SUBJECTS - 1], 2, N_INTERVALS - 1] = value
    with threads(3):
        assert run(logits, factor, STATES["survival"])[2] == 300
