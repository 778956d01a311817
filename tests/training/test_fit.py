"""A card counts whom an estimator was fitted on; sizes are known before covariates are read."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from survtrace import SettingError, SurvTRACE, __version__, load
from survtrace.cohort.prepare import CohortCounts, prepare
from survtrace.cohort.source import read_frame
from survtrace.network.assembly import Network
from survtrace.tables.outcome.outcome import Outcome
from survtrace.training.fit import _state, expected_shape, model_card
from survtrace.training.history import History


@pytest.fixture
def incomplete(three_causes):
    X, y = three_causes
    return X.assign(age=X["age"].where(X.index >= 7)), y


def test_a_card_counts_subjects_events_and_gaps(incomplete, tiny, tmp_path):
    X, y = incomplete
    card = SurvTRACE(**tiny).fit(X, y).card_
    assert card == {
        "fitted_on": datetime.now(UTC).date().isoformat(),
        "n_subjects": 240,
        "n_events": {str(cause): int((y["event"] == cause).sum()) for cause in (1, 2, 3)},
        "n_censored": int((y["event"] == 0).sum()),
        "n_missing": {name: int(X[name].isna().sum()) for name in X},
        "n_rows": 240,
        "follow_up": card["follow_up"],
        "entry": None,
        "has_start_stop": False,
        "about": {},
        "interrupted": False,
        "survtrace_version": __version__,
    }
    assert json.loads(json.dumps(card)) == card


@pytest.mark.parametrize("n_members", [1, 2])
def test_a_card_of_files_is_that_of_the_table(incomplete, tiny, tmp_path, n_members):
    X, y = incomplete
    X.assign(**y).to_parquet(tmp_path / "t.parquet")
    settings = {**tiny, "n_members": n_members}
    streamed = SurvTRACE(**settings).fit(
        tmp_path / "t.parquet", {"event": "event", "duration": "duration"}
    )
    assert streamed.card_ == SurvTRACE(**settings).fit(X, y).card_


def test_a_card_is_saved(fitted_three, tmp_path):
    fitted_three.save(tmp_path / "m")
    assert load(tmp_path / "m").card_ == fitted_three.card_


def test_a_card_says_how_long_subjects_were_followed(fitted_three, three_causes):
    _, y = three_causes
    follow_up = fitted_three.card_["follow_up"]
    quartiles = [follow_up[name] for name in ("first_quartile", "median", "third_quartile")]
    assert quartiles == sorted(quartiles)
    assert set(quartiles) <= set(y["duration"])
    assert follow_up["longest"] == y["duration"].max()


def test_the_longest_follow_up_is_that_of_a_subject_not_of_a_row():
    cut = Outcome(np.array([2.0, 9.0, 4.0]), np.array([0, 1, 0]), (1,),
                  entry=np.array([0.0, 2.0, 1.0]), id=np.array([0, 0, 1]))  # fmt: skip
    card = model_card(CohortCounts(2, {1: 1}, {}, n_rows=3), cut, None, interrupted=False)
    assert card["follow_up"]["longest"] == 9.0


def test_a_card_keeps_what_it_is_told_and_the_fit_does_not_change(three_causes, fitted_three, tiny):
    X, y = three_causes
    told = SurvTRACE(**tiny, about={"dates": "2004 to 2015"}).fit(X, y)
    assert told.card_["about"] == {"dates": "2004 to 2015"}
    np.testing.assert_array_equal(told.predict(X), fitted_three.predict(X))


@pytest.mark.parametrize("about", [{"date": "2004"}, {"dates": 2004}, "2004 to 2015"], ids=str)
def test_topics_must_be_known_and_texts(three_causes, tiny, about):
    with pytest.raises(SettingError, match="about must be a mapping to texts from some of title"):
        SurvTRACE(**tiny, about=about).fit(*three_causes)


@pytest.mark.filterwarnings("ignore:training was interrupted")
def test_an_interrupted_fit_is_marked(three_causes, tiny, monkeypatch):
    from survtrace.training.history import History

    add = History.add

    def interrupt(self, epoch, *details):
        add(self, epoch, *details)
        raise KeyboardInterrupt

    monkeypatch.setattr(History, "add", interrupt)
    assert SurvTRACE(**tiny).fit(*three_causes).card_["interrupted"] is True


@pytest.mark.parametrize("grid", [{"n_intervals": 3}, {"time_grid": [0.0, 5.0, 25.0]}], ids=str)
def test_the_sizes_that_kernels_compile_for_are_known_before_a_covariate_is_read(
    three_causes, tiny, grid
):
    settings = SimpleNamespace(**SurvTRACE(**{**tiny, **grid}).get_params())
    expected = expected_shape(settings, read_frame(*three_causes))
    fitted = SurvTRACE(**{**tiny, **grid}).fit(*three_causes).network_.shape
    assert replace(expected, n_rows=fitted.n_rows, silent_rows=fitted.silent_rows) == fitted


def test_where_all_events_come_at_one_time_scores_are_from_0_to_it(three_causes, tiny):
    X, y = three_causes
    at_once = y.assign(duration=np.where(y["event"] > 0, 4.0, y["duration"]))
    settings = SimpleNamespace(**SurvTRACE(**{**tiny, "time_grid": [0.0, 5.0, 8.0]}).get_params())
    with prepare(read_frame(X, at_once), settings, [1, 2]) as cohort:
        state = _state(Mock(spec=Network), cohort, History(), None, None, None)
    assert state.score_times.tolist() == [0.0, 4.0]
