"""The forward pass of all members in numpy: encoded subjects in, hazards out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Array = NDArray[np.float64]
# SELU's constants (Klambauer et al. 2017), and those of `elu` in float32. Its centre is computed as
# `elu` computes: rounded otherwise, all activations would be off by the same amount.
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
SCALE_32, SHIFT = np.float32(SCALE), np.float32(np.log(ALPHA))
CENTRE = SHIFT + np.exp(SHIFT)


@dataclass(frozen=True)
class Linear:
    """M affine maps side by side: ``y[m] = x[m] @ weight[m] + bias[m]``."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """Map ``x`` of shape (member, row, n_in)."""
        y: Floats = np.matmul(x, self.weight)
        y += self.bias
        return y


@dataclass(frozen=True)
class Layer:
    """An encoder layer; what is constant is in its parameters beforehand.

    Queries are scaled by 1 / sqrt(width of a head); ``mix``, ``expand`` and ``contract`` add the
    shift that `elu` asks for, and ``contract`` has the scale of SELU.
    """

    n_heads: int
    query_key_value: Linear
    mix: Linear
    expand: Linear
    contract: Linear

    @property
    def linear(self) -> tuple[Linear, ...]:
        """List the affine maps in their order."""
        return self.query_key_value, self.mix, self.expand, self.contract

    def __call__(self, tokens: Floats, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Compute tokens (member, subject * token, width), and attention by `attend`."""
        attended, weights = self.attend(tokens, shape)
        residual = self.mix(attended)
        residual += tokens
        forward = self.contract(elu(self.expand(tokens)))
        forward += selu(residual)
        return selu(forward), weights

    def attend(self, tokens: Floats, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Compute what tokens see, and weights (key token, member, subject, head, query token).

        Sums over the first axis are a fifth of the time of those over the last: numpy adds whole
        rows, in place of a few numbers at a time.
        """
        n_members, n_subjects, n_tokens, width = shape
        heads = self.query_key_value(tokens).reshape(
            n_members, n_subjects, n_tokens, 3, self.n_heads, width // self.n_heads
        )
        query, key, value = (heads[:, :, :, k].swapaxes(2, 3) for k in range(3))
        weights = np.empty((n_tokens, n_members, n_subjects, self.n_heads, n_tokens), np.float32)
        by_head = weights.transpose(1, 2, 3, 0, 4)  # the same numbers, in another order
        np.matmul(key, query.swapaxes(-1, -2), out=by_head)
        weights -= np.maximum.reduce(weights, axis=0)
        np.exp(weights, out=weights)
        weights /= np.add.reduce(weights, axis=0)
        attended = np.matmul(by_head.swapaxes(-1, -2), value)
        return attended.swapaxes(2, 3).reshape(tokens.shape), weights


@dataclass(frozen=True)
class Network:
    """The parameters of all members, as few products as the network has steps.

    ``table`` and ``bias`` are those of the embedding, (member, row, width) and (member, 1, token,
    width). The heads of the causes are one product each, the factor of their mean (`proportional`)
    is in the last. Hazards are ``factor * softplus(logits) ** power``.
    """

    table: Floats
    bias: Floats
    layers: tuple[Layer, ...]
    align: Linear
    inner: Linear | None
    outer: Linear
    factor: Array
    power: Array

    @property
    def n_members(self) -> int:
        """Count the members."""
        return len(self.table)

    def hazards(self, logits: Floats) -> Array:
        """Turn logits into hazards, both (member, subject, cause, interval)."""
        with np.errstate(invalid="ignore"):  # NaN is told of by the predictor
            hazards = np.logaddexp(0.0, logits.astype(np.float64))
        if self.has_power:
            hazards **= self.power[:, None]
        hazards *= self.factor
        return hazards

    @cached_property
    def has_power(self) -> bool:
        """Tell whether any hazard is raised to a power."""
        return bool((self.power != 1).any())

    def attention(self, rows: NDArray[np.int32], values: Floats) -> Floats:
        """Compute attention, members averaged: (subject, layer, head, token, token)."""
        tokens, shape = self._embed(rows, values)
        n_heads = self.layers[0].n_heads if self.layers else 1
        weights = [np.empty((len(rows), 0, n_heads, rows.shape[1], rows.shape[1]), np.float32)]
        for layer in self.layers:
            tokens, found = layer(tokens, shape)
            weights.append(found.mean(axis=1).transpose(1, 2, 3, 0)[:, None])
        return np.concatenate(weights, axis=1)

    def _embed(
        self, rows: NDArray[np.int32], values: Floats
    ) -> tuple[Floats, tuple[int, int, int, int]]:
        n, n_tokens = rows.shape
        shape = (len(self.table), n, n_tokens, self.table.shape[-1])
        tokens = self.table.take(rows.ravel(), axis=1).reshape(shape)
        tokens *= values[:, :, None]
        tokens += self.bias
        return tokens.reshape(shape[0], n * n_tokens, -1), shape

    def logits(self, rows: NDArray[np.int32], values: Floats) -> Floats:
        """Compute logits of the causes, (member, subject, cause, interval), of encoded subjects."""
        embedded, shape = self._embed(rows, values)
        tokens = embedded
        for layer in self.layers:
            tokens, _ = layer(tokens, shape)
        flat = (shape[0], shape[1], -1)
        both = np.concatenate([tokens.reshape(flat), embedded.reshape(flat)], axis=2)
        x = selu(self.align(both))
        n_causes = self.outer.weight.shape[1]
        heads = x[:, None]
        if self.inner is not None:
            x = self.inner(x)
            np.maximum(x, 0.0, out=x)
            heads = x.reshape(*shape[:2], n_causes, -1).swapaxes(1, 2)
        return self.outer(heads).swapaxes(1, 2)


def selu(x: Floats) -> Floats:
    """Compute SELU of ``x - SHIFT``; ``x`` is overwritten."""
    x = elu(x)
    x *= SCALE_32
    return x


def elu(x: Floats) -> Floats:
    """Compute SELU of ``x - SHIFT`` without its scale; ``x`` is overwritten.

    Below zero that is ``ALPHA * exp(x) - ALPHA``. With ``SHIFT = log(ALPHA)`` added to x, which
    the bias before it does, two products with ALPHA are saved. ``exp`` stands in place of expm1,
    which numpy computes one number at a time on many processors; the difference is that of rounding
    numbers of the size of 1. The smaller of two arrays takes numpy a third of the time of the
    smaller of an array and a number.
    """
    shift = _shift(x.shape)
    below: Floats = np.minimum(x, shift)
    np.exp(below, out=below)
    np.maximum(x, shift, out=x)
    x += below
    x -= CENTRE
    return x


@lru_cache(maxsize=16)
def _shift(shape: tuple[int, ...]) -> Floats:
    return np.full(shape, SHIFT, dtype=np.float32)


def build_network(shape: Mapping[str, Any], saved: Mapping[str, NDArray[Any]]) -> Network:
    """Put saved parameters side by side where the forward pass has one product for several.

    What is multiplied here is multiplied in float64 and rounded once.
    """
    n_causes, n_heads, width = shape["n_causes"], shape["n_heads"], shape["width"]
    table = saved["embedding.table"]
    no_bias = np.zeros((len(table), 1, shape["n_tokens"], width))
    align, align_bias = (saved[f"representation.align.{part}"] for part in ("weight", "bias"))
    return Network(
        _floats(table),
        _floats(saved.get("embedding.bias", no_bias)),
        tuple(_layer(saved, f"encoder.{k}.", n_heads, width) for k in range(shape["depth"])),
        _linear(align, align_bias.astype(np.float64) + SHIFT),
        _inner(saved, n_causes, shape["head_depth"]),
        _outer(saved, n_causes, shape.get("proportional", 0.0)),
        saved["recalibration_factor"].astype(np.float64),
        saved["hazard_power"].astype(np.float64),
    )


def _layer(saved: Mapping[str, NDArray[Any]], name: str, n_heads: int, width: int) -> Layer:
    parts = {
        part: [saved[f"{name}{part}.weight"], saved[f"{name}{part}.bias"]]
        for part in ("attention.query_key_value", "mix", "expand", "contract")
    }
    projection, *others = [[part.astype(np.float64) for part in pair] for pair in parts.values()]
    for part in projection:
        part[..., :width] /= np.sqrt(width // n_heads)
    for _, bias in others:
        bias += SHIFT
    others[-1][0] *= SCALE
    return Layer(n_heads, _linear(*projection), *(_linear(*pair) for pair in others))


def _inner(saved: Mapping[str, NDArray[Any]], n_causes: int, head_depth: int) -> Linear | None:
    if head_depth == 1:
        return None
    parts = (
        np.concatenate([saved[f"causes.heads.{k}.inner.{part}"] for k in range(n_causes)], axis=-1)
        for part in ("weight", "bias")
    )
    return _linear(*parts)


def _outer(saved: Mapping[str, NDArray[Any]], n_causes: int, proportional: float) -> Linear:
    parts = []
    for part in ("weight", "bias"):
        outputs = np.stack(
            [saved[f"causes.heads.{k}.outer.{part}"] for k in range(n_causes)], axis=1
        ).astype(np.float64)
        parts.append(outputs + proportional * outputs.mean(axis=-1, keepdims=True))
    return _linear(*parts)


def _linear(weight: NDArray[Any], bias: NDArray[Any]) -> Linear:
    return Linear(_floats(weight), _floats(bias))


def _floats(array: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float32)
