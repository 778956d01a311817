"""What is shown on a terminal is shown whole."""

import re

import pandas as pd

from survtrace.cli.screen import counting, show_frame, warn_once


def test_a_name_too_long_for_a_narrow_terminal_is_folded_and_numbers_are_not(monkeypatch, capsys):
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    long = "free_light_chain_ratio_at_diagnosis_in_mg_per_litre"
    show_frame(pd.DataFrame({"covariate": [long], "missing": [123456]}))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    cells = [line.split("│") for line in shown.splitlines() if "│" in line]
    assert "".join(cell[1].strip() for cell in cells) == long
    assert "123456" in cells[0][2]


def test_words_and_numbers_stay_whole_in_the_usual_80_columns(monkeypatch, capsys):
    """Scores of seven columns were cut to "predicte|d", "(0.711..0|.822)" and "integrat|ed"."""
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    scores = dict.fromkeys(("C", "AUC", "Brier", "predicted", "O/E"), "0.771 (0.711..0.822)")
    show_frame(pd.DataFrame([{"cause": "circulatory", "horizon (days)": "integrated", **scores}]))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, shown.splitlines())) <= 80
    rows = [re.split("[│┃]", line) for line in shown.splitlines() if line[0] in "│┃"]
    words = [" ".join(cell.strip() for cell in column) for column in zip(*rows, strict=True)]
    assert words[1].split() == ["cause", "circulatory"]
    assert words[2].split() == ["horizon", "(days)", "integrated"]
    assert words[6].split() == ["predicted", "0.771", "(0.711..", "0.822)"]


def test_brackets_of_a_title_are_shown_as_they_are(capsys):
    """They are of the names of columns; [days] was dropped, and [/yes] ended the command."""
    title = "dead [/yes] (duration: time [days])"
    show_frame(pd.DataFrame({"label": ["long enough for a title in one line" * 2]}), title=title)
    assert title in capsys.readouterr().out


def test_a_warning_stands_above_the_progress_bar_and_not_in_its_line(monkeypatch, capsys):
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with counting(None, quiet=False) as advance:
        advance(5)
        warn_once()("age lies outside 50 to 90")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)
    assert "\x1b[2Kwarning: age lies outside 50 to 90\n" in shown
    assert shown.index("warning") < shown.rindex("predicting 5 rows")
