"""The forward pass of all members in numpy: encoded subjects in, hazards out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Array = NDArray[np.float64]
# SELU's constants (Klambauer et al. 2017).
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


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
    """An encoder layer; the queries are scaled by 1 / sqrt(width of a head) beforehand."""

    n_heads: int
    query_key_value: Linear
    mix: Linear
    expand: Linear
    contract: Linear

    def __call__(self, tokens: Floats, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Compute tokens (member, subject * token, width), and attention by `attend`."""
        attended, weights = self.attend(tokens, shape)
        residual = self.mix(attended)
        residual += tokens
        forward = self.contract(selu(self.expand(tokens)))
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
    align_final: Linear
    align_embedded: Floats
    inner: Linear | None
    outer: Linear
    factor: Array
    power: Array

    @property
    def n_members(self) -> int:
        """Count the members."""
        return len(self.table)

    def hazards(self, rows: NDArray[np.int32], values: Floats) -> Array:
        """Compute hazards, (member, subject, cause, interval), of (subject, token) as encoded."""
        logits = self._logits(rows, values).astype(np.float64)
        hazards = np.logaddexp(0.0, logits)
        if (self.power != 1).any():
            hazards **= self.power[:, None]
        hazards *= self.factor
        return hazards

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

    def _logits(self, rows: NDArray[np.int32], values: Floats) -> Floats:
        """Compute logits of the causes, (member, subject, cause, interval)."""
        embedded, shape = self._embed(rows, values)
        tokens = embedded
        for layer in self.layers:
            tokens, _ = layer(tokens, shape)
        flat = (shape[0], shape[1], -1)
        x = self.align_final(tokens.reshape(flat))
        x += np.matmul(embedded.reshape(flat), self.align_embedded)
        x = selu(x)
        n_causes = self.outer.weight.shape[1]
        heads = x[:, None]
        if self.inner is not None:
            x = self.inner(x)
            np.maximum(x, 0.0, out=x)
            heads = x.reshape(*shape[:2], n_causes, -1).swapaxes(1, 2)
        return self.outer(heads).swapaxes(1, 2)


def selu(x: Floats) -> Floats:
    """Compute SELU; ``x`` is overwritten.

    ``exp(x) - 1`` stands in place of expm1, which numpy computes one number at a time on many
    processors; the difference is that of rounding numbers of the size of 1. The smaller of two
    arrays takes it a third of the time of the smaller of an array and a number.
    """
    zeros = _zeros(x.shape)
    below: Floats = np.minimum(x, zeros)
    np.exp(below, out=below)
    below -= np.float32(1.0)
    below *= np.float32(ALPHA * SCALE)
    np.maximum(x, zeros, out=x)
    x *= np.float32(SCALE)
    x += below
    return x


@lru_cache(maxsize=16)
def _zeros(shape: tuple[int, ...]) -> Floats:
    return np.zeros(shape, dtype=np.float32)


def build_network(shape: Mapping[str, Any], saved: Mapping[str, NDArray[Any]]) -> Network:
    """Put saved parameters side by side where the forward pass has one product for several.

    What is multiplied here is multiplied in float64 and rounded once.
    """
    n_causes, n_heads, width = shape["n_causes"], shape["n_heads"], shape["width"]
    table = saved["embedding.table"]
    no_bias = np.zeros((len(table), 1, shape["n_tokens"], width))
    align = saved["representation.align.weight"]
    by_final, by_embedded = np.split(align, 2, axis=1)
    return Network(
        _floats(table),
        _floats(saved.get("embedding.bias", no_bias)),
        tuple(_layer(saved, f"encoder.{k}.", n_heads, width) for k in range(shape["depth"])),
        _linear(by_final, saved["representation.align.bias"]),
        _floats(by_embedded),
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
    projection, *others = ([part.astype(np.float64) for part in pair] for pair in parts.values())
    for part in projection:
        part[..., :width] /= np.sqrt(width // n_heads)
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
