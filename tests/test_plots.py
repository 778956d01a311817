"""Every plot draws what it is given."""

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from survtrace.plots import (  # noqa: E402
    plot_attention,
    plot_calibration,
    plot_differences,
    plot_history,
    plot_incidence,
    plot_stacked,
    plot_survival,
)

TIMES = np.array([0.0, 1.0, 2.0])
INCIDENCE = np.array([[0.0, 0.1, 0.3], [0.0, 0.2, 0.25]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_each_cause_is_a_line_with_its_name_and_values():
    ax = plot_incidence(TIMES, INCIDENCE, ["heart", "other"], unit="years")
    assert [line.get_label() for line in ax.lines] == ["heart", "other"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), INCIDENCE[1])
    assert ax.get_xlabel() == "time (years)"
    assert not ax.collections


def test_a_band_stays_between_0_and_1():
    ax = plot_incidence(TIMES, INCIDENCE, [1, 2], deviation=np.full((2, 3), 0.8))
    heights = np.concatenate([band.get_paths()[0].vertices[:, 1] for band in ax.collections])
    assert heights.min() == 0
    assert heights.max() == 1


def test_causes_differ_by_colour_and_by_dashes():
    ax = plot_incidence(TIMES, np.zeros((3, 3)), "abc")
    assert len({line.get_color() for line in ax.lines}) == 3
    assert len({str(line.get_linestyle()) for line in ax.lines}) == 3


def test_stacked_states_fill_the_whole_height():
    ax = plot_stacked(TIMES, INCIDENCE, ["heart", "other"])
    assert ax.get_legend_handles_labels()[1] == ["heart", "other", "event-free"]
    top = ax.collections[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(1)


def test_the_attention_map_names_rows_and_columns():
    weights = np.array([[0.3, 0.7], [0.6, 0.4]])
    ax = plot_attention(weights, ["age", "sex"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["age", "sex"]
    np.testing.assert_array_equal(ax.images[0].get_array(), weights)


def test_attention_maps_side_by_side_can_share_a_scale_and_show_their_numbers():
    ax = plot_attention([[0.0, 1.0], [0.6, 0.4]], "ab", limits=(0, 2), bar=False, digits=1)
    assert ax.images[0].get_clim() == (0, 2)
    assert len(ax.figure.axes) == 1
    assert [text.get_text() for text in ax.texts] == ["0.0", "1.0", "0.6", "0.4"]
    light = plot_attention([[0.0, 1.0]], "ab", digits=0).texts
    assert [text.get_color() for text in light] == ["white", "black"]  # on dark, on bright


def test_survival_has_a_band_only_where_there_is_a_deviation():
    deviation = [[0.0, 0.1, 0.1], [np.nan] * 3]
    ax = plot_survival(TIMES, 1 - INCIDENCE, ["own", "rival"], deviation=deviation, unit="days")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), 1 - INCIDENCE[0])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("survival", "time (days)")
    heights = [np.concatenate([p.vertices[:, 1] for p in b.get_paths()] or [[]])
               for b in ax.collections]  # fmt: skip
    assert heights[0].min() == pytest.approx(0.5)
    assert len(heights[1]) == 0


def test_differences_stand_side_by_side_with_their_intervals():
    middle = np.array([[0.1, -0.1], [0.2, 0.0]])
    ax = plot_differences(middle, middle - 0.02, middle + 0.05, ["a", "b"], ["x", "y"])
    first, second = ax.containers
    assert [first.get_label(), second.get_label()] == ["a", "b"]
    assert first.lines[0].get_marker() != second.lines[0].get_marker()
    assert (first.lines[0].get_xdata() < second.lines[0].get_xdata()).all()
    bars = first.lines[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], [[0.08, 0.15], [-0.12, -0.05]])


def test_calibration_has_the_diagonal_and_room_for_every_point():
    ax = plot_calibration([0.1, 0.2], [0.05, 0.5])
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_ylim()[1] > 0.5
    assert len(ax.lines) == 2


def test_history_marks_the_best_epoch_of_each_member():
    history = pd.DataFrame(
        {
            "epoch": [0, 0, 1, 1],
            "member": [0, 1, 0, 1],
            "survival_loss": [2.0, 2.1, 1.5, 1.4],
            "validation_loss": [1.9, 1.8, 1.7, 1.95],
            "improved": [True, True, True, False],
        }
    )
    marks = [line for line in plot_history(history).lines if line.get_marker() == "o"]
    assert [(mark.get_xdata()[0], mark.get_ydata()[0]) for mark in marks] == [(1, 1.7), (0, 1.8)]


def test_axes_given_are_drawn_on():
    _, ax = plt.subplots()
    assert plot_incidence(TIMES, INCIDENCE, [1, 2], ax=ax) is ax
