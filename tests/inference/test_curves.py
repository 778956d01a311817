import math

import pytest
import torch

from survtrace.inference import curves

CUTS = torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64)
HAZARD = torch.tensor([[[[0.2, 0.4], [0.1, 0.3]]]], dtype=torch.float64)


def at(*times):
    return curves.locate_times(torch.tensor([times], dtype=torch.float64), CUTS)


def test_places_are_intervals_closed_on_the_right():
    found = at(0.0, 1.0, 2.0, 3.0, 4.0, 9.0)
    assert found.interval.tolist() == [[0, 0, 0, 1, 1, 1]]
    assert found.fraction.tolist() == [[0.0, 0.5, 1.0, 0.5, 1.0, 1.0]]


def test_survival_is_exponential_in_the_hazard_lived_through():
    survival = curves.survival(HAZARD, at(1.0, 2.0, 3.0))[0, 0].tolist()
    assert survival == pytest.approx([math.exp(-0.15), math.exp(-0.3), math.exp(-0.65)])


def test_incidence_is_shared_in_proportion_to_the_hazards():
    incidence = curves.incidence(HAZARD, at(2.0, 4.0))[0, 0]
    first = 1 - math.exp(-0.3)
    second = math.exp(-0.3) * (1 - math.exp(-0.7))
    assert incidence[0].tolist() == pytest.approx([first * 2 / 3, first * 2 / 3 + second * 4 / 7])
    assert incidence[1].tolist() == pytest.approx([first / 3, first / 3 + second * 3 / 7])


def test_the_states_are_survival_then_each_cause():
    found = curves.states(HAZARD, at(2.0, 3.0))
    assert torch.equal(found[:, :, 0], curves.survival(HAZARD, at(2.0, 3.0)))
    assert torch.equal(found[:, :, 1:], curves.incidence(HAZARD, at(2.0, 3.0)))


def test_beyond_the_grid_the_restricted_mean_grows_by_the_last_survival():
    mean = curves.restricted_mean(HAZARD, at(4.0, 9.0))[0, 0]
    assert (mean[1] - mean[0]).item() == pytest.approx(5 * math.exp(-1.0))


def test_net_incidence_ignores_the_other_causes():
    net = curves.net_incidence(HAZARD, at(2.0, 3.0))[0, 0]
    assert net[0].tolist() == pytest.approx([1 - math.exp(-0.2), 1 - math.exp(-0.4)])
    assert net[1].tolist() == pytest.approx([1 - math.exp(-0.1), 1 - math.exp(-0.25)])


def test_each_subject_can_have_times_of_its_own():
    hazard = HAZARD.repeat(3, 2, 1, 1)
    own = curves.locate_times(torch.tensor([[1.0, 4.0], [3.0, 0.0]], dtype=torch.float64), CUTS)
    survival, incidence = curves.survival(hazard, own), curves.incidence(hazard, own)
    assert survival.shape == (3, 2, 2)
    assert incidence.shape == (3, 2, 2, 2)
    torch.testing.assert_close(survival[:, 1], curves.survival(hazard, at(3.0, 0.0))[:, 1])
    torch.testing.assert_close(incidence[:, 1], curves.incidence(hazard, at(3.0, 0.0))[:, 1])
    torch.testing.assert_close(incidence[:, 0], curves.incidence(hazard, at(1.0, 4.0))[:, 0])


def test_without_hazard_everybody_stays():
    nothing = torch.zeros_like(HAZARD)
    assert (curves.survival(nothing, at(0.0, 3.0)) == 1).all()
    assert (curves.incidence(nothing, at(0.0, 3.0)) == 0).all()
    mean = curves.restricted_mean(nothing, at(3.0))
    assert mean.item() == pytest.approx(3.0)
    assert curves.crossing_time(nothing, at(0.5)).isinf()


def test_the_median_of_one_interval_is_where_half_the_hazard_is_lived():
    hazard = torch.full((1, 1, 1, 2), 1.0, dtype=torch.float64)
    median = curves.crossing_time(hazard, at(0.5))
    assert median.item() == pytest.approx(2 * math.log(2))


def test_with_one_member_the_cumulative_hazard_is_the_sum_of_hazards():
    cumulative = curves.cumulative_hazard(HAZARD, at(0.0, 1.0, 4.0, 9.0))[0, 0]
    assert cumulative[0].tolist() == pytest.approx([0.0, 0.1, 0.6, 0.6])
    assert cumulative[1].tolist() == pytest.approx([0.0, 0.05, 0.4, 0.4])


def test_cumulative_hazards_stay_finite_when_survival_underflows():
    """exp(-2000) is 0 in any float, but a cumulative hazard of 2000 is a number like another."""
    cumulative = curves.cumulative_hazard(1e3 * torch.ones_like(HAZARD), at(2.0, 4.0))[0, 0]
    torch.testing.assert_close(cumulative, torch.tensor([[1e3, 2e3]] * 2, dtype=torch.float64))


def test_a_hazard_after_a_huge_one_does_not_forget_the_small_one_before():
    hazard = torch.tensor([[[[0.3, 1e25]]]], dtype=torch.float64)
    survival = curves.survival(hazard, at(2.0, 2.0 + 1e-30, 4.0))[0, 0]
    assert survival[0].item() == pytest.approx(math.exp(-0.3))
    assert (survival.diff() <= 0).all()
    incidence = curves.incidence(hazard, at(2.0, 4.0))[0, 0, 0]
    assert incidence.tolist() == pytest.approx([1 - math.exp(-0.3), 1.0], abs=1e-12)
