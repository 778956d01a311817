"""Try whether Triton can compile and run a kernel here."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


def try_out() -> None:
    """Run a kernel of one line; raises whatever keeps Triton from working here."""
    number = torch.zeros(1, device="cuda")
    write_kernel[1,](number)
    torch.cuda.synchronize()


@triton.jit
def write_kernel(out_at):
    """Write a number."""
    tl.store(out_at, 1.0)
