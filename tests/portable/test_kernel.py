"""Many rows go through a compiled kernel: the same numbers, and nobody waits for it."""

import subprocess
import sys

import numpy as np
import pytest

from survtrace.portable import kernel
from survtrace.portable.kernel import MANY_ROWS, Kernel
from survtrace.portable.network import build_network

SHAPE = {
    "n_tokens": 3, "width": 8, "hidden": 16, "n_heads": 2, "depth": 2, "n_rows": 9,
    "token_bias": True, "n_causes": 2, "n_intervals": 3, "head_depth": 2, "proportional": 1.5,
}  # fmt: skip
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


@pytest.mark.parametrize("change", [{}, PAPER], ids=["default", "paper"])
def test_the_kernel_gives_the_logits_of_numpy(change):
    shape = SHAPE | change
    saved, (rows, values) = saved_arrays(shape), subjects(37)
    compiled = Kernel(shape, saved)
    compiled.begin_to_load().join()
    found, expected = (
        compiled.logits(rows, values, len(rows)),
        build_network(shape, saved).logits(rows, values),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_only_a_large_question_loads_the_kernel_and_none_waits_for_it(monkeypatch):
    compiled = Kernel(SHAPE, saved_arrays(SHAPE))
    monkeypatch.setattr(Kernel, "_load", lambda self: None)
    rows, values = subjects(20)
    assert compiled.logits(rows, values, MANY_ROWS - 1) is None
    assert compiled._thread is None
    assert compiled.logits(rows, values, MANY_ROWS) is None
    assert compiled._thread is compiled.begin_to_load()


@pytest.mark.parametrize("change", [{}, {"width": 6}], ids=["no numba", "odd width"])
def test_where_there_is_no_kernel_numpy_answers(monkeypatch, change):
    monkeypatch.setitem(sys.modules, "survtrace.ops.cpu.logits", None)
    compiled = Kernel(SHAPE | change, {})
    compiled.begin_to_load().join()
    assert compiled.logits(*subjects(20), MANY_ROWS) is None


def test_few_rows_are_left_to_numpy():
    compiled = Kernel(SHAPE, saved_arrays(SHAPE))
    compiled.begin_to_load().join()
    assert compiled.logits(*subjects(kernel.FEWEST_ROWS - 1), MANY_ROWS) is None


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
