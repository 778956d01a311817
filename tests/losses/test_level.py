import torch

from survtrace.losses.level import count_events, level_factors

GENERATOR = torch.Generator().manual_seed(0)
INTERVAL = torch.randint(0, 3, (200,), generator=GENERATOR)
FRACTION = torch.rand(200, generator=GENERATOR)
EVENT = torch.randint(0, 3, (200,), generator=GENERATOR)
WEIGHT = torch.rand(200, generator=GENERATOR) + 0.5


def test_events_are_counted_by_cause_and_interval_with_their_weights():
    counts = count_events(INTERVAL, EVENT, WEIGHT, 2, 3)
    for cause in (1, 2):
        for interval in range(3):
            here = (cause == EVENT) & (interval == INTERVAL)
            torch.testing.assert_close(counts[cause - 1, interval], WEIGHT[here].sum())


def test_members_are_counted_apart():
    both = torch.stack([INTERVAL, INTERVAL.flip(0)])
    events, weights = EVENT.expand(2, -1), WEIGHT.expand(2, -1)
    counts = count_events(both, events, weights, 2, 3)
    torch.testing.assert_close(counts[1], count_events(both[1], EVENT, WEIGHT, 2, 3))


def test_factors_bring_expected_to_observed_within_half_an_event():
    expected, observed = torch.rand(2, 3) * 50, torch.rand(2, 3) * 50
    level = level_factors(expected, observed)
    assert ((expected * level - observed).abs() <= 0.5 * (1 + level)).all()
    assert (level_factors(expected, torch.zeros(2, 3)) > 0).all()
    assert torch.isfinite(level_factors(torch.zeros(2, 3), observed)).all()
