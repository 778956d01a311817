from pathlib import Path

import numpy as np
import pytest

from survtrace import SettingError
from survtrace.rules import (
    PATH,
    between,
    check_flags,
    check_value,
    either,
    find_label,
    one_of,
    random_generator,
    whole,
)

ARRAY = np.array([1, 2])
NO_TIMES = [np.datetime64("NaT"), np.timedelta64("NaT"), np.timedelta64(3, "D")]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (whole(1), [1, np.int64(7)], [0, True, 1.0, "1", None, 10**400, ARRAY, 2**31]),
        (whole(0, 9), [0, 9], [10, -1, np.timedelta64(3, "D"), np.datetime64("NaT")]),
        (either(between(0, 9), one_of(None, 3)), [None, np.int8(3)], [*NO_TIMES]),
        (between(0, 1), [0, 1, 0.5, np.float32(0.5)], [1.1, -1e-9, np.nan, "0.5", True, ARRAY]),
        (between(0, 1, above=True, below=True), [0.5], [0, 1, 10**400]),
        (between(0, float("inf"), below=True), [0, 1e308], [float("inf"), 10**400]),
        (one_of("a", 1), ["a", 1], ["b", 1.0, True, ARRAY, None]),
        (one_of("a", 1), [np.str_("a"), np.int8(1)], [np.float64(1), np.True_, np.str_("b")]),
        (PATH, ["a", "", Path("a")], [3, None, b"a", "a\0b", "\ud800", ARRAY]),
        (either(whole(1), one_of(None)), [1, None], [0, "None"]),
    ],
)
def test_a_rule_holds_for_some_values_and_no_value_breaks_it(rule, good, bad):
    assert all(rule.holds(value) for value in good)
    assert not any(rule.holds(value) for value in bad)


def test_a_broken_rule_is_said_with_what_was_seen():
    with pytest.raises(SettingError, match=r"n must be a whole number of at least 2; got \[1, 2\]"):
        check_value("n", [1, 2], whole(2))
    with pytest.raises(SettingError, match="as_frame must be True or False; got 1"):
        check_flags(as_frame=1)


def test_an_array_without_axes_is_not_shown_as_the_number_it_is_not():
    with pytest.raises(SettingError, match=r"whole number of at least 1; got array\(4\)\."):
        check_value("width", np.array(4), whole(1))


def test_a_flag_of_numpy_is_a_flag():
    check_flags(as_frame=np.bool_(True))


def test_a_seed_makes_a_generator_and_a_generator_stays_itself():
    rng = np.random.default_rng(3)
    assert random_generator(rng) is rng
    assert random_generator(3).random() == np.random.default_rng(3).random()
    with pytest.raises(SettingError, match="random_state must be None, a whole number"):
        random_generator(-1)


@pytest.mark.parametrize("label", [ARRAY, [1], None, True, {}, 3, "1"])
def test_what_is_no_label_is_not_found(label):
    assert find_label(label, [1, 2]) is None


def test_a_label_is_found_whatever_its_type_of_number():
    assert find_label(np.int64(2), [1, 2]) == find_label(2.0, [1, 2]) == 1
    assert find_label("relapse", [1, "relapse"]) == 1
