"""Describe the network of a saved model by its parameters, as they were saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.app.calculator.arrays import number_text, weight_text

LAYER = {
    "queryKeyValue": "attention.query_key_value",
    "mix": "mix",
    "expand": "expand",
    "contract": "contract",
}


def pack_network(shape: Mapping[str, Any], saved: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Describe the parameters by the names of engine/network.js; ``saved`` by the network's."""
    n_members, n_causes, n_intervals = (
        int(shape[name]) for name in ("n_members", "n_causes", "n_intervals")
    )
    no_bias = np.zeros((n_members, 1, shape["n_tokens"], shape["width"]))
    factor = saved["recalibration_factor"]
    has_inner = shape["head_depth"] > 1
    heads = [
        {
            "inner": _linear(saved, f"causes.heads.{k}.inner") if has_inner else None,
            "outer": _linear(saved, f"causes.heads.{k}.outer"),
        }
        for k in range(n_causes)
    ]
    return {
        "nMembers": n_members,
        "nCauses": n_causes,
        "nIntervals": n_intervals,
        "nTokens": int(shape["n_tokens"]),
        "nHeads": int(shape["n_heads"]),
        "proportional": float(shape.get("proportional", 0.0)),
        "table": weight_text(saved["embedding.table"]),
        "bias": number_text(saved.get("embedding.bias", no_bias), "float32"),
        "layers": [
            {name: _linear(saved, f"encoder.{k}.{part}") for name, part in LAYER.items()}
            for k in range(shape["depth"])
        ],
        "align": _linear(saved, "representation.align"),
        "heads": heads,
        "factor": number_text(np.broadcast_to(factor, (n_members, 1, n_causes, n_intervals))),
        "power": number_text(saved["hazard_power"]),
    }


def _linear(saved: Mapping[str, NDArray[Any]], name: str) -> dict[str, Any]:
    bias = number_text(saved[f"{name}.bias"], "float32")
    return {"weight": weight_text(saved[f"{name}.weight"]), "bias": bias}
