import numpy as np
import pytest

from survtrace.metrics import StepFunction


@pytest.mark.parametrize("scale", ["log-log", "cloglog"])
def test_a_probability_has_an_interval_unless_it_is_0_or_1_up_to_rounding(scale):
    value = np.array([1e-12, 1e-10, 0.5, 1 - 1e-10, 1 - 1e-12])
    curve = StepFunction(np.arange(5.0), value, variance=np.full(5, 1e-24), scale=scale)
    for end in curve.interval(np.arange(5.0)):
        np.testing.assert_array_equal(np.isnan(end), [True, False, False, False, True])


def test_variance_and_scale_of_a_curve_are_given_by_name():
    times, values = np.array([1.0]), np.array([0.5])
    with pytest.raises(TypeError):
        StepFunction(times, values, 1.0, "log-log")
    with pytest.raises(TypeError):
        StepFunction(times, values, 1.0, np.array([0.1]))
