"""The parameters of a saved network as an ONNX file has them: tokens in the order of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survtrace.export.encoding_nodes import table_order, token_order
from survtrace.saved_folder import network_arrays, read_folder
from survtrace.tables.covariates.encoding import Encoding

Arrays = dict[str, NDArray[Any]]


class Parameters(NamedTuple):
    """The shape of a network, and its arrays by name, each with an axis of members first."""

    shape: Mapping[str, Any]
    arrays: Arrays

    @property
    def n_members(self) -> int:
        """Count the members."""
        return len(self.arrays["embedding.table"])


def read_parameters(folder: Path, encoding: Encoding) -> Parameters:
    """Read a saved folder, in which tokens are in the order of the columns."""
    note, saved = read_folder(folder)
    shape = note["shape"]
    arrays = network_arrays(saved, shape["n_causes"])
    _reorder_tokens(arrays, encoding, shape["width"])
    for k in range(shape["depth"]):
        _scale_queries(arrays, f"encoder.{k}.attention.query_key_value", shape)
    _join_heads(arrays, shape)
    return Parameters(shape, arrays)


def _reorder_tokens(arrays: Arrays, encoding: Encoding, width: int) -> None:
    """Put what belongs to tokens and levels into the order of the inputs."""
    tokens, n_tokens = token_order(encoding), len(encoding.columns)
    arrays["embedding.table"] = arrays["embedding.table"][:, table_order(encoding)]
    if "embedding.bias" in arrays:
        arrays["embedding.bias"] = arrays["embedding.bias"][:, :, tokens]
    # The representation has all encoded tokens, then all embedded ones, `width` numbers each.
    blocks = np.concatenate([tokens, n_tokens + tokens])
    flat = (blocks[:, None] * width + np.arange(width)).ravel()
    align = "representation.align.weight"
    arrays[align] = arrays[align][:, flat]


def _scale_queries(arrays: Arrays, name: str, shape: Mapping[str, Any]) -> None:
    """Divide queries by the root of the width of a head beforehand; rounded once."""
    for part in ("weight", "bias"):
        projection = arrays[f"{name}.{part}"].astype(np.float64)
        projection[..., : shape["width"]] /= np.sqrt(shape["width"] // shape["n_heads"])
        arrays[f"{name}.{part}"] = projection


def _join_heads(arrays: Arrays, shape: Mapping[str, Any]) -> None:
    """Put the heads of the causes side by side, and what they share in time into their last map."""
    heads = [f"causes.heads.{k}" for k in range(shape["n_causes"])]
    for part in ("weight", "bias"):
        if shape["head_depth"] > 1:
            arrays[f"inner.{part}"] = np.stack([arrays[f"{k}.inner.{part}"] for k in heads], 1)
        last = np.stack([arrays[f"{k}.outer.{part}"] for k in heads], 1).astype(np.float64)
        common = last.mean(axis=-1, keepdims=True)
        arrays[f"outer.{part}"] = last + shape.get("proportional", 0.0) * common
