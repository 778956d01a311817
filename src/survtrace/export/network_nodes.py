"""The forward pass of all members in ONNX: rows and values in, hazards out.

It is that of `survtrace.portable.network`, step by step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from survtrace.export.encoding_nodes import EncodedNodes, table_order, token_order
from survtrace.export.graph import Graph, Value
from survtrace.portable.network import ALPHA, SCALE, Layer, Linear, Network
from survtrace.tables.covariates.encoding import Encoding

SMALL = 1e-8  # x below which log(1 + x) is x to eight digits, and by 1 + x has fewer


def in_input_order(network: Network, encoding: Encoding) -> Network:
    """Put the parameters of tokens and levels into the order of the inputs."""
    tokens, width = token_order(encoding), network.table.shape[-1]
    flat = (tokens[:, None] * width + np.arange(width)).ravel()
    final = Linear(network.align_final.weight[:, flat], network.align_final.bias)
    return replace(
        network,
        table=network.table[:, table_order(encoding)],
        bias=network.bias[:, :, tokens],
        align_final=final,
        align_embedded=network.align_embedded[:, flat],
    )


def hazard_nodes(graph: Graph, network: Network, encoded: EncodedNodes) -> Value:
    """Compute hazards, (member, subject, cause, interval), in float64."""
    logits = _logits(graph, network, encoded).cast(np.float64)
    hazard = _softplus(logits)
    if (network.power != 1).any():
        hazard = hazard ** network.power[:, None]
    return hazard * network.factor


def _logits(graph: Graph, network: Network, encoded: EncodedNodes) -> Value:
    n_members, _, n_tokens, width = network.bias.shape
    table = graph.constant(network.table, np.float32)
    embedded = table.gather(encoded.rows, axis=1) * encoded.values.unsqueeze(2) + network.bias
    tokens = embedded.reshape(n_members, -1, width)
    for layer in network.layers:
        tokens = _layer(layer, tokens, n_tokens)
    flat = (n_members, -1, n_tokens * width)
    x = _linear(network.align_final, tokens.reshape(*flat))
    x = _selu(x + embedded.reshape(*flat) @ network.align_embedded)
    heads = x.unsqueeze(1)
    if network.inner is not None:
        _, n_causes, hidden, _ = network.outer.weight.shape
        x = _linear(network.inner, x).apply("Relu")
        heads = x.reshape(n_members, -1, n_causes, hidden).transpose(0, 2, 1, 3)
    return _linear(network.outer, heads).transpose(0, 2, 1, 3)


def _layer(layer: Layer, tokens: Value, n_tokens: int) -> Value:
    residual = _linear(layer.mix, _attend(layer, tokens, n_tokens)) + tokens
    forward = _linear(layer.contract, _selu(_linear(layer.expand, tokens)))
    return _selu(forward + _selu(residual))


def _attend(layer: Layer, tokens: Value, n_tokens: int) -> Value:
    n_members, width, _ = layer.query_key_value.weight.shape
    heads = _linear(layer.query_key_value, tokens).reshape(
        n_members, -1, n_tokens, 3, layer.n_heads, width // layer.n_heads
    )
    by_head = heads.transpose(3, 0, 1, 4, 2, 5)
    query, key, value = (by_head.slice(0, k, k + 1).squeeze(0) for k in range(3))
    weights = (query @ key.transpose(0, 1, 2, 4, 3)).apply("Softmax", axis=-1)
    return (weights @ value).transpose(0, 1, 3, 2, 4).reshape(n_members, -1, width)


def _linear(layer: Linear, x: Value) -> Value:
    return x @ layer.weight + layer.bias


def _softplus(x: Value) -> Value:
    """Compute log(1 + exp(x)), of which onnxruntime has no float64; small values keep digits."""
    small = (-x.apply("Abs")).apply("Exp")
    return x.apply("Relu") + (small < SMALL).where(small, (small + 1.0).apply("Log"))


def _selu(x: Value) -> Value:
    return x.apply("Selu", alpha=ALPHA, gamma=SCALE)
