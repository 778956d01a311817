import pytest
import torch
from torch.nn.functional import softplus

from survtrace.losses.hazard import (
    exposure,
    lived_through,
    log_softplus,
    negative_log_likelihood,
)


def test_exposure_is_whole_before_partial_in_and_none_after():
    lived = exposure(torch.tensor([0, 1, 2]), torch.tensor([0.25, 1.0, 0.0]), 3)
    assert lived.tolist() == [[0.25, 0, 0], [1, 1, 0], [1, 1, 0]]
    batch = exposure(torch.zeros(2, 5, dtype=torch.int64), torch.ones(2, 5), 3)
    assert batch.shape == (2, 5, 3)


def test_log_softplus_is_what_its_name_says():
    x = torch.linspace(-30, 50, 321, dtype=torch.float64)
    expected = torch.log(torch.log1p(torch.exp(x)))
    torch.testing.assert_close(log_softplus(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_its_gradient_never_vanishes_for_very_negative_logits(dtype):
    x = torch.tensor([-1e30, -1e4, -200.0, -50.0, -20.0], dtype=dtype, requires_grad=True)
    log_softplus(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.ones_like(x))


def test_its_gradient_is_right_everywhere():
    x = torch.tensor([-40.0, -10.5, -9.5, -1.0, 0.0, 3.0, 40.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(log_softplus, x.requires_grad_())


def test_it_has_no_step_where_the_formula_changes():
    x = torch.tensor([-10 - 1e-9, -10 + 1e-9], dtype=torch.float64, requires_grad=True)
    low, high = log_softplus(x)
    assert (high - low).item() == pytest.approx(0, abs=1e-8)
    (low + high).backward()
    assert (x.grad[0] - x.grad[1]).item() == pytest.approx(0, abs=1e-8)


def test_it_is_finite_for_huge_logits_too():
    x = torch.tensor([1e30, 1e4], requires_grad=True)
    log_softplus(x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_the_likelihood_adds_survived_hazards_and_subtracts_the_log_hazard_that_struck():
    logits = torch.randn(4, 2, 3)
    h = softplus(logits)
    interval, fraction = torch.tensor([0, 1, 2, 2]), torch.tensor([0.5, 1.0, 0.25, 1.0])
    loss = negative_log_likelihood(logits, interval, fraction, torch.tensor([0, 1, 2, 0]))
    torch.testing.assert_close(loss[0], 0.5 * h[0, :, 0])
    torch.testing.assert_close(loss[1, 0], h[1, 0, 0] + h[1, 0, 1] - torch.log(h[1, 0, 1]))
    torch.testing.assert_close(loss[1, 1], h[1, 1, 0] + h[1, 1, 1])
    torch.testing.assert_close(
        loss[2, 1], h[2, 1, 0] + h[2, 1, 1] + 0.25 * h[2, 1, 2] - torch.log(h[2, 1, 2])
    )
    torch.testing.assert_close(loss[3], h[3].sum(-1))


def test_its_gradient_is_right():
    logits = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    interval, event = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2])
    fraction = torch.rand(3, dtype=torch.float64)

    def loss(logits):
        return negative_log_likelihood(logits, interval, fraction, event)

    assert torch.autograd.gradcheck(loss, logits)


def test_any_number_of_leading_axes_will_do():
    logits, interval = torch.randn(2, 5, 3, 4), torch.randint(0, 4, (2, 5))
    fraction, event = torch.rand(2, 5), torch.randint(0, 4, (2, 5))
    together = negative_log_likelihood(logits, interval, fraction, event)
    assert together.shape == (2, 5, 3)
    for member in range(2):
        parts = (logits, interval, fraction, event)
        alone = negative_log_likelihood(*(part[member] for part in parts))
        torch.testing.assert_close(together[member], alone)


def test_extreme_logits_give_a_finite_loss_and_gradient():
    logits = torch.tensor([[[-1e6, 1e4]], [[1e4, -1e6]]], requires_grad=True)
    loss = negative_log_likelihood(
        logits, torch.tensor([0, 1]), torch.tensor([0.5, 0.5]), torch.tensor([1, 1])
    )
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(logits.grad).all()


def draw_late_entries(n_subjects=400, n_intervals=4):
    """Exit, event and entry of each subject: interval and fraction of the entry come last."""
    generator = torch.Generator().manual_seed(5)
    ends = n_intervals * torch.rand(n_subjects, 2, generator=generator, dtype=torch.float64)
    entry, end = ends.sort(dim=1).values.T
    event = torch.randint(0, 3, (n_subjects,), generator=generator)
    return end.long(), end.frac(), event, entry.long(), entry.frac()


def test_a_subject_is_exposed_from_its_entry_to_its_exit():
    entry, entry_fraction = torch.tensor([0, 1, 2, 2]), torch.tensor([0.0, 0.5, 0.25, 0.5])
    interval, fraction = torch.tensor([1, 2, 2, 2]), torch.tensor([0.5, 0.25, 0.75, 0.5])
    lived = lived_through(entry, entry_fraction, interval, fraction, 3)
    assert lived.tolist() == [[1, 0.5, 0], [0, 0.5, 0.25], [0, 0, 0.5], [0, 0, 0]]


def test_what_happened_before_entry_has_no_part_in_the_loss():
    interval, fraction, event, entry, entry_fraction = draw_late_entries()
    logits = torch.randn(400, 2, 4, dtype=torch.float64)
    given = interval, fraction, event, entry, entry_fraction
    loss = negative_log_likelihood(logits, *given)
    before = torch.arange(4) < entry.unsqueeze(-1)
    changed = torch.where(before.unsqueeze(-2), 7.0, logits)
    torch.testing.assert_close(negative_log_likelihood(changed, *given), loss)


def test_an_entry_at_the_first_cut_is_none():
    interval, fraction, event, *_ = draw_late_entries()
    logits, start = torch.randn(400, 2, 4, dtype=torch.float64), torch.zeros_like(interval)
    loss = negative_log_likelihood(logits, interval, fraction, event)
    late = negative_log_likelihood(logits, interval, fraction, event, start, start.to(fraction))
    assert torch.equal(loss, late)


def test_without_covariates_the_best_hazards_are_events_over_exposure():
    """In each interval, with late entries as without."""
    interval, fraction, event, entry, entry_fraction = draw_late_entries()
    logits = torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [logits], max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
    )

    def loss():
        optimiser.zero_grad()
        everybody = logits.expand(400, 2, 4)
        given = interval, fraction, event, entry, entry_fraction
        total = negative_log_likelihood(everybody, *given).sum()
        total.backward()
        return total

    optimiser.step(loss)
    lived = lived_through(entry, entry_fraction, interval, fraction, 4).sum(0)
    for cause in (1, 2):
        n_events = torch.bincount(interval[event == cause], minlength=4)
        torch.testing.assert_close(softplus(logits[cause - 1]), n_events / lived)
