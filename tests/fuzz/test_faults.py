"""A few faults of faults.py; ``python tests/fuzz/faults.py --times 20`` injects all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="faults are injected into forked processes")
@pytest.mark.parametrize(("during", "n_faults"), [("save", 5), ("page", 4), ("split", 4)])
def test_what_is_killed_loses_and_falsifies_nothing(during, n_faults):
    script = Path(__file__).with_name("faults.py")
    command = [sys.executable, str(script), "--times", "1", "--seed", "1", "--only", f" {during}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 1 + n_faults  # below a header
