"""survtrace-portable predicts from a CSV table and serves, in the words of the library."""

import csv
import errno
import io
import signal

import numpy as np
import pytest

from survtrace.app import command
from survtrace.app.answers.scored_table import Scored


@pytest.fixture(scope="module")
def model(fitted_three, tmp_path_factory):
    path = tmp_path_factory.mktemp("portable") / "model"
    fitted_three.save(path)
    return path


@pytest.fixture
def table(three_causes, tmp_path):
    path = tmp_path / "rows.csv"
    three_causes[0][:4].to_csv(path, index=False)
    return path


def test_predict_writes_probabilities_beside_the_rows(
    model, table, fitted_three, three_causes, tmp_path, capsys
):
    arguments = ["predict", str(model), str(table), "--times", "1,2"]
    assert command.main([*arguments, "--out", str(tmp_path / "scored.csv")]) == 0
    assert command.main(arguments) == 0
    text = (tmp_path / "scored.csv").read_text()
    assert capsys.readouterr().out.replace("\r\n", "\n") == text
    rows = list(csv.DictReader(io.StringIO(text)))
    found = [[float(row["survival_1"]), float(row["survival_2"])] for row in rows]
    expected = fitted_three.predict_survival_function(three_causes[0][:4], [1.0, 2.0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_a_table_that_could_not_be_written_to_its_end_is_not_there(
    model, table, tmp_path, monkeypatch
):
    def write_half(scored):
        yield "age,survival_1\n"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Scored, "csv", write_half)
    before = set(tmp_path.iterdir())
    arguments = ["predict", str(model), str(table), "--out", str(tmp_path / "scored.csv")]
    assert command.main(arguments) == 1
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [(signal.SIGINT, 130, "interrupted;"), (signal.SIGTERM, 143, "stopped by SIGTERM;")],
)
def test_a_prediction_that_is_stopped_says_so_and_leaves_no_file(
    model, table, tmp_path, monkeypatch, capsys, number, status, words
):
    def write_half(scored):
        yield "age,survival_1\n"
        signal.raise_signal(number)

    monkeypatch.setattr(Scored, "csv", write_half)
    before, handler = set(tmp_path.iterdir()), signal.getsignal(signal.SIGTERM)
    arguments = ["predict", str(model), str(table), "--out", str(tmp_path / "scored.csv")]
    try:
        ended = command.main(arguments)
    except SystemExit as exit_:
        ended = exit_.code
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert ended == status
    assert words in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["predict", "{folder}", "{table}"], "holds no saved estimator"),
        (["predict", "{model}", "{folder}/none.csv"], "No such file"),
        (
            ["predict", "{model}", "{table}", "--out", "{table}"],
            "exists and is left alone. Choose another",
        ),
        (["predict", "{folder}", "none.csv", "--out", "{model}"], "exists and is left alone"),
        (["predict", "{model}", "{table}", "--times", "soon"], "numbers of zero or more"),
        (["predict", "{model}", "{table}", "--times", "-1"], "numbers of zero or more"),
        (["serve", "{folder}"], "holds no saved estimator"),
        (["serve", "{model}", "--workers", "0"], "workers must be a whole number above 0"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(model, table, tmp_path, capsys, arguments, words):
    given = [each.format(model=model, table=table, folder=tmp_path) for each in arguments]
    before = table.read_bytes()
    assert command.main(given) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert words in said
    assert said.count("\n") == 1
    assert table.read_bytes() == before


def test_serve_passes_its_options_on(model, monkeypatch):
    seen = {}
    monkeypatch.setattr("survtrace.app.service.server.serve", lambda *a, **how: seen.update(how))
    monkeypatch.setenv("SURVTRACE_TOKEN", "secret")
    assert command.main(["serve", str(model), "--port", "0", "--workers", "2"]) == 0
    assert (seen["port"], seen["workers"], seen["token"]) == (0, 2, "secret")
