import re

import pytest
import torch

from survtrace.training.history import History, progress_bar

COLUMNS = [
    "epoch",
    "member",
    "survival_loss",
    "mortality_loss",
    "stay_loss",
    "validation_loss",
    "improved",
    "seconds",
]


def test_a_row_for_each_epoch_and_member():
    history = History()
    for epoch in range(2):
        losses = torch.arange(6.0).view(3, 2) + epoch
        history.add(
            epoch,
            [0, 3],
            losses,
            torch.tensor([0.5, 0.25]),
            torch.tensor([True, False]),
        )
    frame = history.frame()
    assert frame.columns.tolist() == COLUMNS
    assert frame["epoch"].tolist() == [0, 0, 1, 1]
    assert frame["member"].tolist() == [0, 3, 0, 3]
    assert frame["stay_loss"].tolist() == [4.0, 5.0, 5.0, 6.0]
    assert frame["validation_loss"].tolist() == [0.5, 0.25, 0.5, 0.25]
    assert frame["improved"].dtype == bool
    assert (frame["seconds"] >= 0).all()


def test_an_empty_history_has_its_columns():
    assert History().frame().columns.tolist() == COLUMNS


def test_the_bar_goes_to_standard_error_only_when_asked(capsys):
    for verbose in (False, "auto", True):
        with progress_bar(verbose, 3, torch.device("cpu")) as show:
            show(0, torch.tensor([0.5]), torch.tensor([False]))
        out, err = capsys.readouterr()
        assert out == ""
        assert ("training on cpu" in err) == (verbose is True)
        assert ("epoch 1/3" in err) == (verbose is True)


def test_a_terminal_of_80_letters_shows_the_bar_and_the_time_left(monkeypatch, capsys):
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with progress_bar(True, 100, torch.device("cpu")) as show:
        show(99, torch.full((8,), 1.23456), torch.zeros(8, dtype=torch.bool))
    line = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err).strip().splitlines()[-1]
    assert "epoch 100/100 validation 1.2346 8 of 8 learning 0:00:00" in line
    assert line.count("━") >= 6


def test_a_member_without_a_loss_of_its_own_is_not_passed_over():
    losses, improved = torch.zeros(3, 2), torch.tensor([True, False])
    with pytest.raises(ValueError, match="zip"):
        History().add(0, [0, 3, 4], losses, torch.zeros(2), improved)
