import subprocess
import sys

import torch

from survtrace.training.adamw import AdamW


def test_steps_are_those_of_torch_to_the_bit():
    torch.manual_seed(0)
    ours, theirs = (torch.nn.Parameter(torch.ones(2, 50)) for _ in range(2))
    optimiser = AdamW(ours, lr=0.01, weight_decay=0.1)
    reference = torch.optim.AdamW([theirs], lr=0.01, weight_decay=0.1, foreach=False, fused=True)
    for _ in range(5):
        ours.grad = torch.randn(2, 50)
        theirs.grad = ours.grad.clone()
        optimiser.step()
        reference.step()
    assert torch.equal(ours, theirs)
    for name, moment in reference.state[theirs].items():
        assert torch.equal(optimiser.state[ours][name], moment)


def test_a_fit_does_not_import_the_compiler_of_torch():
    code = """
import sys
from survtrace import SurvTRACE
from survtrace.datasets import make_cohort
X, y = make_cohort(300, random_state=0)
est = SurvTRACE(n_members=1, depth=1, max_epochs=1, device="cpu", verbose=False).fit(X, y)
est.predict(X)
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
