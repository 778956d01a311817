"""Rescale the hazards of a fitted network to new subjects: a factor per cause, and a power.

A hazard h of a cause becomes a r (h / r)^b, where r is the hazard of a typical subject in the same
interval: ``a`` moves the level, ``b`` pulls subjects apart (above 1) or together (below 1), and the
course over time stays as it was learned. Both are what makes the likelihood of the predicted curve
highest, that of the average over members: 2 numbers per cause for any number of members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from torch import Tensor

from survtrace import ops
from survtrace.batch import Batch
from survtrace.losses.hazard import exposure, lived_through, log_softplus
from survtrace.network.assembly import Network
from survtrace.training.recalibration import count_events, recalibration_factors

CHUNK = 2**13  # subjects whose hazards are held as doubles at a time
# What is assumed before an event is seen: half an event where half is expected, as in
# `recalibration_factors`, and a power that is 1 with this standard deviation. A few events then
# change little, and a cause without any keeps a hazard above 0.
HALF_AN_EVENT, SPREAD_OF_POWER = 0.5, 0.5
LARGEST_POWER = 4.0


class Rescaling(NamedTuple):
    """The logarithm of the factor, and the power, of each cause."""

    log_factor: Float[Tensor, " cause"]
    power: Float[Tensor, " cause"]


def rescale(network: Network, subjects: Batch, *, with_power: bool) -> Rescaling:
    """Fit factors, and powers if asked for, to subjects, and put them into the network."""
    log_hazard = log_hazards(network, subjects)
    typical = typical_log_hazards(log_hazard, subjects)
    found = most_likely(log_hazard, typical, subjects, with_power=with_power)
    put_into(network, found, typical)
    return found


@torch.no_grad()
def log_hazards(
    network: Network, subjects: Batch
) -> Float[Tensor, "member subject cause interval"]:
    """Compute the logarithms of the hazards as they are predicted now."""
    parts = []
    for rows, values in zip(subjects.rows.split(CHUNK), subjects.values.split(CHUNK), strict=True):
        logits = ops.cause_logits(network, rows[None], values[None])
        parts.append(log_softplus(logits) * network.hazard_power.view(-1, 1))
    return torch.cat(parts, dim=1) + torch.log(network.recalibration_factor)


def typical_log_hazards(
    log_hazard: Float[Tensor, "member subject cause interval"], subjects: Batch
) -> Float[Tensor, "cause interval"]:
    """Average log hazards of those under observation in each interval; of all, where nobody is."""
    lived = _lived(subjects, log_hazard)
    seen = lived.sum(0)
    weight = torch.where(seen > 0, lived / seen.clamp(min=1e-12), 1 / len(lived))
    return torch.einsum("si,ski->ki", weight, log_hazard.mean(0))


def most_likely(
    log_hazard: Float[Tensor, "member subject cause interval"],
    typical: Float[Tensor, "cause interval"],
    subjects: Batch,
    *,
    with_power: bool,
) -> Rescaling:
    """Find the factors and powers under which the outcomes are most likely."""
    n_causes = len(typical)
    bounds = [(-10.0, 10.0)] * n_causes
    bounds += [(0.0, LARGEST_POWER) if with_power else (1.0, 1.0)] * n_causes
    start = np.concatenate([_first_guess(log_hazard, subjects), np.ones(n_causes)])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = torch.from_numpy(x.copy()).requires_grad_()
        return _loss_and_gradient(parameters, log_hazard, typical, subjects)

    found = torch.from_numpy(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    return Rescaling(found[:n_causes], found[n_causes:])


@torch.no_grad()
def put_into(network: Network, found: Rescaling, typical: Float[Tensor, "cause interval"]) -> None:
    """Change factor and power of a network: those it had are hazards like any other."""
    factor = network.recalibration_factor
    power = found.power.to(factor).view(-1, 1)
    shift = found.log_factor.to(factor).view(-1, 1) + (1 - power) * typical.to(factor)
    network.recalibration_factor.copy_(torch.exp(shift) * factor**power)
    network.hazard_power.mul_(power.view(-1))


def log_likelihood(
    hazard_logs: Float[Tensor, "member subject cause interval"], subjects: Batch
) -> Float[Tensor, " subject"]:
    """Compute the log likelihood of each outcome under the average of the members' curves.

    Given that the subject was event-free at its entry: there each member counts by its share of
    the survivors. The log length of the interval is left out: no factor or power changes it.
    """
    total = torch.exp(hazard_logs).sum(2)
    n_intervals = total.shape[-1]
    survived = (total * _lived(subjects, total)).sum(-1)
    before = exposure(subjects.entry_interval, subjects.entry_fraction, n_intervals).to(total)
    share = torch.log_softmax(-(total * before).sum(-1), dim=0)
    place = subjects.interval.view(1, -1, 1, 1).expand(*hazard_logs.shape[:3], 1)
    at_event = hazard_logs.gather(-1, place).squeeze(-1)
    cause = (subjects.event - 1).clamp(min=0).view(1, -1, 1).expand(len(total), -1, 1)
    struck = torch.where(subjects.event > 0, at_event.gather(-1, cause).squeeze(-1), 0.0)
    return torch.logsumexp(share + struck - survived, dim=0)


def _loss_and_gradient(
    parameters: Float[Tensor, " parameter"],
    log_hazard: Float[Tensor, "member subject cause interval"],
    typical: Float[Tensor, "cause interval"],
    subjects: Batch,
) -> tuple[float, np.ndarray]:
    log_factor, power = parameters.to(log_hazard.device).view(2, -1, 1)
    prior = HALF_AN_EVENT * (torch.exp(log_factor) - log_factor).sum()
    prior = prior + ((power - 1) ** 2).sum() / (2 * SPREAD_OF_POWER**2)
    prior.backward(retain_graph=True)
    total = float(prior.detach())
    for first in range(0, len(subjects.event), CHUNK):
        some = slice(first, first + CHUNK)
        above = log_hazard[:, some].double() - typical.double()
        scaled = log_factor + typical.double() + power * above
        loss = -log_likelihood(scaled, Batch(*(column[some] for column in subjects))).sum()
        loss.backward(retain_graph=True)
        total += float(loss.detach())
    assert parameters.grad is not None
    return total, parameters.grad.numpy()


def events_ratio(network: Network, subjects: Batch) -> float:
    """Compute events of any cause, observed over expected; half of one is added to both."""
    counts = [
        each.sum() for each in _expected_and_observed(log_hazards(network, subjects), subjects)
    ]
    return float((counts[1] + HALF_AN_EVENT) / (counts[0] + HALF_AN_EVENT))


def _first_guess(log_hazard: Tensor, subjects: Batch) -> np.ndarray:
    """Compute the log of observed over expected events, where the search for factors begins."""
    expected, observed = _expected_and_observed(log_hazard, subjects)
    guess = torch.log(recalibration_factors(expected[:, None], observed[:, None]))
    return guess.squeeze(1).double().cpu().numpy()


def _expected_and_observed(log_hazard: Tensor, subjects: Batch) -> tuple[Tensor, Tensor]:
    """Count events of each cause: expected, mean over members, and observed."""
    n_causes, n_intervals = log_hazard.shape[2:]
    lived = _lived(subjects, log_hazard)
    expected = torch.einsum("ski,si->k", torch.exp(log_hazard).mean(0), lived)
    ones = torch.ones_like(subjects.fraction)
    observed = count_events(subjects.interval, subjects.event, ones, n_causes, n_intervals).sum(-1)
    return expected, observed.to(expected)


def _lived(subjects: Batch, hazards: Tensor) -> Float[Tensor, "subject interval"]:
    """Compute how much of each interval of these hazards each subject lived through."""
    entry = subjects.entry_interval, subjects.entry_fraction
    end = subjects.interval, subjects.fraction
    return lived_through(*entry, *end, hazards.shape[-1]).to(hazards)
