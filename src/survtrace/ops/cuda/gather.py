"""The rows of some subjects from all columns of a cohort, in one kernel."""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

SUBJECTS = 32


def take(columns: Sequence[Tensor], subjects: Tensor) -> list[Tensor]:
    """The rows of every column, (member, row, ...)."""
    subjects = subjects.contiguous()
    out = [column.new_empty(*subjects.shape, *column.shape[1:]) for column in columns]
    widths = [column[0].numel() for column in columns]
    padded = triton.next_power_of_2(max(widths))
    grid = (triton.cdiv(subjects.numel(), SUBJECTS),)
    take_kernel[grid](subjects, *columns, *out, subjects.numel(), *widths, padded, SUBJECTS)
    return out


@triton.jit
def take_kernel(
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
    """Copy some rows of eight columns."""
    row = tl.program_id(0) * SUBJECTS + tl.arange(0, SUBJECTS)
    there = row < n
    subject = tl.load(subjects_at + row, there, 0)
    _copy(a, to_a, subject, row, there, n_a, WIDTH)
    _copy(b, to_b, subject, row, there, n_b, WIDTH)
    _copy(c, to_c, subject, row, there, n_c, WIDTH)
    _copy(d, to_d, subject, row, there, n_d, WIDTH)
    _copy(e, to_e, subject, row, there, n_e, WIDTH)
    _copy(f, to_f, subject, row, there, n_f, WIDTH)
    _copy(g, to_g, subject, row, there, n_g, WIDTH)
    _copy(h, to_h, subject, row, there, n_h, WIDTH)


@triton.jit
def _copy(x, to, subject, row, there, n: tl.constexpr, WIDTH: tl.constexpr):
    if n == 1:
        tl.store(to + row, tl.load(x + subject, there), there)
    else:
        column = tl.arange(0, WIDTH)
        both = there[:, None] & (column < n)[None, :]
        numbers = tl.load(x + subject[:, None] * n + column[None, :], both)
        tl.store(to + row[:, None] * n + column[None, :], numbers, both)
