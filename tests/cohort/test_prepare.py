import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from survtrace import DataError, DataWarning
from survtrace.batch import Batch
from survtrace.cohort.prepare import prepare
from survtrace.cohort.source import checked_weight, read_frame

DEFAULTS = {
    "categorical": None,
    "columns": None,
    "n_intervals": 3,
    "time_grid": None,
    "validation_fraction": 0.2,
    "ips": "none",
    "ips_clip": 0.01,
}


def prepared(cohort, evaluation=None, weight=None, seeds=(1, 2), **changes):
    source = read_frame(*cohort, weight, evaluation)
    with prepare(source, SimpleNamespace(**{**DEFAULTS, **changes}), list(seeds)) as found:
        return found


def tensors(ready):
    return ready.layout.tensors(ready.store)


def validation_of(cohort, **changes):
    """The validation rows of a lone member."""
    return prepared(cohort, seeds=[1], **changes).split.validation[0]


def learned(ready):
    return ready.encoding, ready.cuts.tolist(), ready.trained_on.duration.tolist()


def test_nothing_is_learned_from_the_validation_rows_of_a_lone_member(three_causes):
    X, y = three_causes
    held = validation_of(three_causes)
    changed_X, changed_y = X.copy(), y.copy()
    changed_X.loc[held, "age"] = 1e6
    changed_X.loc[held, "sex"] = "unheard of"
    changed_y.loc[held, "duration"] = 1e4
    with pytest.warns(DataWarning, match="not seen in fit"):
        after = prepared((changed_X, changed_y), seeds=[1])
    before = prepared(three_causes, seeds=[1])
    assert learned(before) == learned(after)
    training = torch.from_numpy(before.split.training[0])
    for old, new in zip(tensors(before), tensors(after), strict=True):
        assert torch.equal(old[training], new[training])


@pytest.mark.parametrize("ips", ["paper", "covariates"])
def test_propensities_are_not_learned_from_validation_rows_either(three_causes, ips):
    X, y = three_causes
    held = validation_of(three_causes)
    changed = X.copy()
    changed.loc[held, "age"] = X.loc[held, "age"].to_numpy()[::-1]
    before, after = (prepared((x, y), seeds=[1], ips=ips) for x in (X, changed))
    training = before.split.training[0]
    ratio = tensors(after).ips[training] / tensors(before).ips[training]
    known = torch.isfinite(ratio)
    torch.testing.assert_close(ratio[known], ratio[known][:1].expand(int(known.sum())))


def test_nothing_is_learned_from_an_evaluation_set(draw_cohort, three_causes):
    X, y = draw_cohort(50, 3, seed=9)
    wild = X.assign(age=1e9, stage="IX"), y.assign(duration=1e9)
    with (
        pytest.warns(DataWarning, match=r"\{'stage': 50\}"),
        pytest.warns(DataWarning, match=r"eval_set has 40 events .* in the same unit"),
    ):
        after = prepared(three_causes, wild)
    tame = prepared(three_causes, (X, y))
    assert learned(after) == learned(tame)
    for old, new in zip(tensors(tame), tensors(after), strict=True):
        assert torch.equal(old[:240], new[:240])
    assert (tame.split.training == np.arange(240)).all()
    assert (tame.split.validation == np.arange(240, 290)).all()


def test_cuts_come_from_the_data_or_from_the_user(one_cause):
    assert len(prepared(one_cause).cuts) == 4
    assert prepared(one_cause, time_grid=[2, 25]).cuts.tolist() == [0.0, 2.0, 25.0]
    X, y = one_cause
    with pytest.raises(DataError, match="at least one subject must have an event"):
        prepared((X, y.assign(event=0)), time_grid=[2, 5])


def stopped_at(y, end):
    """The outcome of a study that stopped at ``end``."""
    event = y["event"].where(y["duration"] <= end, 0)
    return y.assign(event=event, duration=y["duration"].clip(upper=end))


@pytest.mark.parametrize("ips", ["none", "paper", "stabilised", "covariates"])
@pytest.mark.parametrize("with_evaluation", [False, True])
def test_a_grid_that_ends_early_prepares_the_cohort_of_a_study_that_stopped_there(
    draw_cohort, three_causes, ips, with_evaluation
):
    """Draws, intervals, events, stay and weights, to the bit: no later event leaves a trace."""
    (X, y), (more_X, more_y) = three_causes, draw_cohort(40, 3, seed=9)
    early, late = (more_X, stopped_at(more_y, 3.0)), (more_X, more_y)
    given = {"time_grid": [1, 3], "ips": ips}
    n_late = int(((y["duration"] > 3) & (y["event"] > 0)).sum())
    words = rf"{n_late} of {(y['event'] > 0).sum()} events lie beyond the time grid, which ends at"
    with pytest.warns(DataWarning, match=words) as caught:
        cut = prepared((X, y), late if with_evaluation else None, **given)
    assert len(caught) == 1
    stopped = prepared((X, stopped_at(y, 3.0)), early if with_evaluation else None, **given)
    for name, ours, theirs in zip(Batch._fields, tensors(cut), tensors(stopped), strict=True):
        assert torch.equal(ours, theirs), name
    np.testing.assert_array_equal(cut.split.bits, stopped.split.bits)
    used = np.unique(cut.split.training)
    np.testing.assert_array_equal(cut.trained_on.duration, y["duration"].to_numpy()[used])


def test_events_of_validation_rows_beyond_the_last_training_event_are_censored_there(three_causes):
    X, y = three_causes
    held = validation_of(three_causes)
    late = y.copy()
    late.loc[held, "duration"] = 1e4
    ready = prepared((X, late), seeds=[1])
    held = ready.split.validation[0]
    assert (tensors(ready).event[held] == 0).all()
    assert (tensors(ready).fraction[held] == 1).all()


def test_a_grid_that_ends_before_the_first_event_is_refused(one_cause):
    X, y = one_cause
    first = y["duration"][y["event"] > 0].min()
    with pytest.raises(DataError, match=r"at least one event must lie within the time grid; it en"):
        prepared((X, y), time_grid=[first / 2])


def test_the_grid_begins_at_the_first_entry_though_that_subject_is_held_out(one_cause):
    X, y = one_cause
    held = prepared((X, y), seeds=[1]).split.validation[0][0]
    entry = np.where(np.arange(len(y)) == held, 1.0, 2.0)
    late = y.assign(entry=entry, duration=y["duration"] + 2.0)
    ready = prepared((X, late), seeds=[1], mortality_weight=0, stay_weight=0)
    assert held in ready.split.validation[0]
    assert ready.layout.cuts[0] == 1.0


def test_stay_is_standardised_on_training_rows(one_cause):
    ready = prepared(one_cause, seeds=[1])
    stay = tensors(ready).stay[ready.split.training[0]]
    assert stay.mean().item() == pytest.approx(0, abs=1e-5)
    assert stay.std(correction=0).item() == pytest.approx(1, abs=1e-5)


def test_weights_have_mean_one_over_training_rows(one_cause):
    weight = np.random.default_rng(0).uniform(0, 9, 160)
    ready = prepared(one_cause, weight=weight, seeds=[1])
    used = ready.split.training[0]
    assert tensors(ready).weight[used].mean().item() == pytest.approx(1.0, abs=1e-5)
    ratio = tensors(ready).weight.numpy() / weight
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)


@pytest.mark.parametrize(
    "weight",
    [[1.0, 2.0], [[1.0], [1.0], [1.0]], [1.0, np.nan, 1.0], [1, -1, 1], [0, 0, 0], [1, np.inf, 1]],
    ids=str,
)
def test_bad_weights_are_refused(weight):
    with pytest.raises(DataError, match=r"sample_weight must be one finite number .* 3 subjects"):
        checked_weight(weight, 3)


@pytest.mark.parametrize("weight", [["heavy", "light", "light"], "balanced", {0: 1.0, 1: 2.0}])
def test_weights_that_are_no_numbers_are_shown(weight):
    shown = re.escape(repr(weight))
    with pytest.raises(DataError, match=rf"one number for each of the 3 subjects; got {shown}\."):
        checked_weight(weight, 3)
