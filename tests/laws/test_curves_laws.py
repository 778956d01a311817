"""What curves must satisfy for any hazards, the absurd ones included."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from survtrace.inference import curves


@st.composite
def anything(draw, largest=1e25, n_causes=None, n_members=None):
    """Hazards of any size, cuts from 0 or later, and times before, on, between and after them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (
        n_members or draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        n_causes or draw(st.integers(1, 4)),
        draw(st.integers(1, 5)),
    )
    ordinary = rng.gamma(0.5, 1.0, shape)
    palette = np.array([0.0, 1e-300, 1e-40, 1e-8, 1.0, 30.0, 800.0, 1e5, 1e25])
    extreme = rng.choice(palette[palette <= largest], shape)
    wild = rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    late = draw(st.sampled_from([0.0, 32.0]))
    cuts = late + np.concatenate([[0.0], np.cumsum(rng.uniform(0.01, 10.0, shape[3]))])
    times = np.concatenate([cuts, rng.uniform(0, cuts[-1], 12), cuts[-1:] * 2])
    hazard = np.where(wild, extreme, ordinary).clip(max=largest)
    return torch.from_numpy(hazard), torch.from_numpy(cuts), torch.from_numpy(np.sort(times))


def at(times, cuts):
    return curves.locate_times(times.view(1, -1), cuts)


@given(anything())
def test_survival_and_incidences_sum_to_one(case):
    hazard, cuts, times = case
    total = curves.survival(hazard, at(times, cuts)) + curves.incidence(
        hazard, at(times, cuts)
    ).sum(2)
    torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-12)


@given(anything())
def test_curves_start_where_nothing_has_happened(case):
    hazard, cuts, times = case
    start = at(torch.zeros_like(times[:1]), cuts)
    assert (curves.survival(hazard, start) == 1).all()
    assert (curves.incidence(hazard, start) == 0).all()
    assert (curves.net_incidence(hazard, start) == 0).all()


@given(anything())
def test_curves_never_turn_back_and_stay_probabilities(case):
    hazard, cuts, times = case
    falling = curves.survival(hazard, at(times, cuts))
    assert (falling.diff() <= 0).all()
    for rising in (
        curves.incidence(hazard, at(times, cuts)),
        curves.net_incidence(hazard, at(times, cuts)),
        1 - falling,
    ):
        assert (rising.diff() >= -1e-15).all()
        assert ((rising >= 0) & (rising <= 1 + 1e-12)).all()


@given(anything(n_causes=1))
def test_for_one_cause_all_three_say_the_same(case):
    hazard, cuts, times = case
    gone = 1 - curves.survival(hazard, at(times, cuts))
    incidence = curves.incidence(hazard, at(times, cuts))[:, :, 0]
    net = curves.net_incidence(hazard, at(times, cuts))[:, :, 0]
    torch.testing.assert_close(incidence, gone, rtol=0, atol=1e-12)
    torch.testing.assert_close(net, gone, rtol=0, atol=1e-12)


@st.composite
def starts(draw, case):
    """A time for each subject at which it is event-free: inside intervals, on cuts, beyond."""
    hazard, cuts, _ = case
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    anywhere = rng.uniform(0, 1.2 * float(cuts[-1]), (hazard.shape[1], 1))
    on_a_cut = rng.choice(cuts.numpy(), anywhere.shape)
    return torch.from_numpy(np.where(rng.random(anywhere.shape) < 0.5, anywhere, on_a_cut))


def conditional(hazard, cuts, start, times):
    """Survival (subject, time) and incidence (subject, cause, time), averaged over members."""
    left, place = curves.after(hazard, cuts, start, times.view(1, -1))
    share = curves.member_shares(hazard, curves.locate_times(start, cuts))
    survival = (share * curves.survival(left, place)).sum(0)
    return survival, (share.unsqueeze(2) * curves.incidence(left, place)).sum(0)


@given(st.data())
def test_the_future_of_survivors_is_coherent_however_few_they_are(data):
    hazard, cuts, times = data.draw(anything())
    start = data.draw(starts((hazard, cuts, times)))
    survival, incidence = conditional(hazard, cuts, start, times)
    total = survival + incidence.sum(1)
    torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-12)
    assert ((survival >= 0) & (survival <= 1 + 1e-12)).all()
    assert (survival.diff() <= 1e-15).all()
    assert (incidence.diff() >= -1e-15).all()
    early = (times.view(1, -1) <= start).unsqueeze(1).expand(incidence.shape)
    assert (incidence[early] == 0).all()


@given(st.data())
def test_it_is_the_rest_of_the_curve_over_survival_where_that_is_no_rounding_noise(data):
    hazard, cuts, times = data.draw(anything(largest=1.0))
    start = data.draw(starts((hazard, cuts, times)))
    begin, later = curves.locate_times(start, cuts), torch.maximum(times.view(1, -1), start)
    alive = curves.survival(hazard, begin).mean(0)
    place = curves.locate_times(later, cuts)
    survival, incidence = conditional(hazard, cuts, start, times)
    rest = curves.survival(hazard, place).mean(0) / alive
    torch.testing.assert_close(survival, rest, rtol=1e-12, atol=1e-12)
    since = curves.incidence(hazard, place) - curves.incidence(hazard, begin)
    known = (alive > 1e-3).squeeze(1)
    torch.testing.assert_close(
        incidence[known], (since.mean(0) / alive.unsqueeze(1))[known], rtol=0, atol=1e-12
    )


@given(st.data())
def test_hazards_quantiles_and_means_of_survivors_follow_from_their_survival(data):
    hazard, cuts, times = data.draw(anything(largest=1.0))
    start = data.draw(starts((hazard, cuts, times)))
    survival, _ = conditional(hazard, cuts, start, times)
    place = at(times, cuts)._replace(start=start)
    cumulative = curves.cumulative_hazard(hazard, place)[0]
    torch.testing.assert_close(cumulative.sum(1), -torch.log(survival), rtol=1e-6, atol=1e-8)
    assert (cumulative.diff() >= -1e-15).all()
    levels = torch.tensor([0.9, 0.4], dtype=torch.float64)
    found = curves.crossing_time(hazard, at(levels, cuts)._replace(start=start))[0]
    assert (found >= torch.maximum(start, cuts[0])).all()
    last, _ = conditional(hazard, cuts, start, cuts[-1:])
    assert torch.equal(found.isinf(), last > levels)
    for subject, level in zip(*torch.where(found.isfinite()), strict=True):
        time, begin = found[subject, level].view(1), start[subject : subject + 1]
        left, _ = conditional(hazard[:, [subject]], cuts, begin, time)
        assert left.item() == pytest.approx(levels[level].item(), abs=1e-9)
    mean = curves.restricted_mean(*curves.after(hazard, cuts, start, times.view(1, -1)))
    gone = (times - start).clamp(min=0)
    assert ((mean >= 0) & (mean <= gone * (1 + 1e-12) + 1e-12)).all()


@given(anything())
def test_net_incidence_is_never_below_incidence(case):
    hazard, cuts, times = case
    net = curves.net_incidence(hazard, at(times, cuts))
    assert (net >= curves.incidence(hazard, at(times, cuts)) - 1e-12).all()


@given(anything(), st.randoms(use_true_random=False))
def test_permuted_causes_and_subjects_permute_the_axes(case, random):
    hazard, cuts, times = case
    causes, subjects = list(range(hazard.shape[2])), list(range(hazard.shape[1]))
    random.shuffle(causes)
    random.shuffle(subjects)
    permuted = curves.incidence(hazard[:, subjects][:, :, causes], at(times, cuts))
    expected = curves.incidence(hazard, at(times, cuts))[:, subjects][:, :, causes]
    torch.testing.assert_close(permuted, expected, rtol=1e-12, atol=1e-12)


@given(anything())
def test_a_cause_without_hazard_changes_nothing(case):
    hazard, cuts, times = case
    more = torch.cat([hazard, torch.zeros_like(hazard[:, :, :1])], dim=2)
    place = at(times, cuts)
    assert torch.equal(curves.survival(more, place), curves.survival(hazard, place))
    incidence = curves.incidence(more, place)
    assert torch.equal(incidence[:, :, :-1], curves.incidence(hazard, place))
    assert not incidence[:, :, -1].any()


@given(anything(), st.sampled_from([0.25, 2.0, 1024.0]))
def test_a_change_of_unit_changes_no_probability(case, factor):
    hazard, cuts, times = case
    months, days = at(times, cuts), at(times * factor, cuts * factor)
    assert torch.equal(curves.survival(hazard, months), curves.survival(hazard, days))
    assert torch.equal(curves.incidence(hazard, months), curves.incidence(hazard, days))
    torch.testing.assert_close(
        curves.restricted_mean(hazard, months) * factor,
        curves.restricted_mean(hazard, days),
    )


@given(anything())
def test_a_cut_that_changes_no_hazard_changes_no_curve(case):
    """An interval halved, its hazard shared out: the same curves."""
    hazard, cuts, times = case
    middle = (cuts[:-1] + cuts[1:]) / 2
    finer = torch.sort(torch.cat([cuts, middle])).values
    halved = (hazard / 2).repeat_interleave(2, dim=-1)
    torch.testing.assert_close(
        curves.incidence(halved, at(times, finer)),
        curves.incidence(hazard, at(times, cuts)),
        rtol=1e-9,
        atol=1e-9,
    )


@given(anything(largest=1.0), st.floats(0.01, 0.99))
def test_a_quantile_inverts_mean_survival(case, level):
    hazard, cuts, _ = case
    levels = torch.tensor([level], dtype=torch.float64)
    found = curves.crossing_time(hazard, at(levels, cuts))[0]
    last = curves.survival(hazard, at(cuts[-1:], cuts)).mean(0)
    assert torch.equal(found.isinf(), last > level)
    known = torch.where(found.isinf(), cuts[-1], found)
    survival = curves.survival(hazard, curves.locate_times(known, cuts)).mean(0)
    torch.testing.assert_close(
        survival, torch.where(found.isinf(), last, level), rtol=0, atol=1e-12
    )


@given(anything())
def test_quantiles_of_absurd_hazards_are_still_ordered_times(case):
    hazard, cuts, _ = case
    levels = torch.tensor([0.9, 0.5, 0.1], dtype=torch.float64)
    found = curves.crossing_time(hazard, at(levels, cuts))[0]
    assert ((found >= 0) & ((found <= cuts[-1]) | found.isinf())).all()
    assert (found[:, :-1] <= found[:, 1:]).all()


@given(anything())
def test_the_restricted_mean_is_between_nothing_and_the_whole_time(case):
    hazard, cuts, times = case
    mean = curves.restricted_mean(hazard, at(times, cuts))
    assert ((mean >= 0) & (mean <= times * (1 + 1e-12))).all()
    assert (mean.diff() >= -1e-12 * cuts[-1]).all()


@given(anything(largest=1.0))
def test_cumulative_hazards_sum_to_minus_the_logarithm_of_survival(case):
    hazard, cuts, times = case
    cumulative = curves.cumulative_hazard(hazard, at(times, cuts))[0]
    survival = curves.survival(hazard, at(times, cuts)).mean(0)
    torch.testing.assert_close(cumulative.sum(1), -torch.log(survival), rtol=1e-6, atol=1e-8)
    assert (cumulative.diff() >= -1e-15).all()


@given(anything(largest=800.0))
def test_they_do_so_when_members_disagree_wildly_too(case):
    hazard, cuts, times = case
    place = at(times, cuts)
    cumulative = curves.cumulative_hazard(hazard, place)[0].sum(1)
    survival = curves.survival(hazard, place).mean(0)
    seen = survival > 1e-280
    torch.testing.assert_close(cumulative[seen], -torch.log(survival[seen]), rtol=1e-3, atol=1e-3)


@given(anything(n_members=1, largest=1e5))
def test_with_one_member_they_are_sums_of_hazards_however_large(case):
    hazard, cuts, times = case
    at_the_end = curves.cumulative_hazard(hazard, at(times, cuts))[0][..., -1]
    torch.testing.assert_close(at_the_end, hazard[0].sum(-1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("largest", [1.0, 1e25])
def test_curves_are_finite(largest):
    @given(anything(largest=largest))
    def finite(case):
        hazard, cuts, times = case
        place = at(times, cuts)
        for values in (
            curves.survival(hazard, place),
            curves.incidence(hazard, place),
            curves.net_incidence(hazard, place),
            curves.restricted_mean(hazard, place),
            curves.cumulative_hazard(hazard, place),
        ):
            assert torch.isfinite(values).all()

    finite()
