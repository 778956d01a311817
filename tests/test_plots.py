"""Every plot draws what it is given."""

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from survtrace import DataError, SettingError  # noqa: E402
from survtrace.plots import (  # noqa: E402
    plot_at_risk,
    plot_attention,
    plot_calibration,
    plot_decision_curve,
    plot_differences,
    plot_history,
    plot_importance,
    plot_incidence,
    plot_partial_dependence,
    plot_risk_groups,
    plot_scores_over_time,
    plot_smooth_calibration,
    plot_stacked,
    plot_subgroups,
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


def test_causes_are_named_by_a_mapping_or_as_causes_with_a_number():
    named = plot_incidence(TIMES, INCIDENCE, {1: "heart", 2: "other"})
    assert [line.get_label() for line in named.lines] == ["heart", "other"]
    numbered = plot_stacked(TIMES, INCIDENCE, [1, 2])
    labels = numbered.get_legend_handles_labels()[1]
    assert labels == ["cause 1", "cause 2", "event-free"]


def test_covariates_keep_a_given_order_in_panels_that_share_an_axis():
    ax = plot_importance(
        [0.1, 0.3], [0, 0.2], [0.2, 0.4], ["sex", "age"], ordered=True, colour="red"
    )
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["sex", "age"]
    assert ax.lines[-1].get_color() == "red"


def test_a_band_stays_between_0_and_1():
    ax = plot_incidence(TIMES, INCIDENCE, [1, 2], deviation=np.full((2, 3), 0.8))
    heights = np.concatenate([band.get_paths()[0].vertices[:, 1] for band in ax.collections])
    assert heights.min() == 0
    assert heights.max() == 1


def test_a_deviation_that_is_not_known_draws_no_band():
    unknown = np.full((2, 3), np.nan)
    assert not plot_incidence(TIMES, INCIDENCE, [1, 2], deviation=unknown).collections
    layers = plot_stacked(TIMES, INCIDENCE, [1, 2]).collections
    assert len(plot_stacked(TIMES, INCIDENCE, [1, 2], deviation=unknown).collections) == len(layers)


def test_causes_differ_by_colour_and_by_dashes():
    ax = plot_incidence(TIMES, np.zeros((3, 3)), "abc")
    assert len({line.get_color() for line in ax.lines}) == 3
    assert len({str(line.get_linestyle()) for line in ax.lines}) == 3


def test_stacked_states_fill_the_whole_height():
    ax = plot_stacked(TIMES, INCIDENCE, ["heart", "other"])
    assert ax.get_legend_handles_labels()[1] == ["heart", "other", "event-free"]
    top = ax.collections[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(1)


def test_bars_on_stacked_states_are_two_deviations_of_each_cause():
    times = np.linspace(0, 10, 50)
    incidence = np.stack([times / 100, times / 50])
    deviation = np.full((2, 50), 0.01)
    ax = plot_stacked(times, incidence, ["heart", "other"], deviation=deviation)
    bars = [bar for container in ax.containers for bar in container.lines[2][0].get_segments()]
    assert len(bars) == 6
    assert all(bar[1, 1] - bar[0, 1] == pytest.approx(0.04) for bar in bars)
    assert len({bar[0, 0] for bar in bars}) == 6  # none hides another


def test_stacked_states_differ_by_hatching_too():
    ax = plot_stacked(TIMES, INCIDENCE, ["heart", "other"])
    assert ax.collections[0].get_hatch() != ax.collections[1].get_hatch()


def test_attention_that_is_nearly_even_looks_nearly_even():
    ax = plot_attention([[0.49, 0.51], [0.5, 0.5]], "ab")
    assert ax.images[0].get_clim() == (0, 0.51)


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
    ax = plot_survival(TIMES, 1 - INCIDENCE, ["own", "baseline"], deviation=deviation, unit="days")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), 1 - INCIDENCE[0])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("survival", "time (days)")
    heights = [np.concatenate([p.vertices[:, 1] for p in b.get_paths()] or [[]])
               for b in ax.collections]  # fmt: skip
    assert heights[0].min() == pytest.approx(0.5)
    assert len(heights) == 1


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


def test_calibration_shows_intervals_and_group_sizes_on_a_shared_scale():
    known = {"low": [0.05, 0.2], "high": [0.2, 0.6], "size": [50, 49]}
    ax = plot_calibration([0.1, 0.4], [0.12, 0.35], **known)
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose(segments[1][:, 1], [0.2, 0.6])
    assert ax.get_xlim() == ax.get_ylim() == (0, pytest.approx(0.63))
    assert ax.texts[0].get_text() == "2 groups of 49 to 50"
    assert plot_calibration([0.1], [0.1], limit=0.9).get_xlim() == (0, 0.9)


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


def test_a_second_calibration_curve_looks_different_and_fits_in():
    ax = plot_calibration([0.1, 0.2], [0.1, 0.3], label="heart")
    plot_calibration([0.1, 0.6], [0.1, np.nan], label="other", ax=ax)
    _, first, second = ax.lines
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    assert ax.get_xlim()[1] > 0.6


def test_the_first_training_loss_does_not_set_the_scale_of_the_history():
    losses = {"survival_loss": [9.0, 1.5, 1.4], "validation_loss": [1.6, 1.5, 1.55]}
    history = pd.DataFrame(
        {"epoch": [0, 1, 2], "member": 0, **losses, "improved": [True, True, False]}
    )
    assert plot_history(history).get_ylim()[1] < 2


def test_scores_over_time_are_a_line_for_each_method_with_its_interval():
    scores = np.array([[0.7, 0.72, 0.7], [0.6, 0.6, 0.62]])
    ax = plot_scores_over_time(
        TIMES, scores, ["own", "baseline"], low=scores - 0.1, high=scores + 0.1,
        score="concordance", reference=0.5,
    )  # fmt: skip
    reference, own, baseline = ax.lines
    assert list(reference.get_ydata()) == [0.5, 0.5]
    np.testing.assert_array_equal(own.get_ydata(), scores[0])
    assert own.get_linestyle() != baseline.get_linestyle()
    heights = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.5, 0.72))


def test_risk_groups_are_cut_at_quantiles_and_drawn_by_kaplan_meier():
    y = {"event": [1, 2, 0, 1, 1, 0], "duration": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    ax = plot_risk_groups(y, [0.9, 0.8, 0.5, 0.6, 0.1, 0.2], unit="years")
    assert [line.get_label() for line in ax.lines] == [
        "low (n = 2)",
        "middle (n = 2)",
        "high (n = 2)",
    ]
    high = ax.lines[-1]
    np.testing.assert_array_equal(high.get_xdata(), [0, 1, 2])
    np.testing.assert_array_equal(high.get_ydata(), [1, 0.5, 0])
    assert high.get_drawstyle() == "steps-post"


def test_numbers_at_risk_count_those_still_followed_at_each_tick():
    y = {"event": [1, 0, 0, 1], "duration": [2.0, 4.0, 4.0, 6.0]}
    ax = plot_risk_groups(y, [0.9, 0.8, 0.1, 0.2], groups=2)
    ticks = [tick for tick in ax.get_xticks() if 0 <= tick <= 6]
    written = [text.get_text() for text in ax.texts]
    assert written[0] == "at risk"
    assert written[1] == "low"
    low = np.array([4.0, 6.0])
    assert written[2 : 2 + len(ticks)] == [str((low >= tick).sum()) for tick in ticks]
    assert written[2 + len(ticks)] == "high"


def test_who_entered_late_is_at_risk_from_then_on():
    y = {"event": [1, 0, 0, 1], "duration": [55.0, 70.0, 62.0, 68.0], "entry": [50.0, 51, 52, 50]}
    ax = plot_risk_groups(y, [0.9, 0.8, 0.1, 0.2], groups=2, unit="years", clock="age")
    assert ax.get_xlabel() == "age (years)"
    assert ax.get_xlim() == (50.0, 70.0)
    ticks = [tick for tick in ax.get_xticks() if 50 <= tick <= 70]
    written = [text.get_text() for text in ax.texts][2 : 2 + len(ticks)]
    entry, end = np.array([52.0, 50.0]), np.array([62.0, 68.0])
    assert written == [str(((entry < tick) & (end >= tick)).sum()) for tick in ticks]
    assert [curve.get_xdata()[0] for curve in ax.lines] == [50.0, 50.0]


def test_numbers_at_risk_rise_with_entries_and_fall_with_exits():
    y = {"event": [1, 0, 0], "duration": [3.0, 5.0, 6.0], "entry": [0.0, 2.0, 2.0]}
    curve = plot_at_risk(y).lines[0]
    np.testing.assert_array_equal(curve.get_xdata(), [0, 2, 3, 5, 6])
    np.testing.assert_array_equal(curve.get_ydata(), [1, 3, 2, 1, 0])
    plain = plot_at_risk({"event": [1, 0], "duration": [3.0, 5.0]}).lines[0]
    np.testing.assert_array_equal(plain.get_xdata(), [0, 3, 5])
    np.testing.assert_array_equal(plain.get_ydata(), [2, 1, 0])


def test_rows_of_one_subject_are_at_risk_as_one():
    y = {"event": [0, 1], "duration": [2.0, 5.0], "entry": [0.0, 2.0], "id": ["a", "a"]}
    assert plot_at_risk(y).lines[0].get_ydata().tolist() == [1, 0]
    with pytest.raises(DataError, match=r"one row for each subject.*survtrace\.landmark"):
        plot_risk_groups(y, [0.1, 0.2], groups=1)


def test_many_risk_groups_are_numbered_and_equal_risks_stay_together():
    y = {"event": [1] * 8, "duration": np.arange(1.0, 9.0)}
    ax = plot_risk_groups(y, [0, 0, 0, 0, 0, 1, 2, 3], groups=4)
    assert [line.get_label() for line in ax.lines] == [
        "1 (lowest) (n = 5)",
        "3 (n = 1)",
        "4 (highest) (n = 2)",
    ]


def test_risk_groups_want_a_number_for_each_subject():
    with pytest.raises(DataError, match=r"one finite number for each of 2 .*est\.predict"):
        plot_risk_groups({"event": [1, 0], "duration": [1.0, 2.0]}, [0.5])
    with pytest.raises(SettingError, match="a name for each or none; got 2 and"):
        plot_risk_groups({"event": [1, 0], "duration": [1.0, 2.0]}, [1, 2], groups=2, names=["a"])


def test_the_most_important_covariate_stands_on_top_with_its_interval():
    ax = plot_importance([0.1, 0.3], [0.0, 0.25], [0.2, 0.4], ["sex", "age"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["age", "sex"]
    assert ax.yaxis_inverted()
    bars = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 0] for bar in bars], [[0.25, 0.4], [0.0, 0.2]])


def test_importances_of_several_causes_stand_side_by_side():
    middle = np.array([[0.1, 0.3], [0.2, 0.0]])
    ax = plot_importance(middle, middle - 0.1, middle + 0.1, "ab", causes=["heart", "other"])
    first, second = (line for line in ax.lines if line.get_label() in ("heart", "other"))
    assert (first.get_ydata() < second.get_ydata()).all()
    assert first.get_marker() != second.get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["heart", "other"]


def test_dependence_on_numbers_is_a_line_and_missing_stands_apart():
    values = [1.0, 2.0, 4.0, np.nan]
    ax = plot_partial_dependence(values, [0.1, 0.2, 0.3, 0.15], low=[0.0] * 4, high=[0.4] * 4)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 4])
    assert ax.get_xticklabels()[-1].get_text() == "missing"
    assert ax.lines[-1].get_xdata()[0] > 4
    assert len(ax.collections) == 2  # a band, and the bar of the missing


def test_dependence_on_categories_is_points_for_each_cause():
    incidence = np.array([[0.1, 0.2], [0.3, 0.4]])
    ax = plot_partial_dependence(["f", "m"], incidence, causes=["heart", "other"], covariate="sex")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["f", "m"]
    assert ax.get_legend_handles_labels()[1] == ["heart", "other"]
    np.testing.assert_array_equal(ax.get_legend_handles_labels()[0][1].get_ydata(), incidence[1])
    assert ax.get_xlabel() == "sex"


def test_a_bar_may_lie_beside_its_point():
    """A mean of many small and a few large values lies above their middle half."""
    ax = plot_partial_dependence(["f"], [0.5], low=[0.1], high=[0.3])
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 1], [0.1, 0.3])
    ax = plot_importance([0.5], [0.1], [0.3], ["sex"])
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 0], [0.1, 0.3])


def test_long_names_of_categories_are_slanted():
    names = [f"a rather long category {k}" for k in range(4)]
    labels = plot_partial_dependence(names, [0.1] * 4).get_xticklabels()
    assert {label.get_rotation() for label in labels} == {45}


def test_axes_given_are_drawn_on_and_get_no_legend():
    _, ax = plt.subplots()
    assert plot_incidence(TIMES, INCIDENCE, [1, 2], ax=ax) is ax
    assert ax.get_legend() is None
    assert plot_incidence(TIMES, INCIDENCE, [1, 2]).get_legend() is not None


def test_a_calibration_band_and_the_predictions_below_it_are_drawn():
    ax = plot_smooth_calibration(
        [0.1, 0.4], [0.12, 0.35], low=[0.1, 0.3], high=[0.2, 0.5], predictions=[0.1, 0.1, 0.4]
    )
    heights = [bar.get_height() for bar in ax.patches]
    assert max(heights) == pytest.approx(2 * min(height for height in heights if height))
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlim()[1] >= 0.5


def test_a_second_calibration_curve_has_another_colour_and_other_dashes():
    ax = plot_smooth_calibration([0.1, 0.4], [0.12, 0.35], label="old")
    plot_smooth_calibration([0.1, 0.6], [0.1, 0.6], label="new", ax=ax)
    _, old, new = ax.lines
    assert old.get_color() != new.get_color()
    assert old.get_linestyle() != new.get_linestyle()
    assert ax.get_xlim()[1] >= 0.6


def test_numbers_of_a_wide_ratio_axis_do_not_touch():
    rows = {"value": [1.2, 1.4], "low": [0.9, 0.02], "high": [1.6, 60.0]}
    ax = plot_subgroups([("", "all"), ("centre", "new")], **rows, is_ratio=True)
    ticks = np.sort(ax.get_xticks())
    assert 1 in ticks
    assert np.diff(np.log(ticks)).min() > np.log(60 / 0.02) / 9
    assert len(ticks) >= 5


def test_a_decision_curve_that_does_harm_is_not_cut_off():
    ax = plot_decision_curve([0.05, 0.1], [-0.0024, -0.001], ["model"], treat_all=[-0.01, -0.07])
    assert -0.01 < ax.get_ylim()[0] < -0.0024


def test_a_decision_curve_shows_the_predictions_among_treating_all_and_none():
    all_ = [0.3, -5.0]
    ax = plot_decision_curve([0.1, 0.9], [0.3, 0.1], ["model"], treat_all=all_)
    assert ax.get_legend_handles_labels()[1] == ["model", "treat all", "treat none"]
    assert ax.get_ylim()[0] > -1  # treating all falls far below what matters
    with pytest.raises(DataError, match="a row for each of 2 labels"):
        plot_decision_curve([0.1, 0.9], [0.3, 0.1], ["old", "new"])


def test_subgroups_stand_below_the_name_of_their_covariate():
    groups = [("", "all"), ("sex", "f"), ("sex", "m"), ("age", "60 or more")]
    nan = float("nan")
    ax = plot_subgroups(
        groups, [1, 0.9, 1.2, nan], [0.9, 0.7, 0.9, nan], [1.1, 1.2, 1.5, nan], is_ratio=True
    )
    texts = [tick.get_text() for tick in ax.get_yticklabels()]
    assert texts == ["all", "sex", "f", "m", "age", "60 or more"]
    assert [text.get_text() for text in ax.texts] == ["not scored"]
    assert ax.get_xscale() == "log"
    with pytest.raises(DataError, match="each of 4 groups"):
        plot_subgroups(groups, [1], [1], [1])
