"""A prediction says once that subjects are unlike the patients learned from, and by what."""

import warnings

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE, load
from survtrace.datasets import make_cohort
from survtrace.errors import DataError, DataWarning, UnlikePatientsWarning
from survtrace.inference.unlike import most_by_chance
from survtrace.streaming import predict_file

ROLES = {"event": "event", "duration": "duration"}


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(1_500, random_state=3)


@pytest.fixture(scope="module")
def est(cohort):
    X, y = cohort
    settings = {"n_members": 1, "max_epochs": 1, "unknown_steps": 0, "verbose": False}
    return SurvTRACE(random_state=0, **settings).fit(X[:1_000], y[:1_000])


@pytest.fixture
def odd(cohort):
    """Held-out patients, a tenth of them far too heavy."""
    X = cohort[0][1_000:].reset_index(drop=True)
    return X.assign(body_mass_index=X["body_mass_index"].where(X.index % 10 != 3, 95.0))


def unlike_words(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if each.category is UnlikePatientsWarning]


def test_patients_like_those_learned_from_get_no_warning(est, cohort):
    X = cohort[0][1_000:]
    assert not unlike_words(lambda: est.predict(X))
    assert np.mean(est.typicality(X) < 0.01) < 0.03


@pytest.mark.parametrize(
    "method", ["predict", "predict_survival_function", "predict_proba", "attention"]
)
def test_every_prediction_warns_once_of_unlike_patients(est, odd, method):
    (words,) = unlike_words(lambda: getattr(est, method)(odd))
    assert words.startswith("52 of 500 subjects are unlike the patients learned from")
    assert "by body_mass_index: predictions are a guess for them" in words


def test_one_patient_is_told_by_what_it_is_unlike(est, odd):
    (words,) = unlike_words(lambda: est.predict(odd[3:4]))
    assert words.startswith("the subject is unlike the patients learned from, by body_mass_index")


def test_a_file_is_warned_of_once_whatever_its_chunks(est, odd, tmp_path):
    odd.to_csv(tmp_path / "new.csv", index=False)

    def predict(n_rows):
        out = tmp_path / f"out_{n_rows}.csv"
        return unlike_words(
            lambda: predict_file(est, tmp_path / "new.csv", out, [12], n_rows=n_rows)
        )

    assert predict(50) == predict(10_000)
    assert len(predict(70)) == 1


def test_a_file_may_have_typicality_as_its_last_column(est, cohort, tmp_path):
    X = cohort[0][1_000:1_200]
    X.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "out.csv"
    predict_file(est, tmp_path / "new.csv", out, [12], typicality=True, n_rows=70)
    written = pd.read_csv(out)
    assert written.columns[-1] == "typicality"
    np.testing.assert_allclose(written["typicality"], est.typicality(X), rtol=1e-9)


def test_typicality_itself_warns_of_nothing_and_reads_files(est, odd, tmp_path):
    odd.to_parquet(tmp_path / "new.parquet")
    shares, why = est.typicality(odd, reasons=True)
    assert (shares[3::10] < 0.01).all()
    assert set(why[3::10]) == {("body_mass_index",)}
    np.testing.assert_allclose(est.typicality(tmp_path / "new.parquet"), shares, rtol=1e-9)


def test_a_saved_estimator_knows_its_patients_and_an_older_one_says_that_it_does_not(
    est, odd, tmp_path
):
    est.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.typicality(odd), est.typicality(odd))
    again.typicality_ = None  # as of a folder without it
    assert not unlike_words(lambda: again.predict(odd))
    with pytest.raises(DataError, match=r"was not learned.*Fit it again"):
        again.typicality(odd)
    again.save(tmp_path / "older")
    assert load(tmp_path / "older").typicality_ is None


def test_a_fit_from_files_learns_the_same_of_its_patients(cohort, est, tmp_path):
    X, y = cohort
    pd.concat([X, y], axis=1)[:1_000].to_parquet(tmp_path / "table.parquet", row_group_size=300)
    from_file = SurvTRACE(**est.get_params()).fit(tmp_path / "table.parquet", ROLES)
    for name, array in est.typicality_.arrays().items():
        np.testing.assert_allclose(from_file.typicality_.arrays()[name], array, atol=1e-12)


def test_a_subject_of_several_rows_counts_once():
    X, y = make_cohort(30, random_state=0)
    twice = pd.concat([X, X], ignore_index=True)
    half = y["duration"] / 2
    outcome = {
        "entry": np.concatenate([np.zeros(30), half]),
        "duration": np.concatenate([half, y["duration"]]),
        "event": np.concatenate([np.zeros(30, int), y["event"]]),
        "id": np.tile(np.arange(30), 2),
    }
    est = SurvTRACE(n_members=1, max_epochs=1, unknown_steps=0, random_state=0, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        est.fit(twice, outcome)
    assert est.typicality_.n_subjects == 27  # a tenth is held out


@pytest.mark.parametrize("n", [1, 7, 100, 20_000])
def test_a_warning_by_chance_comes_in_one_of_a_hundred_tables_at_most(n):
    rng = np.random.default_rng(0)
    share = rng.beta(0.01 * 1_001, 0.99 * 1_001, 20_000)  # what is unlike, learned from 1,000
    assert np.mean(rng.binomial(n, share) > most_by_chance(n, 1_000)) < 0.0125
