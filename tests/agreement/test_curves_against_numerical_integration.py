"""Curves in closed form equal what scipy integrates from the hazard rates."""

import numpy as np
import pytest
import torch
from scipy.integrate import cumulative_simpson, quad

from survtrace.inference import curves

RNG = np.random.default_rng(0)
CUTS = np.array([0.0, 1.0, 2.5, 7.0])
HAZARD = RNG.gamma(1.0, 0.5, (3, 2, 2, 3))  # member, subject, cause, interval
RATE = HAZARD / np.diff(CUTS)
TIMES = np.array([0.3, 1.0, 2.0, 5.5, 7.0])
TENSORS = torch.from_numpy(HAZARD), torch.from_numpy(CUTS), torch.from_numpy(TIMES)


def rate_at(time, member, subject, cause):
    return RATE[member, subject, cause, min(np.searchsorted(CUTS[1:], time), 2)]


def integral(function, end):
    inner = [cut for cut in CUTS[1:-1] if cut < end]
    return quad(function, 0, end, points=inner or None, epsabs=1e-11, epsrel=1e-11)[0]


def survival_at(time, member, subject):
    total = RATE[member, subject].sum(axis=0)
    lived = np.clip(time - CUTS[:-1], 0, np.diff(CUTS))
    return np.exp(-(total * lived).sum())


@pytest.fixture(scope="module")
def place():
    return curves.locate_times(TENSORS[2].view(1, -1), TENSORS[1])


@pytest.mark.parametrize("member", range(3))
@pytest.mark.parametrize("cause", range(2))
def test_incidence_is_the_integral_of_rate_times_survival(place, member, cause):
    ours = curves.incidence(TENSORS[0], place)[member, 1, cause].numpy()
    expected = [
        integral(lambda t: rate_at(t, member, 1, cause) * survival_at(t, member, 1), time)
        for time in TIMES
    ]
    np.testing.assert_allclose(ours, expected, atol=1e-9)


@pytest.mark.parametrize("subject", range(2))
def test_the_restricted_mean_is_the_integral_of_survival(place, subject):
    ours = curves.restricted_mean(TENSORS[0], place)[2, subject].numpy()
    expected = [integral(lambda t: survival_at(t, 2, subject), time) for time in TIMES]
    np.testing.assert_allclose(ours, expected, atol=1e-9)


@pytest.mark.parametrize("cause", range(2))
def test_the_cumulative_hazard_is_that_of_the_members_mean(place, cause):
    def hazard_of_the_mean(time):
        alive = np.array([survival_at(time, member, 0) for member in range(3)])
        rates = np.array([rate_at(time, member, 0, cause) for member in range(3)])
        return (alive * rates).mean() / alive.mean()

    ours = curves.cumulative_hazard(TENSORS[0], place)[0, 0, cause].numpy()
    np.testing.assert_allclose(
        ours, [integral(hazard_of_the_mean, time) for time in TIMES], atol=1e-8
    )


def test_a_fine_grid_of_hazards_gives_any_smooth_law():
    """A Weibull and a Gompertz cause on 2,000 intervals, against Simpson's rule."""
    cuts = np.linspace(0, 3, 2001)
    cumulative = np.stack([0.3 * cuts**1.7, 0.1 * np.expm1(0.9 * cuts)])
    hazard = torch.from_numpy(np.diff(cumulative)[None, None])
    place = curves.locate_times(torch.from_numpy(cuts[1:])[None], torch.from_numpy(cuts))
    survival = np.exp(-cumulative.sum(axis=0))
    np.testing.assert_allclose(curves.survival(hazard, place)[0, 0], survival[1:], rtol=1e-12)
    rates = np.stack([0.3 * 1.7 * cuts**0.7, 0.1 * 0.9 * np.exp(0.9 * cuts)])
    expected = cumulative_simpson(rates * survival, x=cuts, initial=0)
    incidence = curves.incidence(hazard, place)[0, 0].numpy()
    np.testing.assert_allclose(incidence, expected[:, 1:], atol=1e-5)
