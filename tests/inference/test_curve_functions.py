"""A curve is called like scikit-survival's step function, and is exact between its knots."""

import pickle

import numpy as np
import pytest
import torch

from survtrace import DataError, SettingError
from survtrace.inference.curves import locate_times, mean_curve

BETWEEN = np.array([0.0, 0.3, 2.7, 5.1])


@pytest.fixture(name="X")
def covariates(three_causes):
    return three_causes[0][:7]


@pytest.fixture(name="functions")
def survival_functions(fitted_three, X):
    return fitted_three.predict_survival_function(X, return_array=False)


def test_there_is_one_for_each_subject_and_its_knots_are_the_time_grid(fitted_three, functions, X):
    assert functions.shape == (7,)
    np.testing.assert_array_equal(functions[0].x, fitted_three.time_grid_)
    values = np.array([fn.y for fn in functions])
    np.testing.assert_allclose(values, fitted_three.predict_survival_function(X), rtol=1e-12)


@pytest.mark.parametrize(
    "method",
    [
        "predict_survival_function",
        "predict_cumulative_incidence",
        "predict_cumulative_hazard_function",
    ],
)
def test_between_knots_it_is_the_estimators_own_answer(fitted_three, X, method):
    predict = getattr(fitted_three, method)
    functions = predict(X, return_array=False)
    values = np.array([fn(BETWEEN) for fn in functions.flat])
    np.testing.assert_allclose(
        values.reshape(*functions.shape, -1), predict(X, BETWEEN), rtol=1e-9, atol=1e-14
    )


def test_one_cause_or_all_of_them(fitted_three, X):
    every = fitted_three.predict_cumulative_incidence(X, return_array=False)
    second = fitted_three.predict_cumulative_incidence(X, cause=2, return_array=False)
    assert (every.shape, second.shape) == ((7, 3), (7,))
    np.testing.assert_array_equal(every[4, 1].y, second[4].y)


def test_at_its_knots_it_answers_as_a_step_function_does(functions):
    for fn in functions:
        step = pytest.importorskip("sksurv.functions").StepFunction(fn.x, fn.y)
        assert fn.domain == step.domain
        np.testing.assert_array_equal(fn(fn.x), step(fn.x))
        for single in (fn.x[1], [fn.x[1]]):
            assert np.ndim(fn(single)) == np.ndim(step(single)) == 0
            assert fn(single) == pytest.approx(step(single))
        table = fn.x[:4].reshape(2, 2)
        np.testing.assert_allclose(fn(table), step(table), rtol=1e-12)


@pytest.mark.parametrize("x", [-1.0, 1e9, np.nan, [1.0, np.inf]])
def test_outside_its_domain_both_refuse(functions, x):
    step = pytest.importorskip("sksurv.functions").StepFunction(functions[0].x, functions[0].y)
    with pytest.raises(ValueError, match="x must be"):
        step(x)
    with pytest.raises(DataError, match=r"a curve is known from 0 to .* extrapolate"):
        functions[0](x)


@pytest.mark.parametrize("x", ["soon", True, [1.0, "soon"], [[1.0], [1.0, 2.0]]], ids=str)
def test_what_is_no_time_is_refused(functions, x):
    with pytest.raises(DataError, match=r"a curve is known from 0 to .*; got x="):
        functions[0](x)
    with pytest.raises(DataError, match="must be real numbers; got complex ones"):
        functions[0](1j)


def test_knots_may_be_chosen_within_the_grid(fitted_three, X):
    fn = fitted_three.predict_survival_function(X, [1.0, 2.0], return_array=False)[0]
    assert fn.x.tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match="beyond the grid"):
        fitted_three.predict_survival_function(X, [1e9], return_array=False)


def test_it_survives_pickling(functions):
    assert pickle.loads(pickle.dumps(functions[3]))(2.7) == functions[3](2.7)


@pytest.mark.parametrize("setting", [{"return_std": True}, {"conditional_after": 1.0}])
def test_deviations_and_conditions_are_for_arrays(fitted_three, X, setting):
    with pytest.raises(SettingError, match=r"without deviations.*predict an array"):
        fitted_three.predict_survival_function(X, return_array=False, **setting)


def test_code_written_for_survshap_runs(fitted_three, X):
    """Its way of reading a model: a list of functions, their knots, their mean."""
    functions = fitted_three.predict_survival_function(X, return_array=False)
    knots = functions[0].x
    mean = np.mean([fn(knots) for fn in functions], axis=0)
    np.testing.assert_allclose(mean, np.mean([fn.y for fn in functions], axis=0))
    mixed = X.astype(object).assign(age=X["age"].iloc[0])
    assert len(fitted_three.predict_survival_function(mixed, return_array=False)) == 7


CUTS = torch.tensor([0.0, 2.0, 6.0], dtype=torch.float64)


def test_times_for_all_subjects_are_those_of_any_batch():
    at = locate_times(torch.tensor([[1.0, 4.0]], dtype=torch.float64), CUTS)
    start = torch.arange(5, dtype=torch.float64).view(-1, 1)
    some = at._replace(start=start).of(3, 2)
    assert some.points.tolist() == [[1.0, 4.0]]
    assert (some.interval.tolist(), some.fraction.tolist()) == ([[0, 1]], [[0.5, 0.5]])
    assert some.start.tolist() == [[3.0], [4.0]]
    assert at.of(3, 2).start is None


def test_a_batch_of_subjects_with_their_own_times_has_its_own():
    at = locate_times(torch.tensor([[1.0], [4.0]], dtype=torch.float64), CUTS)
    some = at.of(1, 1)
    assert some.points.tolist() == [[4.0]]
    assert (some.interval.tolist(), some.fraction.tolist()) == ([[1]], [[0.5]])


def test_a_mean_curve_is_the_average_over_members():
    hazard = np.array([[[0.2, 0.4]], [[1.0, 2.0]]])  # of two members, one cause, two intervals
    lived = np.array([[0.1, 0.2, 0.4, 0.6], [0.5, 1.0, 2.0, 3.0]])
    found = mean_curve("survival", hazard, np.array([1.0, 2.0, 4.0, 6.0]), CUTS.numpy())
    np.testing.assert_allclose(found, np.exp(-lived).mean(axis=0))
    struck = mean_curve("incidence", hazard, np.array([1.0, 2.0, 4.0, 6.0]), CUTS.numpy())
    np.testing.assert_allclose(struck, 1 - found[np.newaxis])
