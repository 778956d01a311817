"""Rows go through a compiled kernel: the same numbers, and nobody waits for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from survtrace.errors import DataError, SettingError
from survtrace.portable.curves import locate_times
from survtrace.portable.kernel import MANY_ROWS, Kernel
from survtrace.portable.network import build_network
from survtrace.portable.predictor import Predictor
from survtrace.tables.covariates.encoding import Encoded, Encoding

SHAPE = {
    "n_tokens": 3, "width": 8, "hidden": 16, "n_heads": 2, "depth": 2, "n_rows": 9,
    "token_bias": True, "n_causes": 2, "n_intervals": 3, "head_depth": 2, "proportional": 1.5,
}  # fmt: skip
NARROW = {"width": 6, "hidden": 10, "n_heads": 3}
CUTS = np.array([0.0, 5.0, 10.0, 20.0])
AT = locate_times(np.array([[4.0]]), CUTS)
PAPER = {"token_bias": False, "head_depth": 1, "n_causes": 1, "proportional": 0.0, "n_heads": 1}


def saved_arrays(shape, n_members=2):
    """Random parameters of a network, by the names of a saved folder."""
    random = np.random.default_rng(0)
    width, hidden, n_tokens = shape["width"], shape["hidden"], shape["n_tokens"]
    linear = {"representation.align": (2 * n_tokens * width, hidden)}
    for k in range(shape["depth"]):
        sizes = {"attention.query_key_value": (width, 3 * width), "mix": (width, width)}
        sizes |= {"expand": (width, hidden), "contract": (hidden, width)}
        linear |= {f"encoder.{k}.{name}": size for name, size in sizes.items()}
    for k in range(shape["n_causes"]):
        if shape["head_depth"] == 2:
            linear[f"causes.heads.{k}.inner"] = (hidden, hidden)
        linear[f"causes.heads.{k}.outer"] = (hidden, shape["n_intervals"])
    sizes = {"embedding.table": (shape["n_rows"], width)}
    if shape["token_bias"]:
        sizes["embedding.bias"] = (1, n_tokens, width)
    for name, (n_in, n_out) in linear.items():
        sizes |= {f"{name}.weight": (n_in, n_out), f"{name}.bias": (1, n_out)}
    arrays = {name: 0.4 * random.normal(size=(n_members, *size)) for name, size in sizes.items()}
    ones = np.ones((n_members, 1, shape["n_causes"], shape["n_intervals"]))
    return {**arrays, "recalibration_factor": ones, "hazard_power": np.ones(shape["n_causes"])}


def subjects(n):
    random = np.random.default_rng(1)
    rows = (random.integers(3, size=(n, 3)) + np.array([0, 3, 6])).astype(np.int32)
    return rows, random.normal(size=(n, 3)).astype(np.float32)


def loaded(network):
    compiled = Kernel(network)
    compiled.begin_to_load().join()
    return compiled


@pytest.mark.parametrize("change", [{}, PAPER, NARROW], ids=["default", "paper", "narrow"])
@pytest.mark.parametrize("n", [1, 4, 37])
def test_the_kernel_gives_the_logits_of_numpy(change, n):
    network = build_network(SHAPE | change, saved_arrays(SHAPE | change))
    expected = network.logits(*subjects(n))
    found = loaded(network).logits(*subjects(n))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_many_tokens_attend_to_each_other_as_in_numpy():
    shape = SHAPE | {"n_tokens": 19, "n_rows": 57}
    network = build_network(shape, saved_arrays(shape))
    random = np.random.default_rng(2)
    rows = random.integers(57, size=(9, 19)).astype(np.int32)
    values = random.normal(size=(9, 19)).astype(np.float32)
    found = loaded(network).logits(rows, values)
    np.testing.assert_allclose(found, network.logits(rows, values), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("with_std", [True, False])
@pytest.mark.parametrize(
    ("kind", "cause"),
    [("survival", None), ("incidence", None), ("incidence", 1), ("states", None)],
)
def test_the_kernel_gives_the_curves_of_numpy(kind, cause, with_std):
    predictor = Predictor(build_network(SHAPE, saved_arrays(SHAPE)), Encoding([], []), CUTS)
    encoded, times = Encoded(*subjects(5)), np.array([0.0, 4.0, 30.0])
    asked = {"cause": cause, "with_std": with_std}
    expected = predictor.curve_of(encoded, kind, times, **asked)
    predictor.kernel.begin_to_load().join()
    found = predictor.curve_of(encoded, kind, times, **asked)
    assert predictor.kernel.curves(
        np.zeros((2, 1, 2, 3), np.float32), kind, AT, cause, with_std=True
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "at"), [("restricted_mean", AT), ("states", AT._replace(start=np.zeros((1, 1))))]
)
def test_other_curves_are_left_to_numpy(kind, at):
    compiled = loaded(build_network(SHAPE, saved_arrays(SHAPE)))
    assert (
        compiled.curves(np.zeros((2, 1, 2, 3), np.float32), kind, at, None, with_std=True) is None
    )


def test_a_subject_whose_hazards_are_not_finite_is_refused_by_name():
    predictor = Predictor(build_network(SHAPE, saved_arrays(SHAPE)), Encoding([], []), CUTS)
    predictor.kernel.begin_to_load().join()
    rows, values = subjects(5)
    values[3] = np.inf
    with pytest.raises(DataError, match="row 3"):
        predictor.curve_of(Encoded(rows, values), "states", np.array([4.0]))


def test_many_rows_begin_to_load_the_kernel_and_none_waits_for_it(monkeypatch):
    compiled = Kernel(build_network(SHAPE, saved_arrays(SHAPE)))
    monkeypatch.setattr(Kernel, "_load", lambda self: None)
    compiled.logits(*subjects(MANY_ROWS - 1))
    assert compiled._thread is None
    compiled.logits(*subjects(1))
    assert compiled._thread is compiled.begin_to_load()


def test_where_there_is_no_kernel_numpy_answers(monkeypatch):
    monkeypatch.setitem(sys.modules, "survtrace.ops.cpu.logits", None)
    network = build_network(SHAPE, saved_arrays(SHAPE))
    found = loaded(network).logits(*subjects(3))
    np.testing.assert_array_equal(found, network.logits(*subjects(3)))


def test_who_asks_for_no_kernel_gets_none_and_who_asks_for_one_waits():
    network = build_network(SHAPE, saved_arrays(SHAPE))
    plain, compiled = Kernel(network, compiled=False), Kernel(network, compiled=True)
    plain.begin_to_load().join()
    assert plain._forward is None
    assert compiled._forward is not None


def test_a_kernel_that_is_asked_for_and_cannot_be_had_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "survtrace.ops.cpu.logits", None)
    with pytest.raises(SettingError, match=r"compiled=True needs numba.*numpy answers"):
        Kernel(build_network(SHAPE, saved_arrays(SHAPE)), compiled=True)


COLD = """
import sys, warnings
import scipy.linalg  # numba imports it, and it records once, for a moment
from threading import current_thread, main_thread
begin = warnings.catch_warnings.__enter__
def of_the_main_thread(self):
    assert current_thread() is main_thread()
    return begin(self)
warnings.catch_warnings.__enter__ = of_the_main_thread
sys.path.insert(0, sys.argv[1])
from test_kernel import SHAPE, build_network, loaded, saved_arrays
compiled = loaded(build_network(SHAPE, saved_arrays(SHAPE)))
assert compiled._forward is not None, compiled._why_none
"""


def test_while_kernels_are_compiled_no_warning_of_another_thread_is_recorded(tmp_path):
    """The record is the whole process's: what predictions warn of meanwhile was lost."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COLD, str(Path(__file__).parent)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*.nbi"))


ALONE = """
import sys
for name in ("torch", "pandas", "sklearn", "scipy", "narwhals", "jaxtyping"):
    sys.modules[name] = None   # whoever imports it fails
import survtrace.ops.cpu.logits
"""


def test_the_kernel_needs_no_torch():
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
