"""/score, survtrace predict and as_frame=True: one question, the same columns and numbers."""

import io

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from survtrace import SurvTRACE, portable
from survtrace.app import create_app
from survtrace.cli import main
from survtrace.tables.files.text_files import TO_THE_LAST_DIGIT

TIMES = [1234567.0, 1234568.0, 400000.0]
NAMES = [
    f"{state}_{time}"
    for state in ("survival", "incidence_1", "incidence_2")
    for time in (1234567, 1234568, 400000)
]


@pytest.fixture(scope="module")
def subjects(draw_cohort):
    X, y = draw_cohort(160, 2)
    return X, y.assign(duration=y["duration"] * 1e5)


@pytest.fixture(scope="module")
def est(tiny, subjects):
    """Fitted to durations that need seven digits."""
    return SurvTRACE(**tiny).fit(*subjects)


@pytest.fixture(scope="module")
def frame(est, subjects):
    """What the estimator says: event-free first, then each cause, each at all times."""
    X = subjects[0].head(30)
    survival = est.predict_survival_function(X, TIMES, as_frame=True)
    return pd.concat([survival, est.predict_cumulative_incidence(X, TIMES, as_frame=True)], axis=1)


@pytest.fixture(scope="module")
def predicted(est, subjects, tmp_path_factory):
    """The CSV file of `survtrace predict`, as text."""
    folder = tmp_path_factory.mktemp("predicted")
    est.save(folder / "model")
    subjects[0].head(30).to_csv(folder / "new.csv", index=False)
    times = ",".join(f"{time:.0f}" for time in TIMES)
    told = [folder / "model", folder / "new.csv", "--times", times, "--out", folder / "p.csv"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["survtrace", "--quiet", "predict", *map(str, told)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    return (folder / "p.csv").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def scored(est, subjects):
    """The answer of /score to the same table, as text, without the table's own columns."""
    X = subjects[0].head(30)
    with TestClient(create_app(est)) as client:
        content = X.to_csv(index=False).encode()
        answer = client.post("/score", content=content, params={"times": TIMES})
    assert answer.status_code == 200, answer.text
    table = pd.read_csv(io.StringIO(answer.text), dtype=str)
    assert list(table)[: X.shape[1]] == list(X)
    return table.iloc[:, X.shape[1] :].to_csv(index=False, lineterminator="\n")


def numbers(text):
    return pd.read_csv(io.StringIO(text), **TO_THE_LAST_DIGIT)


def test_a_frame_names_times_that_differ_in_the_seventh_digit(frame):
    assert list(frame) == NAMES


def test_predict_has_the_columns_of_the_frame_in_its_order(predicted, frame):
    assert list(numbers(predicted)) == list(frame)


def test_predict_has_the_numbers_of_the_frame(predicted, frame):
    pd.testing.assert_frame_equal(
        numbers(predicted)[NAMES], frame.reset_index(drop=True), rtol=0, atol=1e-14
    )


def test_predict_has_the_digits_of_the_frame(predicted, frame):
    pd.testing.assert_frame_equal(
        numbers(predicted)[NAMES], frame.reset_index(drop=True), check_exact=True
    )


def test_score_has_the_columns_of_the_frame(scored, frame):
    assert set(numbers(scored)) == set(frame)
    assert numbers(scored).shape == frame.shape


def test_score_has_the_order_of_the_frame(scored, frame):
    assert list(numbers(scored)) == list(frame)


def test_score_has_the_numbers_of_the_frame(scored, frame):
    pd.testing.assert_frame_equal(
        numbers(scored)[NAMES], frame.reset_index(drop=True), rtol=0, atol=1e-6
    )


def test_score_has_the_digits_of_the_portable_predictor(scored, est, subjects, tmp_path):
    est.save(tmp_path / "model")
    light = portable.load(tmp_path / "model")
    rows = subjects[0].head(30).to_dict("records")
    survival = light.predict_survival_function(rows, TIMES)
    np.testing.assert_array_equal(numbers(scored)[NAMES[:3]], survival)


def test_a_time_asked_twice_is_one_column(est, subjects):
    content = subjects[0].head(2).to_csv(index=False).encode()
    with TestClient(create_app(est)) as client:
        answer = client.post("/score", content=content, params={"times": [400000.0, 400000.0]})
    names = answer.text.splitlines()[0].split(",")
    assert names[-3:] == ["survival_400000", "incidence_1_400000", "incidence_2_400000"]
    assert names.count("survival_400000") == 1


def test_the_next_years_of_each_subject_are_counted_from_its_own_age(fitted_by_age, draw_cohort):
    X = draw_cohort(20, 3)[0].drop(columns="age").assign(age_now=np.linspace(55, 68, 20))
    with TestClient(create_app(fitted_by_age)) as client:
        table = X.to_csv(index=False)
        answer = client.post("/score?after=age_now&ahead=5&ahead=10", content=table)
        scored = pd.read_csv(io.StringIO(answer.text))
        assert answer.headers["Survtrace-Warnings"] == "[]"
        assert scored.columns[-8:].tolist() == [
            f"{state}_+{ahead}"
            for state in ("survival", "incidence_1", "incidence_2", "incidence_3")
            for ahead in (5, 10)
        ]
        now = X["age_now"].to_numpy()
        expected = fitted_by_age.predict_survival_function(
            X[["size", "sex", "stage"]], now[:, None] + [5, 10], conditional_after=now
        )
        found = scored[["survival_+5", "survival_+10"]]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        for asked, words in {
            "ahead=5": "after names the column that has it",
            "after=years&ahead=5": "after must name a column of the table; got 'years'",
        }.items():
            refused = client.post(f"/score?{asked}", content=table)
            assert words in refused.json()["detail"]
        gap = client.post("/score?after=age_now&ahead=5", content=table.replace("55.0", ""))
        assert "1 of 20 rows have none (first: row 0" in gap.json()["detail"]
        silent = client.post("/score?times=70", content=table)
        assert "the curves begin at 50" in silent.headers["Survtrace-Warnings"]
