"""Processes that share every batch learn what one learns alone, to rounding."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from survtrace import SettingError, SurvTRACE, load
from survtrace.training.process_group import ProcessGroup

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("two processes")
SCRIPT = """
import json, sys
from functools import partial

import numpy as np, pandas as pd, torch
import survtrace.training.fit
from survtrace import SurvTRACE
from survtrace.training.process_group import ProcessGroup

folder, cases, rank, size = sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:])
torch.set_num_threads(1)
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=size
)
alone = survtrace.training.fit.train
survtrace.training.fit.train = partial(alone, group=ProcessGroup(rank, size))
X, y = pd.read_pickle(f"{folder}/X.pkl"), pd.read_pickle(f"{folder}/y.pkl")
for name, (n_rows, settings) in cases.items():
    weight = np.linspace(0.5, 1.5, n_rows)
    est = SurvTRACE(**settings).fit(X[:n_rows], y[:n_rows], sample_weight=weight)
    est.save(f"{folder}/{name}-{rank}")
torch.distributed.destroy_process_group()
"""

SIZE = 2
NOISY = {"dropout": 0.2, "attention_dropout": 0.1, "token_dropout": 0.1, "head_dropout": 0.2}
CASES = {
    "uneven": (240, {"batch_size": 33, "n_members": 3}),
    "without dropout": (240, {"batch_size": 32, **dict.fromkeys(NOISY, 0.0)}),
    "stopped early": (
        240,
        {"n_members": 3, "max_epochs": 12, "patience": 1, "lr": 0.03, "random_state": 3},
    ),
    "weighted": (240, {"batch_size": 35, "ips": "paper"}),
    "one validation subject": (
        17,
        {"batch_size": 5, "n_intervals": 1, "validation_fraction": 0.06},
    ),
}
LOSSES = ["survival_loss", "mortality_loss", "stay_loss", "validation_loss"]


@pytest.fixture(scope="module")
def settings(tiny):
    return {name: (n, {**tiny, **NOISY, **changes}) for name, (n, changes) in CASES.items()}


@pytest.fixture(scope="module")
def learned(three_causes, settings, tmp_path_factory):
    """A folder with what each of two processes has learned in each case."""
    folder = tmp_path_factory.mktemp("crew")
    for name, frame in zip(("X", "y"), three_causes, strict=True):
        frame.to_pickle(folder / f"{name}.pkl")
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(folder), json.dumps(settings)]
    processes = [
        subprocess.Popen([*command, str(rank), str(SIZE)], stderr=subprocess.PIPE, text=True)
        for rank in range(SIZE)
    ]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert not any(process.returncode for process in processes), said
    return folder


@pytest.mark.filterwarnings("ignore::survtrace.errors.DataWarning")
@pytest.mark.parametrize("case", CASES)
def test_two_processes_learn_what_one_learns(case, learned, settings, three_causes):
    n, own = settings[case]
    X, y = (frame[:n] for frame in three_causes)
    alone = SurvTRACE(**own).fit(X, y, sample_weight=np.linspace(0.5, 1.5, n))
    first, second = (load(learned / f"{case}-{rank}") for rank in range(SIZE))
    for ours, theirs in zip(first.network_.parameters(), second.network_.parameters(), strict=True):
        assert torch.equal(ours, theirs), "both processes hold the same network"
    np.testing.assert_allclose(first.history_[LOSSES], alone.history_[LOSSES], atol=2e-6)
    assert first.history_["improved"].equals(alone.history_["improved"])
    np.testing.assert_allclose(first.predict(X), alone.predict(X), atol=1e-6)


def test_some_members_stopped_before_others(learned):
    last = load(learned / "stopped early-0").history_.groupby("member")["epoch"].max()
    assert last.nunique() > 1


@pytest.mark.parametrize("n_subjects", [2, 3, 64, 67])
def test_shares_make_up_the_batch(n_subjects):
    subjects = torch.arange(n_subjects).repeat(3, 1)
    shares = [ProcessGroup(rank, 2).shard(subjects) for rank in range(2)]
    assert torch.equal(torch.cat(shares, dim=1), subjects)
    for rank, share in enumerate(shares):
        first, last, whole = ProcessGroup(rank, 2).part(n_subjects)
        assert torch.equal(subjects[:, first:last], share)
        assert whole == n_subjects


def test_a_batch_smaller_than_the_crew_is_refused():
    with pytest.raises(SettingError, match=r"a subject for each process; got 1 for 2.*batch_size"):
        ProcessGroup(0, 2).part(1)


def test_a_process_is_the_first_of_one_unless_told():
    assert ProcessGroup() == ProcessGroup(rank=0, size=1)
    assert ProcessGroup(size=2).shard(torch.arange(4)).tolist() == [0, 1]
