"""The rows of some subjects from all columns of a cohort, in one kernel.

Why a kernel: torch launches one for each column, and each takes longer to launch than to run.
"""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

SUBJECTS = 32
N_COLUMNS = 8  # of the kernel; what a batch has more is taken one by one


def gather(columns: Sequence[Tensor], subjects: Tensor) -> list[Tensor]:
    """Take the rows of every column, (member, row, ...)."""
    subjects, columns, more = subjects.contiguous(), columns[:N_COLUMNS], columns[N_COLUMNS:]
    out = [column.new_empty(*subjects.shape, *column.shape[1:]) for column in columns]
    widths = [column[0].numel() for column in columns]
    padded = triton.next_power_of_2(max(widths))
    grid = (triton.cdiv(subjects.numel(), SUBJECTS),)
    gather_kernel[grid](subjects, *columns, *out, subjects.numel(), *widths, padded, SUBJECTS)
    return [*out, *(column[subjects] for column in more)]


@triton.jit
def gather_kernel(
    subjects_at,
    a,
    b,
    c,
    d,
    e,
    f,
    g,
    h,
    to_a,
    to_b,
    to_c,
    to_d,
    to_e,
    to_f,
    to_g,
    to_h,
    n,
    n_a: tl.constexpr,
    n_b: tl.constexpr,
    n_c: tl.constexpr,
    n_d: tl.constexpr,
    n_e: tl.constexpr,
    n_f: tl.constexpr,
    n_g: tl.constexpr,
    n_h: tl.constexpr,
    WIDTH: tl.constexpr,
    SUBJECTS: tl.constexpr,
):
    """Copy some rows of eight columns; Triton takes no list of pointers, hence one name each."""
    row = tl.program_id(0) * SUBJECTS + tl.arange(0, SUBJECTS)
    valid = row < n
    subject = tl.load(subjects_at + row, valid, 0)
    _copy(a, to_a, subject, row, valid, n_a, WIDTH)
    _copy(b, to_b, subject, row, valid, n_b, WIDTH)
    _copy(c, to_c, subject, row, valid, n_c, WIDTH)
    _copy(d, to_d, subject, row, valid, n_d, WIDTH)
    _copy(e, to_e, subject, row, valid, n_e, WIDTH)
    _copy(f, to_f, subject, row, valid, n_f, WIDTH)
    _copy(g, to_g, subject, row, valid, n_g, WIDTH)
    _copy(h, to_h, subject, row, valid, n_h, WIDTH)


@triton.jit
def _copy(x, to, subject, row, valid, n: tl.constexpr, WIDTH: tl.constexpr):
    if n == 1:
        tl.store(to + row, tl.load(x + subject, valid), valid)
    else:
        column = tl.arange(0, WIDTH)
        valid_cells = valid[:, None] & (column < n)[None, :]
        numbers = tl.load(x + subject[:, None] * n + column[None, :], valid_cells)
        tl.store(to + row[:, None] * n + column[None, :], numbers, valid_cells)
