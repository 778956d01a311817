"""Write arrays as text that means nothing in HTML or JSON; engine/arrays.js reads them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Printable, and none of them is special inside a JSON text in a script element.
ALPHABET = bytes(code for code in range(33, 127) if chr(code) not in '"<\\')
BASE = len(ALPHABET)
LARGEST = (BASE**3 - 1) // 2  # of whole numbers that three characters hold, with a sign
TYPES = {"float64": "<f8", "float32": "<f4", "int32": "<i4"}


def weight_text(weights: NDArray[np.float32]) -> dict[str, Any]:
    """Write weights (..., n_in, n_out) with three characters each, in 753,571 steps a column.

    A rounded weight is off by at most 1.4e-6 of the largest of its column. float32 as
    base64 would take 5.3 characters, and the file would be too large to send by mail.

    Examples
    --------
    >>> written = weight_text(np.array([[1.0, 0.5], [-1.0, 0.25]], dtype=np.float32))
    >>> written["shape"], len(written["text"]), written["text"][:3], written["text"][6:9]
    ([2, 2], 12, '~~~', '!!!')
    """
    largest = np.abs(weights).max(axis=-2, keepdims=True)
    steps = (np.where(largest > 0, largest, 1.0) / LARGEST).astype(np.float32)
    whole = np.rint(weights / steps.astype(np.float64)).astype(np.int64).clip(-LARGEST, LARGEST)
    digits = (whole.ravel() + LARGEST)[:, None] // [BASE**2, BASE, 1] % BASE
    text = np.frombuffer(ALPHABET, dtype=np.uint8)[digits].tobytes().decode("ascii")
    return {"shape": list(weights.shape), "steps": number_text(steps, "float32"), "text": text}


def number_text(array: NDArray[Any], type_name: str = "float64") -> dict[str, Any]:
    """Write numbers as base64 of their bytes.

    Examples
    --------
    >>> number_text(np.array([1, 2]), "int32")
    {'type': 'int32', 'shape': [2], 'text': 'AQAAAAIAAAA='}
    """
    content = np.ascontiguousarray(array, dtype=TYPES[type_name]).tobytes()
    text = base64.b64encode(content).decode("ascii")
    return {"type": type_name, "shape": list(array.shape), "text": text}
