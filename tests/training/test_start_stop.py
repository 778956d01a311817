"""Rows that begin late or are cut: a fit counts subjects and their time, not rows."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE, estimator, load
from survtrace.cohort.disk_source import DiskSource
from survtrace.cohort.file_source import FileSource
from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.settings import IPS_FORMS
from survtrace.tables.outcome.outcome import Outcome

FULL_BATCH = {
    "batch_size": 10_000,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "token_dropout": 0.0,
    "head_dropout": 0.0,
    "mortality_weight": 0.0,
    "stay_weight": 0.0,
    "unknown_steps": 0,
    "max_epochs": 5,
    "lr": 0.01,
}


def outcome(y):
    """An outcome with entry and id, as the columns say."""
    columns = {name: y[name].to_numpy() for name in y if name != "event"}
    causes = tuple(sorted(set(y["event"]) - {0}))
    return Outcome(event=y["event"].to_numpy(), causes=causes, censored=(0,), **columns)


def assert_same_fit(found, expected):
    np.testing.assert_allclose(found.time_grid_, expected.time_grid_, rtol=1e-12)
    for ours, theirs in zip(found.encoding_.columns, expected.encoding_.columns, strict=True):
        for name, value in vars(theirs).items():
            close = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert getattr(ours, name) == close
    losses = ["survival_loss", "validation_loss"]
    np.testing.assert_allclose(found.history_[losses], expected.history_[losses], rtol=1e-5)


@pytest.mark.parametrize(
    ("late", "ips"),
    [(False, "none"), (True, "none"), *((True, form) for form in IPS_FORMS[1:])],
)
def test_cutting_rows_does_not_change_a_fit(three_causes, tiny, cut, late_entry, late, ips):
    X, y = three_causes
    y = late_entry(y) if late else y
    settings = {**tiny, **FULL_BATCH, "ips": ips}
    est = SurvTRACE(**settings).fit(X, outcome(y))
    rows, parts = cut(X, y)
    again = SurvTRACE(**settings).fit(rows, outcome(parts))
    assert_same_fit(again, est)
    assert [each.has_start_stop_ for each in (again, est)] == [True, False]
    assert [again.card_[name] for name in ("n_subjects", "n_rows")] == [len(X), len(rows)]
    np.testing.assert_allclose(
        again.predict_survival_function(X), est.predict_survival_function(X), atol=1e-5
    )


def test_a_column_of_entries_at_0_changes_no_bit(one_cause, tiny):
    X, y = one_cause
    est = SurvTRACE(**tiny).fit(X, y)
    again = SurvTRACE(**tiny).fit(X, outcome(y.assign(id=np.arange(len(X)))))
    assert (est.predict(X) == again.predict(X)).all()
    assert again.entry_ is None


def test_the_auxiliary_tasks_say_once_what_they_leave_out(one_cause, tiny, late_entry):
    X, y = one_cause
    y = late_entry(y)
    with pytest.warns(DataWarning, match=rf"{(y['entry'] > 0).sum()} of 160 rows enter after 0"):
        est = SurvTRACE(**tiny).fit(X, outcome(y))
    entry = y["entry"]
    assert est.entry_ == (entry.min(), entry.median(), entry.max())
    SurvTRACE(**{**tiny, "mortality_weight": 0, "stay_weight": 0}).fit(X, outcome(y))  # no warning


def test_a_saved_estimator_knows_when_its_subjects_entered(one_cause, tiny, cut, tmp_path):
    rows, parts = cut(*one_cause)
    quiet = {**tiny, "mortality_weight": 0, "stay_weight": 0, "time_name": "age"}
    est = SurvTRACE(**quiet).fit(
        rows, outcome(parts.assign(entry=parts["entry"] + 50.0, duration=parts["duration"] + 50.0))
    )
    est.save(tmp_path / "est")
    again = load(tmp_path / "est")
    assert again.entry_ == est.entry_ == (50.0, 50.0, 50.0)
    assert again.has_start_stop_ is est.has_start_stop_ is True
    assert again.time_name_ == "age"
    assert again.time_grid_[0] == 50.0
    assert again.card_["entry"] == [50.0, 50.0, 50.0]


def test_rows_of_one_subject_have_one_weight(one_cause, tiny, cut):
    rows, parts = cut(*one_cause)
    weight = np.ones(len(rows))
    second = int(np.flatnonzero(parts["id"].diff() == 0)[0])
    weight[second] = 2.0
    with pytest.raises(DataError, match=rf"same weight; 1 of .*first: row {second}, 2 after 1"):
        SurvTRACE(**tiny).fit(rows, outcome(parts), sample_weight=weight)


def test_weights_of_subjects_are_those_of_all_their_rows(one_cause, tiny, cut):
    X, y = one_cause
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    rows, parts = cut(X, y)
    settings = {**tiny, **FULL_BATCH, "recalibrate": True}
    est = SurvTRACE(**settings).fit(X, y, sample_weight=weight)
    again = SurvTRACE(**settings).fit(
        rows, outcome(parts), sample_weight=weight[parts["id"].to_numpy()]
    )
    assert_same_fit(again, est)
    np.testing.assert_allclose(again.predict(X), est.predict(X), atol=1e-5)


def test_the_rows_of_one_subject_alone_are_refused(one_cause, tiny):
    X, _ = one_cause
    ends = np.arange(1.0, 161.0)
    lone = Outcome(ends, (ends == 160).astype(int), (1,), entry=ends - 1, id=np.zeros(160, int))
    with pytest.raises(DataError, match="two subjects; all 160 rows have the same id"):
        SurvTRACE(**tiny).fit(X, lone)


@pytest.mark.parametrize("which", ["table", "evaluation", "both"])
def test_cutting_the_rows_to_stop_by_changes_nothing(one_cause, tiny, cut, which):
    X, y = one_cause
    settings = {**tiny, **FULL_BATCH}
    table, others = (X[40:], y[40:]), (X[:40], y[:40])
    est = SurvTRACE(**settings).fit(*table, eval_set=others)
    if which != "evaluation":
        rows, parts = cut(*table)
        table = rows, outcome(parts)
    if which != "table":
        rows, parts = cut(*others)
        others = rows, outcome(parts)
    again = SurvTRACE(**settings).fit(*table, eval_set=others)
    assert_same_fit(again, est)


def test_a_fit_of_cut_rows_goes_on_where_it_was_killed(one_cause, tiny, cut, tmp_path):
    rows, parts = cut(*one_cause)
    settings = {**tiny, "mortality_weight": 0, "stay_weight": 0, "unknown_steps": 0}
    est = SurvTRACE(**settings, checkpoint_dir=None).set_params(max_epochs=4)
    est.fit(rows, outcome(parts))
    folder = {"checkpoint_dir": tmp_path / "state"}
    SurvTRACE(**{**settings, **folder, "max_epochs": 2}).fit(rows, outcome(parts))
    again = SurvTRACE(**{**settings, **folder, "max_epochs": 4}).fit(rows, outcome(parts))
    assert (again.predict(rows) == est.predict(rows)).all()
    other = parts.assign(id=np.arange(len(parts)))  # the same rows, each a subject of its own
    with pytest.raises(SettingError, match="holds a fit of other data"):
        SurvTRACE(**{**settings, **folder, "max_epochs": 4}).fit(rows, outcome(other))


@pytest.fixture
def stored(tmp_path):
    """A function of a table and its outcome that writes a file and tells its columns' roles."""

    def store(X, y, **roles):
        path = tmp_path / f"{len(X)}.parquet"
        pd.concat([X.reset_index(drop=True), y.reset_index(drop=True)], axis=1).to_parquet(path)
        return path, {"event": "event", "duration": "duration", **roles}

    return store


@pytest.mark.parametrize("late", [False, True])
def test_cutting_rows_of_a_file_does_not_change_a_fit(
    three_causes, tiny, cut, late_entry, stored, late, monkeypatch
):
    monkeypatch.setattr(estimator, "FileSource", partial(FileSource, chunk_rows=50))
    X, y = three_causes
    y = late_entry(y) if late else y
    settings = {**tiny, **FULL_BATCH}
    est = SurvTRACE(**settings).fit(X, y)
    rows, parts = cut(X, y)
    again = SurvTRACE(**settings).fit(*stored(rows, parts, entry="entry", id="id"))
    assert_same_fit(again, est)
    assert again.card_["n_subjects"] == 240
    assert again.has_start_stop_
    assert again.entry_ == est.entry_
    assert (est.entry_ is None) != late


def test_rows_of_a_subject_may_lie_in_any_chunk_of_a_file(
    one_cause, tiny, cut, stored, monkeypatch
):
    rows, parts = cut(*one_cause)
    id = parts["id"].to_numpy()
    apart = np.argsort(np.sort(np.random.default_rng(1).random(len(id)) + id) - id)
    rows, parts = rows.iloc[apart], parts.iloc[apart]
    settings = {**tiny, **FULL_BATCH}
    est = SurvTRACE(**settings).fit(rows, parts)
    monkeypatch.setattr(estimator, "FileSource", partial(FileSource, chunk_rows=50))
    file = stored(rows, parts, entry="entry", id="id")
    assert_same_fit(SurvTRACE(**settings).fit(*file), est)
    monkeypatch.setattr(DiskSource.__init__, "__defaults__", (60,))
    in_parts = SurvTRACE(**{**settings, "batch_size": 16}).fit(*file)
    assert np.isfinite(in_parts.history_["validation_loss"]).all()


def test_a_late_entry_is_scored_from_a_file_as_in_memory(one_cause, tiny, late_entry, stored):
    X, y = one_cause[0], late_entry(one_cause[1])
    settings = {**tiny, "mortality_weight": 0, "stay_weight": 0}
    est = SurvTRACE(**settings).fit(X, y)
    path, roles = stored(X, y, entry="entry")
    assert est.score(path, roles) == pytest.approx(est.score(X, y), rel=1e-12)
    est.save(path.with_name("est"))
    assert load(path.with_name("est")).score(X, y) == est.score(X, y)
