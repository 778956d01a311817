"""An estimator is brought to another place, changed no more than held-out rows bear out."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
import torch

from survtrace import SurvTRACE, load
from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics.score import Score
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.outcome.outcome import Outcome
from survtrace.training.cross_fitting import ask, choose_way, draw_folds
from survtrace.training.update import WAYS

TIMES = [2.0, 5.0, 9.0]


@pytest.fixture(scope="module")
def fitted(draw_cohort, tiny):
    X, y = draw_cohort(300, n_causes=2)
    settings = {**tiny, "max_epochs": 5, "lr": 0.02}
    return SurvTRACE(**settings).fit(X, y)


@pytest.fixture
def est(fitted):
    return copy.deepcopy(fitted)


@pytest.fixture(scope="module")
def elsewhere(draw_cohort):
    """Another place, where all happens twice as fast."""
    X, y = draw_cohort(200, n_causes=2, seed=5)
    return X, y.assign(duration=y["duration"] / 2)


@pytest.fixture(scope="module")
def auto(fitted, elsewhere):
    return copy.deepcopy(fitted).update(*elsewhere)


def incidence(est, X):
    return est.predict_cumulative_incidence(X, TIMES)


def encoder_state(est):
    state = est.network_.state_dict().items()
    return {name: tensor for name, tensor in state if name.startswith(("embedding", "encoder"))}


def test_none_changes_nothing_and_is_remembered(est, elsewhere):
    before = incidence(est, elsewhere[0])
    assert est.update(*elsewhere, how="none") is est
    np.testing.assert_array_equal(incidence(est, elsewhere[0]), before)
    assert [each["how"] for each in est.updates_] == ["none"]


def test_the_level_is_brought_to_the_new_place(est, fitted, elsewhere):
    est.update(*elsewhere, how="level")
    ratio = est.network_.recalibration_factor / fitted.network_.recalibration_factor
    assert (ratio > 1.3).all()
    assert ratio.std(dim=(0, 3)).max() < 1e-5, "one factor for each cause"
    none, level = est.updates_[0]["scores"]
    assert level["difference"] < -2 * level["standard_error"]
    for cause in ("1", "2"):
        assert abs(np.log(level["observed_expected"][cause])) < abs(
            np.log(none["observed_expected"][cause])
        )


def test_heads_leave_the_encoder_as_it_is_to_the_bit(est, fitted, elsewhere):
    est.unknown_steps = 0
    est.update(*elsewhere, how="heads", n_folds=2)
    for name, tensor in encoder_state(fitted).items():
        assert torch.equal(tensor, encoder_state(est)[name]), name
    moved = est.network_.causes.heads[0].outer.weight - fitted.network_.causes.heads[0].outer.weight
    assert moved.abs().max() > 0


@pytest.mark.parametrize("how", ["slope", "whole"])
def test_after_any_update_curves_are_coherent(est, fitted, elsewhere, how):
    X, y = elsewhere
    est.update(X, y, how=how, n_folds=2)
    same = [
        torch.equal(tensor, encoder_state(est)[name])
        for name, tensor in encoder_state(fitted).items()
    ]
    assert all(same) == (how == "slope"), "the whole network is trained, or nothing of it"
    total = est.predict_survival_function(X, TIMES) + incidence(est, X).sum(1)
    np.testing.assert_allclose(total, 1, atol=1e-12)
    assert (np.diff(incidence(est, X), axis=2) >= 0).all()


def test_an_updated_subject_alone_gets_the_answer_it_gets_in_a_table(est, elsewhere):
    X, _ = elsewhere
    est.update(*elsewhere, how="slope", n_folds=2)
    assert (est.network_.hazard_power != 1).all()
    together = incidence(est, X)
    np.testing.assert_array_equal(incidence(est, X[7:8]), together[7:8])


def test_every_way_of_asking_knows_the_power(est, elsewhere):
    X = elsewhere[0][:40]
    est.update(*elsewhere, how="slope", n_folds=2)
    hazards = est.predict_cumulative_hazard_function(X, TIMES).sum(1)
    survival = est.predict_survival_function(X, TIMES)
    np.testing.assert_allclose(np.exp(-hazards), survival, atol=1e-6)
    functions = est.predict_survival_function(X, TIMES, return_array=False)
    np.testing.assert_allclose([f(TIMES) for f in functions], survival, atol=1e-12)
    encoded = est.encoding_.encode(open_table(X))
    rows, values = (torch.from_numpy(each) for each in encoded)
    plain = est.network_.hazards(rows, values)
    np.testing.assert_allclose(
        torch.exp(-plain.sum((2, 3))).mean(0).detach(),
        est.predict_survival_function(X, [est.time_grid_[-1]])[:, 0],
        rtol=1e-5,
    )


def test_a_saved_update_predicts_the_same_and_keeps_its_history(est, elsewhere, tmp_path):
    est.update(*elsewhere, how="slope", n_folds=2).save(tmp_path / "updated")
    again = load(tmp_path / "updated")
    np.testing.assert_array_equal(incidence(again, elsewhere[0]), incidence(est, elsewhere[0]))
    assert again.updates_ == est.updates_
    assert again.update(*elsewhere, how="level", n_folds=2).updates_[1]["how"] == "level"


def test_a_folder_saved_before_updates_were_known_has_none(est, tmp_path, sign_anew):
    est.save(tmp_path / "old")
    sign_anew(tmp_path / "old", lambda note: note.pop("updates"))
    again = load(tmp_path / "old")
    assert again.updates_ == []
    assert (again.network_.hazard_power == 1).all()


def test_auto_compares_all_ways_and_takes_a_better_one(auto):
    record = auto.updates_[0]
    assert [each["how"] for each in record["scores"]] == list(WAYS)
    assert record["asked"] == "auto"
    assert record["how"] != "none"
    chosen = next(each for each in record["scores"] if each["how"] == record["how"])
    assert chosen["difference"] < 0
    assert json.loads(json.dumps(record)) == record


def test_intervals_of_the_old_place_are_forgotten(draw_cohort, tiny, elsewhere, tmp_path):
    settings = {**tiny, "intervals": True, "max_epochs": 1}
    est = SurvTRACE(**settings).fit(*draw_cohort(300, n_causes=2))
    assert est.update(*elsewhere, how="none", n_folds=2).interval_ is not None
    assert est.update(*elsewhere, how="level", n_folds=2).interval_ is None
    with pytest.raises(SettingError, match="not known after an update"):
        est.predict_interval(elsewhere[0], TIMES)


def test_patients_are_unlike_those_of_whom_covariates_were_learned(est, elsewhere):
    X, y = elsewhere
    older = X.assign(age=X["age"] + 45)
    with pytest.warns(DataWarning, match="age"):
        est.update(older, y, how="level", n_folds=2)
    assert (est.typicality(older) < 0.01).mean() > 0.5
    with pytest.warns(DataWarning, match="age"):
        est.update(older, y, how="heads", n_folds=2)
    assert (est.typicality(older) < 0.01).mean() < 0.1


def test_the_same_seed_gives_the_same_update(fitted, auto, elsewhere):
    again = copy.deepcopy(fitted).update(*elsewhere, how=auto.updates_[0]["how"], n_folds=2)
    np.testing.assert_array_equal(incidence(again, elsewhere[0]), incidence(auto, elsewhere[0]))


def test_at_the_same_place_nothing_is_made_worse_beyond_chance(est, draw_cohort):
    X, y = draw_cohort(300, n_causes=2, seed=8)
    before = est.score(X, y)
    est.update(*draw_cohort(150, n_causes=2, seed=9), n_folds=2)
    assert est.score(X, y) > before - 0.01


def test_the_simplest_way_within_an_error_of_the_best_is_chosen():
    def score(value, *influence):
        return Score(value, np.array(influence))

    far = {"none": score(0.3, 0, 0), "level": score(0.2, 0.01, -0.01)}
    assert choose_way(far) == "level"
    assert choose_way({**far, "whole": score(0.195, 0.0, 0.0)}) == "level"
    assert choose_way({**far, "whole": score(0.1, 0.0, 0.0)}) == "whole"
    assert choose_way({"none": score(0.2, 0, 0), "level": score(0.21, 0, 0)}) == "none"
    assert choose_way({**far, "level": score(0.28, 0.01, -0.01)}) == "none", "1.4 errors"
    assert choose_way({**far, "level": score(0.276, 0.01, -0.01)}) == "level", "1.7 errors"


def test_folds_hold_every_row_once_and_subjects_whole():
    id = np.repeat(np.arange(30), 2)
    event = np.where((id % 3 == 0) & (np.arange(60) % 2 == 1), 1, 0)
    entry, duration = np.tile([0.0, 1.0], 30), np.tile([1.0, 2.0], 30)
    outcome = Outcome(duration, event, (1,), entry=entry, id=id)
    folds = draw_folds(outcome, 5, seed=0)
    assert sorted(np.concatenate(folds).tolist()) == list(range(60))
    for fold in folds:
        assert not set(id[fold]) & set(np.delete(id, fold))
        assert event[fold].sum() == 2


def test_late_entries_and_changing_covariates_are_compared_at_landmarks(est, elsewhere):
    X, y = elsewhere
    half = y["duration"] / 2
    first = y.assign(id=range(len(y)), entry=0.0, duration=half, event=0)
    second = y.assign(id=range(len(y)), entry=half)
    both_X, both_y = pd.concat([X, X]), pd.concat([first, second])
    both = both_X.reset_index(drop=True), both_y.reset_index(drop=True)
    est.update(*both, how="level")
    record = est.updates_[0]
    assert record["rows"] == 2 * record["subjects"] == 400
    assert record["scores"][1]["difference"] < 0
    whole = copy.deepcopy(est)
    whole.update(*both, how="whole", n_folds=2)
    assert whole.updates_[1]["how"] == "whole"


def test_an_outcome_with_entry_is_asked_about_at_two_landmarks(elsewhere):
    y = elsewhere[1]
    event, duration = y["event"].to_numpy(), y["duration"].to_numpy()
    late = Outcome(duration, event, (1, 2), entry=duration / 3)
    from_start = ask(Outcome(duration, event, (1, 2)), end=6.0)
    assert [each.after for each in from_start] == [None]
    assert len(ask(late, end=6.0)) == 2
    assert all(each.times[-1] + each.after <= 6.0 for each in ask(late, end=6.0))


def test_a_cause_that_is_absent_is_told_and_one_that_is_new_is_refused(est, elsewhere):
    X, y = elsewhere
    with pytest.warns(DataWarning, match=r"nobody has the event 2, .* coded as in the fit"):
        est.update(X, y.assign(event=y["event"].replace(2, 0)), how="slope", n_folds=2)
    assert est.updates_[0]["events"]["2"] == 0
    assert incidence(est, X)[:, 1].max() < 0.2
    with pytest.raises(DataError, match="3"):
        est.update(X, y.assign(event=y["event"].replace(2, 3)))


def test_an_unseen_category_stays_unseen_with_a_warning(est, elsewhere):
    X, y = elsewhere
    with pytest.warns(DataWarning, match="sex"):
        est.update(X.assign(sex="x"), y, how="level", n_folds=2)


def test_with_few_events_auto_leaves_the_model_as_it_is_and_says_so(est, elsewhere):
    X, y = (each[:12] for each in elsewhere)
    with pytest.warns(DataWarning, match='how="level"'):
        est.update(X, y.assign(event=[1, 2, *[0] * 10]))
    assert est.updates_[0]["how"] == "none"
    est.update(X, y.assign(event=[1, 2, *[0] * 10]), how="level")
    assert est.updates_[1]["scores"] == []


@pytest.mark.parametrize(("n_events", "n_compared"), [(9, 0), (10, 2)])
def test_ways_are_compared_from_ten_events_on(est, elsewhere, n_events, n_compared):
    X, y = (each[:60] for each in elsewhere)
    y = y.assign(event=[*[1, 2] * 5, *[0] * 50])
    y.loc[y.index[n_events:], "event"] = 0
    est.update(X, y, how="level", n_folds=2)
    assert len({row["how"] for row in est.updates_[0]["scores"]}) == n_compared


def test_durations_in_another_unit_are_asked_about(est, elsewhere):
    X, y = elsewhere
    with pytest.warns(DataWarning, match="same unit"):
        est.update(X, y.assign(duration=y["duration"] / 30), how="level", n_folds=2)


def test_events_beyond_the_time_grid_are_counted_in_a_warning(est, elsewhere):
    X, y = elsewhere
    with pytest.warns(DataWarning, match="beyond the time grid"):
        est.update(X, y.assign(duration=y["duration"] * 10), how="level", n_folds=2)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"how": "all"}, "'auto', 'none', 'level'"), ({"n_folds": 1}, "at least 2")],
)
def test_an_unknown_way_is_refused(est, elsewhere, change, words):
    with pytest.raises(SettingError, match=words):
        est.update(*elsewhere, **change)


def test_weights_are_refused(est, elsewhere):
    X, y = elsewhere
    table = X.assign(**y, w=1.0)
    with pytest.raises(DataError, match="no sample weights"):
        est.update(table, {"event": "event", "duration": "duration", "weight": "w"})


def test_a_file_updates_as_its_table_does(est, elsewhere, tmp_path):
    X, y = elsewhere
    X.assign(**y).to_parquet(tmp_path / "local.parquet")
    roles = {"event": "event", "duration": "duration"}
    other = copy.deepcopy(est).update(tmp_path / "local.parquet", roles, how="level", n_folds=2)
    est.update(X, y, how="level", n_folds=2)
    np.testing.assert_array_equal(incidence(other, X), incidence(est, X))


@pytest.mark.parametrize(
    ("how", "broken"), [("level", "update.rescale"), ("whole", "loop.task_weights")]
)
def test_a_broken_update_leaves_the_estimator_as_it_was(est, elsewhere, monkeypatch, how, broken):
    calls = []

    def interrupt(*arguments, **_):
        calls.append(arguments)
        if how == "level" or len(calls) > 2:
            raise KeyboardInterrupt
        return torch.tensor([1.0, 0.0, 0.0])

    before = incidence(est, elsewhere[0])
    monkeypatch.setattr(f"survtrace.training.{broken}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        est.update(*elsewhere, how=how)
    np.testing.assert_array_equal(incidence(est, elsewhere[0]), before)
    assert est.updates_ == []
