import numpy as np
import pytest

from survtrace.errors import DataError, DataWarning, SettingError
from survtrace.metrics import (
    bootstrap,
    brier_score,
    censoring_survival,
    compare,
    concordance_paper,
    integrated_brier_score,
    paired_bootstrap,
)

RNG = np.random.default_rng(0)
DANGER = RNG.normal(size=150)
LATENT, CENSORING = RNG.exponential(np.exp(-DANGER)), RNG.uniform(0.1, 4, 150)
Y = {"event": (LATENT <= CENSORING).astype(int), "duration": np.minimum(LATENT, CENSORING)}


def test_the_same_seed_draws_the_same_subjects():
    first, second = (bootstrap(concordance_paper, Y, DANGER, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.resamples, second.resamples)


def test_settings_are_passed_on_and_a_score_at_many_times_has_many_intervals():
    times = [0.2, 0.5, 1.0]
    incidence = 1 - np.exp(-np.exp(DANGER)[:, np.newaxis] * times)
    G = censoring_survival(Y)
    result = bootstrap(
        brier_score, Y, incidence, times=times, y_train=G, n_resamples=50, random_state=0
    )
    assert result.resamples.shape == (50, 3)
    assert (result.low < result.estimate).all()
    assert (result.estimate < result.high).all()


def test_warnings_of_resamples_are_not_repeated():
    with pytest.warns(DataWarning) as seen:
        bootstrap(
            integrated_brier_score,
            Y,
            np.full((150, 3), 0.5),
            times=[0.2, 1.0, 99.0],
            n_resamples=20,
            random_state=0,
        )
    assert len(seen) == 1


def test_undefined_resamples_are_counted():
    y = {"event": [1, 0, 0, 0], "duration": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(DataWarning, match=r"NaN in \d+ of 60 resamples"):
        result = bootstrap(
            concordance_paper, y, [4.0, 3, 2, 1], n_resamples=60, random_state=0, cause=1
        )
    assert result.low == 1


def test_times_that_cannot_be_scored_have_no_interval():
    with pytest.warns(DataWarning) as seen:
        result = bootstrap(
            brier_score, Y, np.full((150, 2), 0.5), times=[0.5, 99.0], n_resamples=5, random_state=0
        )
    assert [str(each.message)[:9] for each in seen] == ["the censo", "the score"]
    np.testing.assert_array_equal(np.isnan(result.low), [False, True])


def test_paired_resampling_agrees_with_influences():
    noisy = DANGER + RNG.normal(size=150)
    G = censoring_survival(Y)
    drawn = paired_bootstrap(
        concordance_paper, Y, DANGER, noisy, horizon=1.5, y_train=G, random_state=0
    )
    known = compare(*(concordance_paper(Y, each, 1.5, y_train=G) for each in (DANGER, noisy)))
    assert drawn.difference == pytest.approx(known.difference)
    assert drawn.standard_error == pytest.approx(known.standard_error, rel=0.2)
    assert drawn.p_value < 0.05


def test_a_prediction_does_not_beat_itself():
    result = paired_bootstrap(concordance_paper, Y, DANGER, DANGER, horizon=1.0, n_resamples=10)
    assert result.p_value == 1


def test_what_has_no_row_for_each_subject_must_be_named():
    with pytest.raises(DataError, match=r"each of the 150 subjects; got shape \(\)"):
        bootstrap(concordance_paper, Y, DANGER, 1.0)


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="n_resamples must be 2 or more; got 1"):
        bootstrap(concordance_paper, Y, DANGER, n_resamples=1)
    with pytest.raises(SettingError, match="level must lie between 0 and 1; got 95"):
        bootstrap(concordance_paper, Y, DANGER, level=95)
