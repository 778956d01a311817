"""From the tokens to the losses and back to the tokens, some subjects at a time (eq. 12-23).

Why a kernel: in torch the representation, the heads and the losses are some eighty kernels on few
numbers. Here a program takes some subjects of one member through all of them; what the weights'
gradients need is stored, and multiplied by `products_kernel`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from survtrace.ops.cuda.layer import dot, rounded, selu, selu_slope

NEGLIGIBLE = tl.constexpr(-10.0)  # logits below have hazards next to nothing
SIZES = ["n_subjects", "n_flat", "n_parameters", "n_slots", "n_causes", "n_intervals"]
NUMBERS = ["align", "heads", "proportional", "threshold", "scale", "masked", "has_outcome"]
SHIFTED = ["subjects_at", "bits_at", "inner_bits_at"]


@triton.jit(do_not_specialize=[*SIZES, *NUMBERS], do_not_specialize_on_alignment=SHIFTED)
def heads_kernel(
    parameters_at,
    tokens_at,
    subjects_at,
    interval_at,
    fraction_at,
    event_at,
    stay_at,
    weight_at,
    ips_at,
    entry_interval_at,
    entry_fraction_at,
    whole_at,
    task_weight_at,
    bits_at,
    inner_bits_at,
    features_at,
    deltas_at,
    d_tokens_at,
    parts_at,
    logits_at,
    n_subjects,
    n_flat,
    n_parameters,
    n_slots,
    n_causes,
    n_intervals,
    align,
    heads,
    proportional,
    threshold,
    scale,
    masked,
    has_outcome,
    HIDDEN: tl.constexpr,
    OUTPUTS: tl.constexpr,
    INNER: tl.constexpr,
    TRAIN: tl.constexpr,
    SUBJECTS: tl.constexpr,
    CHUNK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Compute losses, and in training gradients; without outcomes, the logits of the causes.

    Gradients are those of the sum over subjects, not of their mean: numbers near one, which lose
    nothing in whatever precision they are multiplied. ``n_flat`` is the size of a subject's tokens.
    """
    member, program = tl.program_id(0), tl.program_id(1)
    parameters_at += member * n_parameters
    subjects_at += member.to(tl.int64) * n_subjects * has_outcome
    subject, unit = program * SUBJECTS + tl.arange(0, SUBJECTS), tl.arange(0, HIDDEN)
    valid = subject < n_subjects
    place = subject[:, None]
    cells = valid[:, None] & (unit < HIDDEN)[None, :]
    # Large numbers are added to pointers once; 32 bits suffice for what is added to them later.
    before = member.to(tl.int64) * n_subjects
    slot_size = tl.num_programs(0) * n_subjects.to(tl.int64) * n_flat
    tokens_at += before * n_flat
    d_tokens_at += before * n_flat
    logits_at += before * n_causes * n_intervals
    chunk, n_chunks = tl.arange(0, CHUNK), tl.cdiv(n_flat, CHUNK)
    unit_row, column = unit[None, :], tl.arange(0, OUTPUTS)

    # What happened to the subjects, and what is dropped: asked for early, since memory is far.
    source = tl.load(subjects_at + subject * has_outcome, valid, 0).to(tl.int64) * has_outcome
    interval = tl.load(interval_at + source, valid, 0).to(tl.int32)[:, None]
    fraction = tl.load(fraction_at + source, valid, 0.0)[:, None]
    event = tl.load(event_at + source, valid, 0).to(tl.int32)[:, None]
    stay = tl.load(stay_at + source, valid, 0.0)[:, None]
    share = tl.load(weight_at + source, valid, 0.0)[:, None]
    entry_interval = tl.load(entry_interval_at + source, valid, 0).to(tl.int32)[:, None]
    entry_fraction = tl.load(entry_fraction_at + source, valid, 0.0)[:, None]
    whole = tl.load(whole_at + source, valid, 0.0)[:, None]
    j = column[None, :]
    exposed = exposure(interval, fraction, j) - exposure(entry_interval, entry_fraction, j)
    bits = tl.load(bits_at + (subject[:, None] * HIDDEN + unit_row) * masked, cells, 0)
    kept = bits.to(tl.int32) < threshold

    # The final tokens, then the embedded ones.
    aligned = tl.zeros((SUBJECTS, HIDDEN), tl.float32)
    for k in range(2 * n_chunks):
        embedded = k // n_chunks
        number = (k - embedded * n_chunks) * CHUNK + chunk
        slot_at = tokens_at + (1 - embedded) * (n_slots - 1) * slot_size
        within = number < n_flat
        cell = place * n_flat + number[None, :]
        tokens = tl.load(slot_at + cell, valid[:, None] & within[None, :], 0.0)
        row = align + (embedded * n_flat + number) * HIDDEN
        w = tl.load(parameters_at + row[:, None] + unit_row, within[:, None], 0.0)
        aligned += dot(tokens, w, PRECISION)
    aligned += tl.load(parameters_at + align + 2 * n_flat * HIDDEN + unit)[None, :]
    representation = selu(aligned)
    x = rounded(tl.where(kept, representation * scale, 0.0), PRECISION)

    n_heads = n_causes + 2 * TRAIN
    n_features = (1 + INNER * n_heads) * HIDDEN
    n_deltas = n_features + n_heads * OUTPUTS
    features_at += before * n_features
    deltas_at += before * n_deltas
    if TRAIN:
        tl.store(features_at + place * n_features + unit_row, x, cells)
    dx = tl.zeros((SUBJECTS, HIDDEN), tl.float32)
    survival = tl.zeros((SUBJECTS, OUTPUTS), tl.float32)
    mortality = tl.zeros((SUBJECTS, OUTPUTS), tl.float32)
    stay_loss = tl.zeros((SUBJECTS, OUTPUTS), tl.float32)
    for head in range(n_heads):
        task = tl.maximum(head - n_causes + 1, 0)  # 0: survival, 1: mortality, 2: stay
        n_out = tl.where(task == 0, n_intervals, 1)
        # Heads of causes come first; a head of a task has one output.
        at = parameters_at + heads + head * (INNER * (HIDDEN + 1) * HIDDEN)
        at += (tl.minimum(head, n_causes) * n_intervals + tl.maximum(head - n_causes, 0)) * (
            HIDDEN + 1
        )
        # All that this head reads is asked for first, and waited for once.
        if INNER:
            w_inner = rounded(tl.load(at + unit[:, None] * HIDDEN + unit_row), PRECISION)
            b_inner = tl.load(at + HIDDEN * HIDDEN + unit)[None, :]
            at += (HIDDEN + 1) * HIDDEN
            bit = subject[:, None] * (n_heads * HIDDEN) + head * HIDDEN + unit_row
            inner_bits = tl.load(inner_bits_at + bit * masked, cells, 0).to(tl.int32)
        used = column < n_out
        w_outer = tl.load(at + unit[:, None] * n_out + column[None, :], used[None, :], 0.0)
        b_outer = tl.load(at + HIDDEN * n_out + column, used, 0.0)
        cause = tl.minimum(head, n_causes - 1)
        ips = tl.load(ips_at + (source * n_causes + cause) * has_outcome, valid, 1.0)[:, None]
        if TRAIN:
            task_weight = tl.load(task_weight_at + task)
        # The mean of a cause's logits is added to each: to weights rather than to every subject's.
        common = tl.where(task == 0, proportional / n_out, 0.0)
        w_outer += tl.where(used[None, :], common * tl.sum(w_outer, 1)[:, None], 0.0)
        w_outer = rounded(w_outer, PRECISION)
        b_outer += common * tl.sum(b_outer, 0)
        hidden = x
        inner_kept = kept
        if INNER:
            inner = dot(x, w_inner, PRECISION) + b_inner
            # What is no number is not below zero, and stays.
            inner_kept = (inner_bits < threshold) & ((inner <= 0) == 0)
            hidden = rounded(tl.where(inner_kept, inner * scale, 0.0), PRECISION)
            if TRAIN:
                first = (1 + head) * HIDDEN
                tl.store(features_at + place * n_features + first + unit_row, hidden, cells)
        logit = dot(hidden, w_outer, PRECISION) + b_outer[None, :]
        used_cells = valid[:, None] & used[None, :]
        if not TRAIN:
            logit_place = (place * n_causes + head) * n_intervals + j
            tl.store(logits_at + logit_place, logit, used_cells & (j >= has_outcome * OUTPUTS))
        weight = share * tl.where(task == 0, ips, whole)
        hazard, slope = softplus(logit)
        # Far below zero softplus underflows; there log(softplus(x)) = x - exp(x) / 2 + O(exp(2x)).
        far = logit < NEGLIGIBLE
        half = tl.exp(tl.minimum(logit, NEGLIGIBLE)) / 2
        logarithm = tl.where(far, logit - half, tl.log(tl.where(far, 1.0, hazard)))
        steep = tl.where(far, 1 - half, slope / tl.where(far, 1.0, hazard))
        struck = (event == head + 1) & (j == interval)
        # Cross-entropy has the same form: a hazard lived with, less x itself where it struck.
        lived = tl.where(task == 0, exposed, 1.0)
        logarithm = tl.where(task == 0, logarithm, logit)
        steep = tl.where(task == 0, steep, 1.0)
        struck = tl.where(task == 0, struck, event > 0)
        loss = hazard * lived - tl.where(struck, logarithm, 0.0)
        d_logit = slope * lived - tl.where(struck, steep, 0.0)
        error = logit - stay
        loss = tl.where(task == 2, error * error, loss)
        d_logit = tl.where(task == 2, 2 * error, d_logit)
        loss = tl.where(used_cells, weight * loss, 0.0)
        survival += tl.where(task == 0, loss, 0.0)
        mortality += tl.where(task == 1, loss, 0.0)
        stay_loss += tl.where(task == 2, loss, 0.0)
        if TRAIN:
            d_logit = tl.where(used_cells, weight * task_weight * d_logit, 0.0)
            d_output = d_logit + tl.where(used_cells, common * tl.sum(d_logit, 1)[:, None], 0.0)
            d_output_at = deltas_at + place * n_deltas + n_features + head * OUTPUTS + j
            tl.store(d_output_at, d_output, valid[:, None] & (column < OUTPUTS)[None, :])
            d_hidden = dot(d_logit, tl.trans(w_outer), PRECISION)
            if INNER:
                d_hidden = tl.where(inner_kept, d_hidden * scale, 0.0)
                first = (1 + head) * HIDDEN
                tl.store(deltas_at + place * n_deltas + first + unit_row, d_hidden, cells)
                dx += dot(d_hidden, tl.trans(w_inner), PRECISION)
            else:
                dx += d_hidden
    part = tl.num_programs(0) * tl.num_programs(1)
    at = parts_at + member * tl.num_programs(1) + program
    tl.store(at, tl.sum(survival))
    if TRAIN:
        tl.store(at + part, tl.sum(mortality))
        tl.store(at + 2 * part, tl.sum(stay_loss))
        d_aligned = tl.where(kept, dx * scale, 0.0) * selu_slope(representation)
        tl.store(deltas_at + place * n_deltas + unit_row, d_aligned, cells)
        for k in range(2 * n_chunks):
            embedded = k // n_chunks
            number = (k - embedded * n_chunks) * CHUNK + chunk
            within = number < n_flat
            row = align + (embedded * n_flat + number) * HIDDEN
            w = tl.load(parameters_at + row[:, None] + unit_row, within[:, None], 0.0)
            d = dot(d_aligned, tl.trans(w), PRECISION)
            d_at = d_tokens_at + (1 - embedded) * slot_size + place * n_flat + number[None, :]
            tl.store(d_at, d, valid[:, None] & within[None, :])


@triton.jit
def exposure(interval, fraction, j):
    """Compute how much of interval j lies before a point in time."""
    return tl.where(j < interval, 1.0, tl.where(j == interval, fraction, 0.0))


@triton.jit
def softplus(x):
    """Compute log(1 + exp(x)) and its slope; no exponential of a positive number overflows."""
    small = tl.exp(-tl.abs(x))
    slope = tl.where(x > 0, 1 / (1 + small), small / (1 + small))
    # Triton has no log1p; in log(1 + s) s / ((1 + s) - 1) the rounding of 1 + s cancels.
    above = 1 + small
    logarithm = tl.log(above) * (small / tl.where(above == 1, 1.0, above - 1))
    logarithm = tl.where(above == 1, small, logarithm)
    return tl.maximum(x, 0.0) + logarithm, slope
