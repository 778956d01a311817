import copy

import numpy as np
import pandas as pd
import pytest
import torch

from survtrace import SurvTRACE
from survtrace.batch import INTEGER_COLUMNS, Batch
from survtrace.datasets import make_cohort
from survtrace.metrics import aalen_johansen
from survtrace.training import fit as fit_module
from survtrace.training.unknown import _hide, recalibrated_heads

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("unknown")
SETTINGS = {"n_members": 2, "max_epochs": 8, "lr": 5e-3, "random_state": 0, "verbose": False}


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(1500, proportions=(0.4, 0.2), random_state=0)


@pytest.fixture(scope="module")
def fits(cohort):
    """The same fit without and with the steps that learn what unknown means."""
    return [SurvTRACE(**SETTINGS, unknown_steps=n).fit(*cohort) for n in (0, 200)]


def test_answers_for_rows_without_unknown_values_do_not_change(cohort, fits):
    known = cohort[0].dropna()
    without, with_steps = (est.predict_cumulative_incidence(known) for est in fits)
    np.testing.assert_array_equal(without, with_steps)


def test_nothing_but_rows_that_training_did_not_teach_is_changed(cohort, fits):
    before, after = (dict(est.network_.named_parameters()) for est in fits)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"embedding.table"}
    rows = (before["embedding.table"] != after["embedding.table"]).any(2).any(0)
    silent = set(fits[0].encoding_.silent_rows)
    assert set(torch.nonzero(rows).flatten().tolist()) <= silent


def test_a_patient_of_whom_nothing_is_known_gets_about_the_cohorts_incidence(cohort, fits):
    X, y = cohort
    nobody = pd.DataFrame({name: [np.nan] for name in X.columns})
    times = [24.0, 60.0]
    observed = np.array([aalen_johansen(y, cause).at(times) for cause in (1, 2)])
    off = [
        np.abs(est.predict_cumulative_incidence(nobody, times)[0] / observed - 1).max()
        for est in fits
    ]
    assert off[1] < 0.2
    assert off[1] < off[0] / 2


def test_a_value_that_many_subjects_lack_keeps_the_meaning_training_gave_it(cohort):
    X, y = cohort
    lacking = X.assign(**{X.columns[0]: X.iloc[:, 0].mask(np.arange(len(X)) % 4 == 0)})
    without, with_steps = (
        SurvTRACE(**SETTINGS, unknown_steps=n).fit(lacking, y).predict(lacking) for n in (0, 200)
    )
    np.testing.assert_array_equal(without, with_steps)


@pytest.mark.filterwarnings("ignore:.*unlike the patients:UserWarning")
def test_a_level_never_seen_is_learned_too(cohort, fits):
    X = cohort[0]
    name = X.select_dtypes(["category", "object"]).columns[0]
    strange = X.assign(**{name: "never seen"}).head(200)
    with pytest.warns(UserWarning, match="unseen token"):
        without, with_steps = (est.predict(strange) for est in fits)
    assert not np.array_equal(without, with_steps)


def test_of_a_single_covariate_unknown_is_learned_too(cohort):
    X, y = cohort
    age = X[["age"]]
    tables = [
        SurvTRACE(**{**SETTINGS, "max_epochs": 1}, unknown_steps=n).fit(age, y).network_.embedding
        for n in (0, 5)
    ]
    before, after = (each.table.detach()[:, 0] for each in tables)
    assert (before != after).any(1).all()


def test_a_quarter_of_what_is_hidden_is_unseen_and_a_share_above_1_hides_all(monkeypatch):
    """Of three subjects no, half of and all covariates are hidden, by numbers drawn here."""
    quarters = torch.tensor([0.0, 0.25, 0.5, 0.75])
    share = torch.tensor([0.0, 0.4, 0.9])[:, None].expand(3, 4)
    drawn = torch.stack([share, quarters.expand(3, 4), quarters.expand(3, 4)])
    monkeypatch.setattr(torch, "rand", lambda *_, **__: drawn)
    numbers, none = torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, 3)
    batch = Batch(
        rows=torch.full((1, 3, 4), 7, dtype=torch.int32),
        values=torch.full((1, 3, 4), 0.5),
        **dict.fromkeys(INTEGER_COLUMNS, numbers),
        **dict.fromkeys(("fraction", "stay", "weight", "entry_fraction", "whole"), none),
        ips=torch.ones(1, 3, 1),
    )
    unknown = torch.tensor([[10, 20, 30, 40], [11, 21, 31, 41]])
    rows, values = _hide(batch, unknown, torch.Generator())
    assert rows[0].tolist() == [[7, 7, 7, 7], [11, 20, 7, 7], [11, 20, 30, 40]]
    assert values[0].tolist() == [[0.5] * 4, [1.0, 1.0, 0.5, 0.5], [1.0] * 4]


def test_heads_are_recalibrated_for_a_while_and_then_what_they_were(fits):
    network = copy.deepcopy(fits[0].network_)
    factor = network.recalibration_factor
    factor.copy_(torch.linspace(0.5, 2, factor.numel()).view_as(factor))
    before = copy.deepcopy(network.state_dict())
    rows = torch.tensor(fits[0].encoding_.first_rows[:-1])[None, None].expand(2, 1, -1)
    logits = network.cause_logits(rows, torch.ones(rows.shape))
    with recalibrated_heads(network):
        shift = network.cause_logits(rows, torch.ones(rows.shape)) - logits
    torch.testing.assert_close(shift, torch.log(factor).expand_as(shift))
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_unknown_is_learned_at_the_level_that_was_fitted(cohort, monkeypatch):
    """A network whose hazards are twice too high says of nobody what a good one says."""
    X, y = cohort
    train = fit_module.train

    def train_and_double(network, *rest):
        train(network, *rest)
        with torch.no_grad():
            for head in network.cause_heads:
                head.outer.bias.add_(0.7 / (1 + network.causes.proportional))

    nobody = pd.DataFrame({name: [np.nan] for name in X.columns})
    answers = [SurvTRACE(**SETTINGS).fit(X, y).predict_proba(nobody, 60.0)]
    monkeypatch.setattr(fit_module, "train", train_and_double)
    answers.append(SurvTRACE(**SETTINGS).fit(X, y).predict_proba(nobody, 60.0))
    np.testing.assert_allclose(*answers, rtol=0.1)


@pytest.mark.parametrize("ips", ["covariates", "events"])
def test_loss_weights_do_not_move_the_incidence_of_one_of_whom_nothing_is_known(cohort, ips):
    X, y = cohort
    est = SurvTRACE(**SETTINGS, ips=ips).fit(X, y)
    nobody = pd.DataFrame({name: [np.nan] for name in X.columns})
    observed = np.array([aalen_johansen(y, cause).at(60.0) for cause in (1, 2)])
    np.testing.assert_allclose(est.predict_proba(nobody, 60.0)[0, 1:], observed, rtol=0.25)
