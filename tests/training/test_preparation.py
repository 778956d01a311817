import numpy as np
import pytest
import torch

from survtrace import DataError, DataWarning
from survtrace.data.covariates import open_table
from survtrace.data.outcome import read_outcome
from survtrace.training.preparation import Subjects, checked_weight, prepare

DEFAULTS = {
    "seeds": [1, 2],
    "categorical": None,
    "n_intervals": 3,
    "time_grid": None,
    "validation_fraction": 0.2,
    "ips": "none",
    "ips_clip": 0.01,
}


def subjects(X, y, weight=None):
    return Subjects(open_table(X), read_outcome(y), np.ones(len(X)) if weight is None else weight)


def prepared(cohort, evaluation=None, weight=None, **changes):
    return prepare(
        subjects(*cohort, weight),
        None if evaluation is None else subjects(*evaluation),
        **{**DEFAULTS, **changes},
    )


def validation_of(cohort, **changes):
    """The validation rows of a lone member."""
    return prepared(cohort, seeds=[1], **changes).draws.validation[0]


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
    training = torch.from_numpy(before.draws.training[0])
    for old, new in zip(before.cohort, after.cohort, strict=True):
        assert torch.equal(old[training], new[training])


@pytest.mark.parametrize("ips", ["paper", "covariates"])
def test_propensities_are_not_learned_from_validation_rows_either(three_causes, ips):
    X, y = three_causes
    held = validation_of(three_causes)
    changed = X.copy()
    changed.loc[held, "age"] = X.loc[held, "age"].to_numpy()[::-1]
    before, after = (prepared((x, y), seeds=[1], ips=ips) for x in (X, changed))
    training = before.draws.training[0]
    ratio = after.cohort.ips[training] / before.cohort.ips[training]
    known = torch.isfinite(ratio)
    torch.testing.assert_close(ratio[known], ratio[known][:1].expand(int(known.sum())))


def test_nothing_is_learned_from_an_evaluation_set(draw_cohort, three_causes):
    X, y = draw_cohort(50, 3, seed=9)
    wild = X.assign(age=1e9, stage="IX"), y.assign(duration=1e9)
    with pytest.warns(DataWarning, match=r"\{'stage': 50\}"):
        after = prepared(three_causes, wild)
    tame = prepared(three_causes, (X, y))
    assert learned(after) == learned(tame)
    for old, new in zip(tame.cohort, after.cohort, strict=True):
        assert torch.equal(old[:240], new[:240])
    assert (tame.draws.training == np.arange(240)).all()
    assert (tame.draws.validation == np.arange(240, 290)).all()


def test_cuts_come_from_the_data_or_from_the_user(one_cause):
    assert len(prepared(one_cause).cuts) == 4
    assert prepared(one_cause, time_grid=[2, 5]).cuts.tolist() == [0.0, 2.0, 5.0]
    X, y = one_cause
    with pytest.raises(DataError, match="at least one subject must have an event"):
        prepared((X, y.assign(event=0)), time_grid=[2, 5])


def test_stay_is_standardised_on_training_rows(one_cause):
    ready = prepared(one_cause, seeds=[1])
    stay = ready.cohort.stay[ready.draws.training[0]]
    assert stay.mean().item() == pytest.approx(0, abs=1e-5)
    assert stay.std(correction=0).item() == pytest.approx(1, abs=1e-5)


def test_weights_have_mean_one_over_training_rows(one_cause):
    weight = np.random.default_rng(0).uniform(0, 9, 160)
    ready = prepared(one_cause, weight=weight, seeds=[1])
    used = ready.draws.training[0]
    assert ready.cohort.weight[used].mean().item() == pytest.approx(1.0, abs=1e-5)
    ratio = ready.cohort.weight.numpy() / weight
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)


@pytest.mark.parametrize(
    "weight",
    [[1.0, 2.0], [[1.0], [1.0], [1.0]], [1.0, np.nan, 1.0], [1, -1, 1], [0, 0, 0], [1, np.inf, 1]],
    ids=str,
)
def test_bad_weights_are_refused(weight):
    with pytest.raises(DataError, match=r"sample_weight must be one finite number .* 3 subjects"):
        checked_weight(weight, 3)


def test_weights_that_are_words_are_refused_too():
    with pytest.raises(DataError, match="sample_weight"):
        checked_weight(["heavy", "light", "light"], 3)
