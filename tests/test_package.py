"""The package itself: what it offers, and what it does not load before it is needed."""

import subprocess
import sys

import pytest

import survtrace


@pytest.mark.parametrize("name", survtrace.__all__)
def test_everything_it_offers_can_be_had(name):
    assert getattr(survtrace, name).__name__ == name


def test_everything_it_offers_is_listed():
    assert set(survtrace.__all__) <= set(dir(survtrace))


def test_what_it_does_not_offer_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        survtrace.nothing  # noqa: B018


@pytest.mark.parametrize("module", ["survtrace", "survtrace.cli"])
def test_torch_is_not_loaded_before_it_is_needed(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_estimator_comes_without_numba_and_a_fit_without_the_compiler_of_torch():
    """Each takes seconds of a process's start on a machine that has not read it before."""
    code = """
import sys
from survtrace import SurvTRACE
from survtrace.datasets import make_cohort
assert "numba" not in sys.modules
X, y = make_cohort(300, random_state=0)
est = SurvTRACE(n_members=1, depth=1, max_epochs=1, device="cpu", verbose=False).fit(X, y)
est.predict(X)
assert "torch._dynamo" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
