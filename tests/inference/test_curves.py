import math

import numpy as np
import pytest
import torch

from survtrace.inference import curves
from survtrace.portable import curves as portable_curves

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


@pytest.mark.parametrize("x", [0.0, 1e-15, 1e-13, 9e-13, 2e-12, 1e-9, 1e-5])
def test_the_share_of_an_interval_lived_through_is_exact_for_small_hazards(x):
    """(1 - exp(-x)) / x is 1 - x / 2 + x^2 / 6 - ...; at 0 it is 1, not 0 / 0."""
    wanted = pytest.approx(1 - x / 2 + x**2 / 6, abs=2e-16, rel=0)
    assert curves._mean_decay(torch.tensor([x], dtype=torch.float64)).item() == wanted
    assert portable_curves._mean_decay(np.array([x])).item() == wanted


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


def late(curve, *times, start=None):
    """A curve on a grid that begins at 40, of one member or two."""
    cuts = 40 + CUTS
    where = curves.locate_times(torch.tensor([times], dtype=torch.float64), cuts)
    if start is None:
        return curve(HAZARD, where)[0, 0]
    begin = torch.tensor([[start]], dtype=torch.float64)
    if curve.__name__ in curves.OF_AVERAGE:
        return curve(HAZARD, where._replace(start=begin))[0, 0]
    return curve(*curves.after(HAZARD, cuts, begin, where.points))[0, 0]


@pytest.mark.parametrize("kind", ["survival", "incidence", "net_incidence", "cumulative_hazard"])
def test_a_late_first_cut_moves_curves_and_nothing_is_lived_before_it(kind):
    curve = getattr(curves, kind)
    torch.testing.assert_close(
        late(curve, 41.0, 43.0, 50.0), curve(HAZARD, at(1.0, 3.0, 9.0))[0, 0]
    )
    torch.testing.assert_close(late(curve, 0.0, 39.0, 40.0), curve(HAZARD, at(0.0, 0.0, 0.0))[0, 0])


def test_the_restricted_mean_counts_the_time_before_a_late_first_cut():
    mean = curves.restricted_mean(HAZARD, at(3.0, 9.0))[0, 0]
    torch.testing.assert_close(late(curves.restricted_mean, 43.0, 49.0), 40 + mean)
    torch.testing.assert_close(late(curves.restricted_mean, 30.0).item(), 30.0)


def test_quantiles_are_counted_from_the_origin_of_a_late_grid():
    quantile = curves.crossing_time(HAZARD, at(0.9, 0.6, 0.01))[0, 0]
    torch.testing.assert_close(late(curves.crossing_time, 0.9, 0.6, 0.01), 40 + quantile)


@pytest.mark.parametrize("start", [30.0, 40.0, 41.5, 42.0, 43.0, 44.0, 50.0])
def test_what_is_left_after_a_start_follows_from_survival(start):
    """Of one member, conditional curves are quotients and differences of its own."""
    times = (41.0, 41.75, 43.5, 44.0)
    lived = late(curves.cumulative_hazard, *times) - late(curves.cumulative_hazard, start)
    lived = lived.clamp(min=0)
    torch.testing.assert_close(late(curves.cumulative_hazard, *times, start=start), lived)
    torch.testing.assert_close(late(curves.net_incidence, *times, start=start), -(-lived).expm1())
    torch.testing.assert_close(late(curves.survival, *times, start=start), (-lived.sum(0)).exp())
    both = late(curves.restricted_mean, *times) - late(curves.restricted_mean, start)
    expected = both.clamp(min=0) / late(curves.survival, start)
    torch.testing.assert_close(late(curves.restricted_mean, *times, start=start), expected)
    found = late(curves.crossing_time, 0.9, 0.01, start=start)
    alive = late(curves.survival, found[0].clamp(max=44.0).item(), start=start).item()
    assert (alive == pytest.approx(0.9)) if found[0].isfinite() else (alive > 0.9)
    assert found[1].isinf()


def test_members_weigh_by_their_survivors_in_every_conditional_curve():
    """After a start, average survival is a quotient of averages, in whatever form."""
    hazard = torch.cat([HAZARD, 5 * HAZARD, 0.1 * HAZARD])
    start = torch.tensor([[1.5]], dtype=torch.float64)
    where = at(2.5, 3.9)
    alive = curves.survival(hazard, where).mean(0) / curves.survival(hazard, at(1.5)).mean(0)
    conditional = where._replace(start=start)
    cumulative = curves.cumulative_hazard(hazard, conditional)[0]
    torch.testing.assert_close(cumulative.sum(1), -alive.log())
    levels = conditional._replace(points=alive)
    torch.testing.assert_close(curves.crossing_time(hazard, levels)[0], where.points)


def test_cumulative_hazards_at_times_of_each_subject_are_those_at_common_times():
    hazard = torch.rand((3, 2, 2, 2), generator=torch.Generator().manual_seed(0)).double()
    own = curves.locate_times(torch.tensor([[1.0, 4.0], [3.0, 1.0]], dtype=torch.float64), CUTS)
    found = curves.cumulative_hazard(hazard, own)[0]
    for subject, times in enumerate([(1.0, 4.0), (3.0, 1.0)]):
        alone = curves.cumulative_hazard(hazard, at(*times))[0, subject]
        torch.testing.assert_close(found[subject], alone, rtol=1e-12, atol=1e-14)


def test_times_common_to_all_are_those_of_every_batch_of_subjects():
    hazard = torch.rand((3, 6, 2, 2), generator=torch.Generator().manual_seed(0)).double()
    start = torch.linspace(0, 3, 6, dtype=torch.float64).unsqueeze(1)
    common = at(1.0, 2.5, 4.0)._replace(start=start)
    whole = curves.cumulative_hazard(hazard, common)
    for first in (0, 2, 4):
        some = common.of(first, 2)
        assert torch.equal(some.start, start[first : first + 2])
        found = curves.cumulative_hazard(hazard[:, first : first + 2], some)
        torch.testing.assert_close(found, whole[:, first : first + 2], rtol=1e-12, atol=1e-14)
