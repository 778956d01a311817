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
