"""The engine in the file says what the server says: numbers, warnings and refusals."""

import io
import json
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

fastapi = pytest.importorskip("fastapi")
from fastapi.testclient import TestClient  # noqa: E402

from survtrace import SurvTRACE  # noqa: E402
from survtrace.app import create_app, write_page  # noqa: E402

NEAR = 5e-6


def random_subject(rng, est):
    """A raw subject: values missing, far out, or never seen."""
    subject = {}
    for covariate, column in zip(est.encoding_.covariates, est.encoding_.columns, strict=True):
        kind = rng.random()
        if kind < 0.1:
            value = None
        elif covariate.kind == "categorical":
            value = "never seen" if kind > 0.95 else str(rng.choice(column.levels))
        else:
            reach = (column.high - column.low) * (3 if kind > 0.85 else 0)
            value = float(rng.uniform(column.low - reach, column.high + reach))
        if kind > 0.02:
            subject[covariate.name] = value
    return subject


def random_questions(est, n, seed=0):
    rng, (first, end) = np.random.default_rng(seed), est.time_grid_[[0, -1]]
    starts = [0.0, 0.0, first + 0.3 * (end - first), first + 0.9 * (end - first)]
    typical = {
        c.name: k.typical
        for c, k in zip(est.encoding_.covariates, est.encoding_.columns, strict=True)
    }
    subjects = [random_subject(rng, est) for _ in range(n)]
    subjects += [{}, dict.fromkeys(typical), typical, {"age": 1e15} if "age" in typical else {}]
    times = np.sort(rng.uniform(first, end, (len(subjects), 5)))
    after = [float(rng.choice(starts)) for _ in subjects]
    ends = [0.0, float(first), float(end), 1.5 * float(end)]
    return [
        {"subjects": [subject], "times": [*own.tolist(), *ends], "after": start}
        for subject, own, start in zip(subjects, times, after, strict=True)
    ]


def server_says(client, body):
    answer = client.post("/predict", json=body)
    return answer.json() if answer.status_code == 200 else {"refused": answer.json()["detail"]}


def assert_same(found, expected):
    """The same to the last word, and numbers to a few millionths."""
    assert found.get("refused") == expected.get("refused")
    if "refused" in expected:
        return
    assert sorted(found["warnings"]) == sorted(expected["warnings"])
    assert found["causes"] == expected["causes"]
    for name in ("survival", "incidence", "survival_std", "incidence_std"):
        assert_near(found[name], expected[name])
    assert (found["interval"] is None) == (expected["interval"] is None)
    for name, ends in (expected["interval"] or {}).items():
        assert_near(found["interval"][name], ends)
    for mine, other in zip(found["typicality"] or [], expected["typicality"] or [], strict=True):
        assert mine["because"] == other["because"]
        assert mine["unlike"] == other["unlike"]
        assert mine["share"] == pytest.approx(other["share"], abs=NEAR)


def assert_near(found, expected):
    np.testing.assert_allclose(
        np.array(found, dtype=float), np.array(expected, dtype=float), rtol=0, atol=NEAR
    )


def compare(est, file, ask_file, questions):
    asked = [{"question": "predict", "body": body} for body in questions]
    with TestClient(create_app(est)) as client:
        for body, found in zip(questions, ask_file(file, asked), strict=True):
            assert_same(found, server_says(client, body))


def test_random_patients_get_the_numbers_and_words_of_the_server(certain, certain_file, ask_file):
    questions = random_questions(certain, 60)
    pairs = [
        [questions[k]["subjects"][0], questions[k + 1]["subjects"][0]] for k in range(0, 60, 6)
    ]
    questions += [{"subjects": pair, "times": [2.0, 9.0], "after": [0.0, 3.0]} for pair in pairs]
    compare(certain, certain_file, ask_file, questions)


@pytest.mark.parametrize("fixture", ["fitted_one", "fitted_three", "fitted_by_age"])
def test_every_kind_of_model_is_computed_alike(fixture, request, tmp_path, ask_file):
    est = request.getfixturevalue(fixture)
    compare(est, write_page(est, tmp_path / f"{fixture}.html"), ask_file, random_questions(est, 15))


def test_numbers_that_cannot_be_are_refused_in_the_same_words(certain, certain_file, ask_file):
    bad = [1e30, -1e30, 1e19, "old", "1,5", True]
    questions = [{"subjects": [{"age": value}], "times": [3.0]} for value in bad[:3]]
    questions += [{"subjects": [{"age": 60}], "times": [3.0], "after": 1e6}]
    questions += [{"subjects": [{"age": 1e30}, {"age": 60}], "times": [3.0]}]
    compare(certain, certain_file, ask_file, questions)
    asked = [
        {"question": "predict", "body": {"subjects": [{"age": v}], "times": [3]}} for v in bad[3:5]
    ]
    for found in ask_file(certain_file, asked):
        assert "column 'age' is numerical; 1 of 1 values are not to be read" in found["refused"]


def test_survival_and_incidences_sum_to_one_and_intervals_enclose_them(
    certain, certain_file, ask_file
):
    questions = [{"question": "predict", "body": body} for body in random_questions(certain, 20, 1)]
    for found in ask_file(certain_file, questions):
        if "refused" in found:
            continue
        survival, incidence = np.array(found["survival"]), np.array(found["incidence"])
        np.testing.assert_allclose(survival + incidence.sum(axis=1), 1, atol=1e-12)
        low, high = (np.array(found["interval"][f"incidence_{end}"]) for end in ("low", "high"))
        assert (low <= incidence + 1e-12).all()
        assert (incidence <= high + 1e-12).all()


def test_attention_is_that_of_the_server(certain, certain_file, ask_file):
    body = {"subject": {"age": 71, "size": None, "sex": "m", "stage": "II", "ward": "ward 3"}}
    [found] = ask_file(certain_file, [{"question": "attention", "body": body}])
    with TestClient(create_app(certain)) as client:
        expected = client.post("/attention", json=body).json()
    assert found["covariates"] == expected["covariates"]
    assert_near(found["attention"], expected["attention"])


def test_a_network_without_layers_of_attention_predicts(one_cause, tiny, tmp_path, ask_file):
    est = SurvTRACE(**{**tiny, "depth": 0, "n_members": 1}).fit(*one_cause)
    file = write_page(est, tmp_path / "flat.html")
    compare(est, file, ask_file, random_questions(est, 5))


def score(client, file, ask_file, table, **how):
    """A scored table, by the file and by the server, each with its warnings."""
    address = f"score?{urlencode(how, doseq=True)}"
    [found] = ask_file(file, [{"question": address, "table": table}])
    answer = client.post(f"/{address}", content=table.encode())
    return found, answer


def test_a_table_is_scored_as_by_the_server(certain, certain_file, ask_file):
    rng = np.random.default_rng(3)
    rows = pd.DataFrame([random_subject(rng, certain) for _ in range(40)])
    rows = rows.assign(note=['said "no", twice'] * 40, code=["007"] * 40)
    with TestClient(create_app(certain)) as client:
        found, answer = score(
            client, certain_file, ask_file, rows.to_csv(index=False), times=[2, 9.5]
        )
    mine, other = (
        pd.read_csv(io.StringIO(text), dtype={"code": str}) for text in (found["csv"], answer.text)
    )
    assert list(mine) == list(other)
    pd.testing.assert_frame_equal(mine, other, rtol=0, atol=NEAR)
    said = json.loads(answer.headers["Survtrace-Warnings"])
    assert sorted(words[:300] for words in found["warnings"]) == sorted(said)


def test_a_table_with_an_age_for_each_is_scored_from_then_on(fitted_by_age, tmp_path, ask_file):
    file = write_page(fitted_by_age, tmp_path / "age.html")
    table = "age_now,size,sex\n61,3,f\n66.5,4,m\n"
    with TestClient(create_app(fitted_by_age)) as client:
        found, answer = score(client, file, ask_file, table, after="age_now", ahead=[2, 5])
    mine, other = (pd.read_csv(io.StringIO(text)) for text in (found["csv"], answer.text))
    pd.testing.assert_frame_equal(mine, other, rtol=0, atol=NEAR)


@pytest.mark.parametrize(
    ("table", "how", "words"),
    [
        ("", {"times": 2}, "it is empty"),
        ("age\n", {"times": 2}, "at least one subject"),
        ("a,b\n1,2\n", {"times": 2}, "it has none of ['age', 'size'"),
        ("age;size\n61;3,5\n", {"times": 2}, "separated by commas; the first line has ';'"),
        ("age,age\n1,2\n", {"times": 2}, "['age'] occur more than once"),
        ("Age,size\n1,2\n", {"times": 2}, "no column 'age'; is 'Age' meant?"),
        ("agee,size\n1,2\n", {"times": 2}, "no column 'age'; is 'agee' meant?"),
        ("age,now\n60,0x10\n", {"times": 2, "after": "now"}, "1 of 1 rows have none"),
        ("age,size\n1,2,3\n", {"times": 2}, "line 2 has 3 cells"),
        ('age,size\n"1,2\n', {"times": 2}, "a quote that is not closed"),
        ("age\nold\n", {"times": 2}, "(first: row 0, 'old' is no number)"),
        ("age\n60\n", {"times": "soon"}, "times must be numbers of zero or more"),
        (
            "age\n60\n",
            {"times": 2, "after": "now"},
            "after must name a column of the table; got 'now'",
        ),
        ("age,now\n60,\n", {"times": 2, "after": "now"}, "1 of 1 rows have none (first: row 0)"),
        (
            "age,now\n60,1e9\n",
            {"times": 2, "after": "now"},
            "1 of 1 rows have a time in column 'now'",
        ),
        ("age,survival_2\n60,1\n", {"times": 2}, "already has columns named ['survival_2']"),
    ],
)
def test_tables_that_cannot_be_scored_are_refused(certain_file, ask_file, table, how, words):
    [found] = ask_file(certain_file, [{"question": f"score?{urlencode(how)}", "table": table}])
    assert words in found["refused"]


def test_a_file_whose_weights_were_changed_does_not_open(certain_file, tmp_path, ask_file, packed):
    weights = packed(certain_file)["network"]["align"]["weight"]["text"]
    changed = tmp_path / "changed.html"
    text = certain_file.read_text("utf-8").replace(weights, weights[::-1])
    changed.write_text(text, "utf-8")
    [good] = ask_file(certain_file, [{"question": "schema"}])
    [found] = ask_file(changed, [{"question": "schema"}])
    assert "refused" not in good
    assert "computes other numbers here than where it was written" in found["refused"]
