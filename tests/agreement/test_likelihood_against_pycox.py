"""The likelihood is pycox's PC-Hazard loss, and a density: it integrates to one."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import quad

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pycox.models.loss import nll_pc_hazard_loss

from survtrace.losses.hazard import negative_log_likelihood
from survtrace.tables.outcome.time_grid import locate

GENERATOR = torch.Generator().manual_seed(0)
N, M = 200, 5
LOGITS = 2 * torch.randn(N, 3, M, generator=GENERATOR, dtype=torch.float64)
INTERVAL = torch.randint(0, M, (N,), generator=GENERATOR)
FRACTION = torch.rand(N, generator=GENERATOR, dtype=torch.float64)
EVENT = torch.randint(0, 4, (N,), generator=GENERATOR)


def test_for_one_cause_it_is_the_loss_of_pc_hazard():
    event = (EVENT > 0).long()
    ours = negative_log_likelihood(LOGITS[:, :1], INTERVAL, FRACTION, event)[:, 0]
    theirs = nll_pc_hazard_loss(LOGITS[:, 0], INTERVAL, event.double(), FRACTION, "none")
    torch.testing.assert_close(ours, theirs)
    mean = nll_pc_hazard_loss(LOGITS[:, 0], INTERVAL, event.double(), FRACTION)
    torch.testing.assert_close(ours.mean(), mean)


@pytest.mark.parametrize("cause", [1, 2, 3])
def test_for_several_it_is_theirs_with_other_causes_censored(cause):
    ours = negative_log_likelihood(LOGITS, INTERVAL, FRACTION, EVENT)[:, cause - 1]
    struck = (cause == EVENT).double()
    theirs = nll_pc_hazard_loss(LOGITS[:, cause - 1], INTERVAL, struck, FRACTION, "none")
    torch.testing.assert_close(ours, theirs)


def test_gradients_agree_too():
    ours, theirs = (LOGITS[:, 0].clone().requires_grad_() for _ in range(2))
    event = (EVENT > 0).long()
    negative_log_likelihood(ours[:, None], INTERVAL, FRACTION, event).mean().backward()
    nll_pc_hazard_loss(theirs, INTERVAL, event.double(), FRACTION).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-6, atol=1e-9)


CUTS = np.array([0.0, 0.5, 1.0, 3.0, 4.0, 7.0])


def likelihood(subject, time, event):
    """The density of an event at a time, or the probability of none until then."""
    interval, fraction = locate(np.array([time]), CUTS)
    loss = negative_log_likelihood(
        LOGITS[subject : subject + 1],
        torch.from_numpy(interval),
        torch.from_numpy(fraction),
        torch.tensor([event]),
    ).sum()
    # The log length of the interval, which the loss leaves out, turns hazards into rates.
    length = np.diff(CUTS)[interval[0]] if event else 1.0
    return float(torch.exp(-loss)) / length


@pytest.mark.parametrize("subject", [0, 1, 2])
def test_events_of_all_causes_and_survival_exhaust_all_that_can_happen(subject):
    last = CUTS[-1]
    events = sum(
        quad(lambda t, k=k: likelihood(subject, t, k), a, b, epsabs=1e-10)[0]
        for k in (1, 2, 3)
        for a, b in pairwise(CUTS)
    )
    assert events + likelihood(subject, last, 0) == pytest.approx(1.0, abs=1e-8)
