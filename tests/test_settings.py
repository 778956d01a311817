import numpy as np
import pytest

from survtrace import SettingError, SurvTRACE
from survtrace.settings import RULES, between, check_settings, either, one_of, whole


def test_every_default_obeys_its_rule():
    check_settings(SurvTRACE().get_params())


def test_every_rule_is_for_a_setting_that_exists():
    assert set(RULES) <= set(SurvTRACE().get_params())


def test_whole_numbers_of_any_kind_are_whole():
    rule = whole(2)
    assert rule.holds(2)
    assert rule.holds(np.int64(7))
    assert not any(rule.holds(v) for v in (1, 2.0, True, "2", None))


def test_ends_can_be_left_out():
    assert between(0, 1).holds(0)
    assert between(0, 1).holds(np.float32(0.5))
    assert not between(0, 1, above=True).holds(0)
    assert not between(0, 1, below=True).holds(1)
    assert not any(between(0, 1).holds(v) for v in (float("nan"), "0.5", True, None))


def test_options_are_compared_with_their_type():
    assert one_of(1, "auto").holds("auto")
    assert not one_of(1, 2).holds(True)
    assert either(whole(1), one_of(None)).holds(None)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_members", 0, "n_members must be a whole number of at least 1 and at most 10000; got 0"),
        ("n_members", 2.5, "got 2.5"),
        ("n_intervals", 0, "n_intervals must be"),
        ("width", -4, "width must be"),
        ("head_depth", 3, "head_depth must be one of 1, 2; got 3"),
        ("dropout", 1.0, "dropout must be a number from 0 below 1; got 1.0"),
        ("token_dropout", "much", "token_dropout must be"),
        ("lr", 0, "lr must be a number above 0"),
        ("lr", float("nan"), "lr must be a number above 0"),
        ("weight_decay", -1.0, "weight_decay must be"),
        ("clip_norm", 0, "clip_norm must be"),
        ("batch_size", "large", "batch_size must be .* or one of 'auto'; got 'large'"),
        ("max_epochs", 0, "max_epochs must be"),
        ("patience", None, "patience must be"),
        ("validation_fraction", 0.0, "validation_fraction must be"),
        ("validation_fraction", 1.0, "validation_fraction must be"),
        ("anneal", 0, "anneal must be"),
        ("ips", "yes", "ips must be one of 'none', 'paper'"),
        ("ips_clip", 0, "ips_clip must be"),
        ("recalibrate", "never", "recalibrate must be"),
        ("zero_duration", "drop", "zero_duration must be"),
        ("prediction_batch_size", 0, "prediction_batch_size must be"),
        ("n_threads", 0, "n_threads must be"),
        ("verbose", "very", "verbose must be"),
        ("n_heads", 3, "width must be a multiple of n_heads; got width=4 and n_heads=3"),
        ("device", "gpu", "device must be 'auto', 'cpu' or 'cuda'; got 'gpu'"),
        ("time_grid", [3, 1], "time_grid must rise"),
        ("time_grid", [[1.0], [2.0, 3.0]], "time_grid must"),
        ("categorical", ["weight"], "categorical must name columns of X"),
        ("categorical", "sex", "categorical must be a list"),
        ("categorical", np.array(0), "categorical must be a list"),
        ("categorical", [True, False, False], "categorical must be a list of columns, by name or"),
    ],
    ids=str,
)
def test_a_bad_setting_is_named_in_fit_and_only_there(one_cause, tiny, name, value, message):
    est = SurvTRACE(**{**tiny, name: value})
    with pytest.raises(SettingError, match=message):
        est.fit(*one_cause)
    assert not est.__sklearn_is_fitted__()


def test_constructing_only_stores():
    grid = [1, 2]
    est = SurvTRACE(time_grid=grid, n_members=-3)
    assert est.time_grid is grid
    assert est.n_members == -3
    assert not hasattr(est, "__dict__") or not [name for name in vars(est) if name.endswith("_")]


def test_a_resumable_fit_needs_a_seed():
    with pytest.raises(SettingError, match="random_state must be given; got None"):
        check_settings({"checkpoint_dir": "somewhere", "random_state": None})
    check_settings({"checkpoint_dir": "somewhere", "random_state": 7})
