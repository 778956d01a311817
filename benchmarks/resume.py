"""A fit killed with SIGKILL at ten random moments, resumed each time, against one left alone.

Default settings on 1,000 rows of flchain. Prints where each kill struck and whether every
parameter of the two fits is the same to the bit.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from survtrace import SurvTRACE
from survtrace.datasets import load_flchain

KILLS = 10


def fit(folder: Path | None, out: Path) -> None:
    X, y = load_flchain()
    rows = np.random.default_rng(0).permutation(len(X))[:1000]
    est = SurvTRACE(random_state=0, n_threads=1, verbose=False, checkpoint_dir=folder)
    est.fit(X.iloc[rows], y.iloc[rows]).save(out)


def start(folder: Path | None, out: Path) -> int:
    child = os.fork()
    if child == 0:
        fit(folder, out)
        os._exit(0)
    return child


def main() -> None:
    torch.set_num_threads(1)
    chance = np.random.default_rng()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        began = time.perf_counter()
        os.waitpid(start(None, home / "whole"), 0)
        whole = time.perf_counter() - began
        print(f"uninterrupted: {whole:.1f} s")
        for kill in range(KILLS):
            child = start(home / "checkpoint", home / "resumed")
            wait = chance.uniform(0.02, 0.25) * whole
            time.sleep(wait)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            print(f"kill {kill + 1} after {wait:.2f} s: ended by signal {status}")
        os.waitpid(start(home / "checkpoint", home / "resumed"), 0)
        files = [
            (home / name / "tensors.safetensors").read_bytes() for name in ("whole", "resumed")
        ]
        print("the same to the bit:", files[0] == files[1])


if __name__ == "__main__":
    main()
