"""The forward pass of all members in ONNX: rows and values in, hazards out."""

from __future__ import annotations

import numpy as np

from survtrace.export.encoding_nodes import EncodedNodes
from survtrace.export.graph import Graph, Value, concatenate
from survtrace.export.parameters import Parameters
from survtrace.portable.network import ALPHA, SCALE

SMALL = 1e-8  # x below which log(1 + x) is x to eight digits, and by 1 + x has fewer


def hazard_nodes(graph: Graph, network: Parameters, encoded: EncodedNodes) -> Value:
    """Compute hazards, (member, subject, cause, interval), in float64."""
    hazard = _softplus(_logits(graph, network, encoded).cast(np.float64))
    power = network.arrays["hazard_power"].astype(np.float64)
    if (power != 1).any():
        hazard = hazard ** power[:, None]
    return hazard * network.arrays["recalibration_factor"]


def _logits(graph: Graph, network: Parameters, encoded: EncodedNodes) -> Value:
    """Compute logits of the causes, (member, subject, cause, interval)."""
    shape, arrays = network
    table = graph.constant(arrays["embedding.table"], np.float32)
    embedded = table.gather(encoded.rows, axis=1) * encoded.values.unsqueeze(2)
    if "embedding.bias" in arrays:
        embedded = embedded + arrays["embedding.bias"]
    # Rows of all subjects are one product for each member, in place of one for each subject.
    tokens = embedded.reshape(network.n_members, -1, shape["width"])
    for k in range(shape["depth"]):
        tokens = _layer(network, f"encoder.{k}", tokens)
    flat = (network.n_members, -1, shape["n_tokens"] * shape["width"])
    both = concatenate([tokens.reshape(*flat), embedded.reshape(*flat)], axis=2)
    heads = _selu(_linear(network, "representation.align", both)).unsqueeze(1)
    if shape["head_depth"] > 1:
        heads = _linear(network, "inner", heads).apply("Relu")
    return _linear(network, "outer", heads).transpose(0, 2, 1, 3)


def _layer(network: Parameters, name: str, tokens: Value) -> Value:
    residual = _linear(network, f"{name}.mix", _attend(network, name, tokens)) + tokens
    expanded = _selu(_linear(network, f"{name}.expand", tokens))
    return _selu(_linear(network, f"{name}.contract", expanded) + _selu(residual))


def _attend(network: Parameters, name: str, tokens: Value) -> Value:
    n_tokens, n_heads, width = (network.shape[key] for key in ("n_tokens", "n_heads", "width"))
    heads = _linear(network, f"{name}.attention.query_key_value", tokens).reshape(
        network.n_members, -1, n_tokens, 3, n_heads, width // n_heads
    )
    by_head = heads.transpose(3, 0, 1, 4, 2, 5)
    query, key, value = (by_head.slice(0, k, k + 1).squeeze(0) for k in range(3))
    weights = (query @ key.transpose(0, 1, 2, 4, 3)).apply("Softmax", axis=-1)
    return (weights @ value).transpose(0, 1, 3, 2, 4).reshape(network.n_members, -1, width)


def _linear(network: Parameters, name: str, x: Value) -> Value:
    return x @ network.arrays[f"{name}.weight"] + network.arrays[f"{name}.bias"]


def _softplus(x: Value) -> Value:
    """Compute log(1 + exp(x)), of which onnxruntime has no float64; small values keep digits."""
    small = (-x.apply("Abs")).apply("Exp")
    return x.apply("Relu") + (small < SMALL).where(small, (small + 1.0).apply("Log"))


def _selu(x: Value) -> Value:
    return x.apply("Selu", alpha=ALPHA, gamma=SCALE)
