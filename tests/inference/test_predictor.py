import re
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from survtrace import DataError, SettingError, SurvTRACE, ops, threads
from survtrace.inference import predictor
from survtrace.inference.predictor import choose_device
from survtrace.ops import cause_logits
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.tasks import MANY_ROWS


def test_devices():
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type in ("cpu", "cuda")
    with pytest.raises(SettingError, match=r"device must be .* got 'tpu9'"):
        choose_device("tpu9")
    with pytest.raises(SettingError, match="device must be"):
        choose_device(None)
    with pytest.raises(SettingError, match=r"device must be .* got 'meta'"):
        choose_device("meta")  # torch has it, and it computes nothing


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_missing_cuda_device_is_said_so():
    with pytest.raises(SettingError, match=r"no CUDA device\. Pass device='auto'"):
        choose_device("cuda")


METHODS = {
    "survival": lambda est, X: est.predict_survival_function(X, [1.0, 7.0, 2.5]),
    "incidence": lambda est, X: est.predict_cumulative_incidence(X, [1.0, 7.0, 2.5]),
    "net incidence": lambda est, X: est.predict_net_incidence(X, [1.0, 7.0, 2.5]),
    "cumulative hazard": lambda est, X: est.predict_cumulative_hazard_function(X, [1.0, 7.0]),
    "proba": lambda est, X: est.predict_proba(X, 3.0),
    "predict": lambda est, X: est.predict(X),
    "quantile": lambda est, X: est.predict_quantile(X, [0.1, 0.5]),
    "rmst": lambda est, X: est.predict_rmst(X, 5.0),
    "attention": lambda est, X: est.attention(X),
}
EACH = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@EACH
@pytest.mark.parametrize("rows", [slice(0, 1), slice(7, 8), slice(3, 6), slice(5, 22)], ids=str)
def test_a_few_rows_get_to_the_bit_what_they_get_in_the_table(
    fitted_three, three_causes, method, rows
):
    X = three_causes[0]
    np.testing.assert_array_equal(method(fitted_three, X.iloc[rows]), method(fitted_three, X)[rows])


@EACH
@pytest.mark.parametrize("size", [1, 7, 64, 239])
def test_the_batch_size_of_predictions_changes_nothing(fitted_three, three_causes, method, size):
    X = three_causes[0]
    whole = method(fitted_three, X)
    fitted_three.set_params(prediction_batch_size=size)
    try:
        np.testing.assert_array_equal(method(fitted_three, X), whole)
    finally:
        fitted_three.set_params(prediction_batch_size=4096)


@pytest.fixture(scope="module")
def many(three_causes):
    """So many rows that they are encoded in threads."""
    X = three_causes[0]
    return pd.concat([X] * (MANY_ROWS // len(X) + 3), ignore_index=True)


@EACH
@pytest.mark.parametrize("n_threads", [2, 3, 5, None])
def test_the_number_of_threads_changes_no_bit(fitted_three, many, method, n_threads):
    one = method(fitted_three, many)
    fitted_three.set_params(n_threads=n_threads)
    try:
        np.testing.assert_array_equal(method(fitted_three, many), one)
    finally:
        fitted_three.set_params(n_threads=1)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_the_first_row_that_overflows_is_named_whatever_the_threads(
    fitted_three, many, n_threads, monkeypatch
):
    def overflowing(network, rows, values):
        found = cause_logits(network, rows, values)
        found[:, values[0, :, 0] > far] = np.inf
        return found

    scaled = fitted_three.encoding_.encode(open_table(many)).values[:, 0]
    far = np.sort(np.unique(scaled))[-3]
    monkeypatch.setattr(predictor, "cause_logits", overflowing)
    expected = rf"not for row {np.flatnonzero(scaled > far)[0]}\."
    fitted_three.set_params(n_threads=n_threads)
    try:
        with pytest.raises(DataError, match=expected):
            fitted_three.predict(many)
        with pytest.raises(DataError, match=rf"not for row {np.flatnonzero(scaled > far)[0] - 5}"):
            fitted_three.predict(many[5:])
    finally:
        fitted_three.set_params(n_threads=1)


@pytest.fixture(scope="module")
def odd(many):
    """Tables that are refused or warned of, and what is said of each."""
    age, stage, n = many["age"], many["stage"].astype(object), many.index
    return {
        r"column 'age' has 1 infinite values \(first: row 6000\)": age.where(n != 6000, np.inf),
        r"'age' has 2 of 17040 values beyond \(first: row 9": age.where(~n.isin([9, 99]), 1e30),
        r"age lies outside .* for 455 of 17,040 subject": age.where(n % 99 > 0, 1e4),
        r"by column: \{'stage': 341\}": stage.where(n % 50 > 0, "IX"),
    }


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_what_is_said_of_a_table_is_the_same_whatever_the_threads(
    fitted_three, many, odd, n_threads
):
    fitted_three.set_params(n_threads=n_threads)
    try:
        for expected, column in odd.items():
            table = many.assign(**{column.name: column})
            with warnings.catch_warnings(record=True, action="always") as caught:
                try:
                    fitted_three.predict(table)
                except DataError as error:
                    said = str(error)
                else:
                    [warning] = caught
                    assert warning.filename == __file__
                    said = str(warning.message)
            assert re.search(expected, said), said
    finally:
        fitted_three.set_params(n_threads=1)


def test_one_subject_wakes_no_thread(fitted_three, three_causes, monkeypatch):
    monkeypatch.setattr(threads, "_pool", None)  # which would be called
    fitted_three.set_params(n_threads=None)
    try:
        with threads.threads(8):
            fitted_three.predict(three_causes[0][:1])
    finally:
        fitted_three.set_params(n_threads=1)


@pytest.fixture(scope="module")
def fitted_larger(three_causes, tiny):
    """A network of a size that kernels take."""
    size = {"width": 16, "n_heads": 2, "hidden": 64, "head_depth": 2, "depth": 2, "max_epochs": 1}
    with ops.plain("gradient", "survival_loss"):  # which would be compiled for this alone
        return SurvTRACE(**{**tiny, **size}).fit(*three_causes)


def test_a_larger_network_is_as_exact(fitted_larger, three_causes):
    """The kernels of larger products differ with the number of rows."""
    X, est = three_causes[0], fitted_larger
    whole = est.predict_cumulative_incidence(X, [2.0, 5.0])
    for rows in (slice(0, 1), slice(11, 13), slice(5, 14), slice(100, 133)):
        ours = est.predict_cumulative_incidence(X.iloc[rows], [2.0, 5.0])
        np.testing.assert_array_equal(ours, whole[rows])


@EACH
def test_kernels_give_the_numbers_of_the_plain_form(fitted_larger, three_causes, method):
    X = three_causes[0]
    with ops.plain():
        expected = method(fitted_larger, X)
    np.testing.assert_allclose(method(fitted_larger, X), expected, rtol=1e-5, atol=1e-6)


@EACH
@pytest.mark.parametrize("n_threads", [2, 5])
def test_threads_change_no_bit_of_a_larger_network(fitted_larger, many, method, n_threads):
    one = method(fitted_larger, many)
    fitted_larger.set_params(n_threads=n_threads)
    try:
        np.testing.assert_array_equal(method(fitted_larger, many), one)
    finally:
        fitted_larger.set_params(n_threads=1)


@EACH
def test_the_order_of_subjects_does_not_matter(fitted_three, three_causes, method):
    X = three_causes[0]
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(
        method(fitted_three, X.iloc[order]), method(fitted_three, X)[order]
    )


@EACH
def test_the_order_of_columns_does_not_matter(fitted_three, three_causes, method):
    X = three_causes[0]
    np.testing.assert_array_equal(method(fitted_three, X[X.columns[::-1]]), method(fitted_three, X))


def test_predicting_draws_nothing_from_the_global_generator(fitted_three, three_causes):
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = fitted_three.predict(three_causes[0])
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002
    np.testing.assert_array_equal(first, fitted_three.predict(three_causes[0]))
