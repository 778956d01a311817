"""Numbers at the ends of what a float holds: the laws of curves hold, or an error says why."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from survtrace import DataError, SurvTRACE
from survtrace.inference import curves
from survtrace.losses.hazard import negative_log_likelihood

pytestmark = pytest.mark.filterwarnings("ignore::survtrace.DataWarning")


def table(n, n_covariates=3, seed=0):
    """Numbers, and an outcome of two causes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, n_covariates))).add_prefix("x")
    duration = rng.exponential(10.0, n) + 0.1
    return X, pd.DataFrame({"event": np.arange(n) % 3, "duration": duration})


def require_laws(est, X, times=None):
    """Probabilities that sum to 1 and never turn back; the survival, for more."""
    times = np.linspace(0, est.time_grid_[-1], 7) if times is None else times
    survival = est.predict_survival_function(X, times)
    incidence = est.predict_cumulative_incidence(X, times)
    assert np.isfinite(survival).all()
    assert np.isfinite(incidence).all()
    np.testing.assert_allclose(survival + incidence.sum(1), 1.0, atol=1e-6)
    assert (np.diff(survival) <= 1e-7).all()
    assert (np.diff(incidence) >= -1e-7).all()
    return survival


@pytest.mark.parametrize("logit", [-1e4, -800.0, 0.0, 800.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_any_size_have_a_finite_loss_and_gradient(logit, dtype):
    logits = torch.full((3, 2, 4), logit, dtype=dtype, requires_grad=True)
    fraction = torch.tensor([0.0, 0.5, 1.0], dtype=dtype)
    loss = negative_log_likelihood(
        logits, torch.tensor([0, 1, 3]), fraction, torch.tensor([0, 1, 2])
    )
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[1:].abs().max() > 0  # there is a way back from any of them


@pytest.mark.parametrize("logit", [-1e4, 1e4])
@pytest.mark.parametrize("intervals", [[0], [0, 1, 2, 3]])
def test_curves_of_logits_of_any_size_are_probabilities(logit, intervals):
    logits = torch.zeros(2, 3, 2, 4, dtype=torch.float64)
    logits[:, 1, 0, intervals] = logit
    hazard = torch.nn.functional.softplus(logits)
    cuts = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    at = curves.locate_times(torch.linspace(0, 5, 11, dtype=torch.float64).view(1, -1), cuts)
    states = curves.states(hazard, at)
    assert ((states >= 0) & (states <= 1)).all()
    torch.testing.assert_close(states.sum(2), torch.ones_like(states[:, :, 0]))
    for kind in (curves.restricted_mean, curves.cumulative_hazard, curves.net_incidence):
        assert torch.isfinite(kind(hazard, at)).all() or kind is curves.cumulative_hazard


@pytest.mark.parametrize("hazard", [1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3])
def test_the_restricted_mean_of_a_small_hazard_has_all_its_digits(hazard):
    """(1 - exp(-h)) / h would lose half of its digits where h is small."""
    cuts = torch.tensor([0.0, 1.0], dtype=torch.float64)
    at = curves.locate_times(torch.tensor([[1.0]], dtype=torch.float64), cuts)
    mean = curves.restricted_mean(torch.full((1, 1, 1, 1), hazard, dtype=torch.float64), at)
    series = 1 - hazard / 2 + hazard**2 / 6 - hazard**3 / 24 + hazard**4 / 120
    assert mean.item() == pytest.approx(series, rel=0, abs=2e-16)


@pytest.mark.parametrize("unit", [1e-15, 1e15])
def test_any_unit_of_time_gives_the_same_probabilities(tiny, unit):
    X, y = table(90)
    est = SurvTRACE(**tiny).fit(X, y)
    other = SurvTRACE(**tiny).fit(X, y.assign(duration=y["duration"] * unit))
    np.testing.assert_allclose(other.time_grid_, est.time_grid_ * unit, rtol=1e-12)
    times = np.linspace(0, est.time_grid_[-1], 5)
    np.testing.assert_allclose(
        require_laws(other, X, times * unit), require_laws(est, X, times), atol=2e-4
    )


def test_days_for_months_change_nothing_but_the_times(tiny):
    (X, y), days, settings = table(90), 30.4375, {**tiny, "intervals": True}
    by_day = y.assign(duration=y["duration"] * days)
    est, other = (SurvTRACE(**settings).fit(X, each) for each in (y, by_day))
    times = np.linspace(0, est.time_grid_[-1], 7)
    require_same = partial(np.testing.assert_allclose, rtol=0, atol=1e-12)
    require_same(require_laws(other, X, times * days), require_laws(est, X, times))
    ends = other.predict_interval(X, times * days), est.predict_interval(X, times)
    require_same(*map(np.array, ends))
    require_same(other.predict_rmst(X, 5 * days) / days, est.predict_rmst(X, 5))
    require_same(other.score(X, by_day), est.score(X, y))


@pytest.mark.parametrize(
    ("factor", "message"), [(1e300, "at most 1e[+]20"), (1e-300, "0, or at least 1e-20")]
)
def test_durations_beyond_the_range_are_refused(tiny, factor, message):
    X, y = table(60)
    with pytest.raises(DataError, match=f"duration must be {message}"):
        SurvTRACE(**tiny).fit(X, y.assign(duration=y["duration"] * factor))


def test_times_from_0_to_1e300_can_be_asked(fitted_one, one_cause):
    X, times = one_cause[0][:5], [0.0, 1e-300, 1.0, 1e20, 1e300]
    survival = require_laws(fitted_one, X, times)
    assert (survival[:, 0] == 1).all()
    assert (survival[:, 3] == survival[:, 4]).all()
    assert np.isfinite(fitted_one.predict_rmst(X, 1e300)).all()
    later = fitted_one.predict_survival_function(X, times, conditional_after=1e300)
    assert (later == 1).all()


def test_one_event_is_enough(tiny):
    X, y = table(80)
    require_laws(SurvTRACE(**tiny).fit(X, y.assign(event=(y.index == 7).astype(int))), X)


def test_twenty_causes(tiny):
    X, y = table(210)
    est = SurvTRACE(**tiny).fit(X, y.assign(event=np.arange(210) % 21))
    assert est.causes_ == list(range(1, 21))  # 10 after 9, not after 1
    require_laws(est, X)


@pytest.mark.parametrize("n_covariates", [1, 500])
def test_one_covariate_and_five_hundred(tiny, n_covariates):
    X, y = table(60, n_covariates)
    require_laws(SurvTRACE(**{**tiny, "intervals": False, "n_members": 1}).fit(X, y), X[:10])


def test_floats_of_32_and_64_bits_give_the_same_curves(tiny):
    X, y = table(90)
    est = SurvTRACE(**tiny).fit(X, y)
    single = est.predict_cumulative_incidence(X.astype(np.float32), [5.0, 20.0])
    np.testing.assert_allclose(single, est.predict_cumulative_incidence(X, [5.0, 20.0]), atol=1e-5)
    doubled = SurvTRACE(**tiny).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(
        doubled.predict_cumulative_incidence(X, [5.0, 20.0]),
        est.predict_cumulative_incidence(X, [5.0, 20.0]),
        atol=1e-4,
    )
