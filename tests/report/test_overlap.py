"""Scores of subjects that were learned from are not believed."""

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE
from survtrace.errors import LearnedRowsWarning
from survtrace.evaluation.learned_rows import looks_learned
from survtrace.report.collected import collect
from survtrace.report.overlap import check_rows, shared_subjects
from survtrace.report.page import render, write_report
from survtrace.tables.outcome.outcome import read_outcome

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("report")


def read(subjects):
    return subjects[0], read_outcome(subjects[1])


def part(subjects, rows):
    return subjects[0].iloc[rows], subjects[1].iloc[rows]


def test_training_rows_are_recognised_whole_in_part_and_among_others(of_three_causes):
    est, train, scored = of_three_causes.est, of_three_causes.train, of_three_causes.scored
    both = [pd.concat(pair) for pair in zip(train, scored, strict=True)]
    for rows in (train, part(train, slice(0, 50)), part(train, slice(None, None, -1)), both):
        assert looks_learned(est, read_outcome(rows[1]))
    assert not looks_learned(est, read_outcome(scored[1]))


def test_one_member_is_recognised_though_it_did_not_learn_from_its_validation_rows(
    of_three_causes, tiny
):
    train = of_three_causes.train
    est = SurvTRACE(**{**tiny, "n_members": 1}).fit(*train)
    assert looks_learned(est, read_outcome(train[1]))


@pytest.mark.parametrize("step", [0.5, 1.0, 1 / 30])
def test_durations_that_agree_by_chance_prove_nothing(draw_cohort, tiny, step):
    X, y = draw_cohort(1200, seed=3)
    y = y.assign(duration=np.ceil(y["duration"] / step) * step)
    est = SurvTRACE(**{**tiny, "max_epochs": 1})
    est.fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))
    assert not looks_learned(est, read_outcome(y[1000:]))
    assert looks_learned(est, read_outcome(y[:1000]))


def test_twins_are_counted_whatever_the_dtypes(of_three_causes):
    est, (X, y), scored = of_three_causes.est, of_three_causes.train, of_three_causes.scored
    X = X.astype({"sex": "category", "age": object}).iloc[:30]
    assert shared_subjects(est, read((X, y[:30])), read(of_three_causes.train)) == 30
    assert shared_subjects(est, read(scored), read(of_three_causes.train)) == 0


def test_what_was_found_is_said(of_three_causes):
    est, train, scored = of_three_causes.est, of_three_causes.train, of_three_causes.scored
    alerts, remarks = check_rows(est, read(train), None)
    assert "rows the model was trained on" in alerts[0]
    assert not remarks
    alerts, _ = check_rows(est, read(part(train, range(9))), read(train))
    assert "9 of the 9 scored subjects have a twin" in alerts[0]
    alerts, remarks = check_rows(est, read(scored), None)
    assert not alerts
    assert "must ensure" in remarks[0]
    alerts, remarks = check_rows(est, read(scored), read(train))
    assert not alerts
    assert len(remarks) == 1
    _, remarks = check_rows(est, read(scored), read(part(train, range(99))))
    assert "not all that the model learned from" in remarks[1]


def test_nothing_is_compared_on_rows_that_were_learned_from(of_three_causes):
    est, train = of_three_causes.est, of_three_causes.train
    summary = collect(est, *train, n_repeats=1)
    page = render(summary)
    assert summary.scores.methods == ["SurvTRACE"]
    assert page.count("These seem to be rows the model was trained on") == 1
    assert "Nothing is compared on rows that the model has learned from." in page
    for word in ("Better", "Against", "Cox is", "learned from other rows"):
        assert word not in page


def test_who_does_not_open_the_page_is_warned_of_rows_that_were_learned_from(
    of_three_causes, tmp_path
):
    est, train = of_three_causes.est, of_three_causes.train
    with pytest.warns(LearnedRowsWarning, match="These seem to be rows the model was trained on"):
        write_report(est, *train, tmp_path / "report.html", n_repeats=1, verbose=False)
