"""Many rows go through a compiled kernel, where numba is installed and once it is loaded.

To load it takes half a second, to compile it the first time on a machine some ten; nobody waits for
that. The first large question starts a thread that loads it, and numpy answers until it is there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Lock, Thread
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
LOGGER = logging.getLogger("survtrace")
MANY_ROWS = 256  # of a question that is worth loading the kernel
FEWEST_ROWS = 16  # it computes so many at a time, whether they are there or not


class _Forward(Protocol):
    def logits(self, rows: NDArray[np.int32], values: Floats) -> Floats: ...


class Kernel:
    """The kernel of one network: none at first, and none where it cannot be had."""

    def __init__(self, shape: Mapping[str, Any], saved: Mapping[str, NDArray[Any]]) -> None:
        self._shape, self._saved = shape, saved
        self._forward: _Forward | None = None
        self._thread: Thread | None = None
        self._lock = Lock()

    def logits(self, rows: NDArray[np.int32], values: Floats, n_subjects: int) -> Floats | None:
        """Compute logits of some rows of a question for so many subjects; None: numpy is to.

        The kernel takes a width and a hidden size that are multiples of 8.
        """
        if self._forward is None:
            if n_subjects >= MANY_ROWS:
                self.begin_to_load()
            return None
        return self._forward.logits(rows, values) if len(rows) >= FEWEST_ROWS else None

    def begin_to_load(self) -> Thread:
        """Load the kernel in a thread, once; whoever wants to may join it."""
        with self._lock:
            if self._thread is None:
                # Not a daemon: LLVM aborts a process that ends while it compiles.
                self._thread = Thread(target=self._load, name="survtrace kernel")
                self._thread.start()
            return self._thread

    def _load(self) -> None:
        if self._shape["width"] % 8 or self._shape["hidden"] % 8:
            return
        try:
            from survtrace.ops.cpu.logits import Forward

            forward = Forward(self._shape, flat_order(self._shape, self._saved))
            n_tokens = self._shape["n_tokens"]
            forward.logits(np.zeros((1, n_tokens), np.int32), np.ones((1, n_tokens), np.float32))
        except Exception as error:  # no numba, or a processor it does not know: numpy answers
            LOGGER.info("the portable predictor has no kernel: %s", error)
        else:
            self._forward = forward


def flat_order(shape: Mapping[str, Any], saved: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """List the parameters in the order of torch's network, without its auxiliary heads.

    Examples
    --------
    >>> shape = {"depth": 0, "n_causes": 1, "head_depth": 1}
    >>> names = ["embedding.table", "causes.heads.0.outer.weight", "causes.heads.0.outer.bias"]
    >>> names += ["representation.align.weight", "representation.align.bias"]
    >>> saved = {name: np.array(k) for k, name in enumerate(names)}
    >>> [int(part) for part in flat_order(shape, saved)]
    [0, 3, 4, 1, 2]
    """
    of_layer = ("attention.query_key_value", "mix", "expand", "contract")
    linear = [f"encoder.{k}.{part}" for k in range(shape["depth"]) for part in of_layer]
    of_head = ("outer",) if shape["head_depth"] == 1 else ("inner", "outer")
    linear += ["representation.align"]
    linear += [f"causes.heads.{k}.{part}" for k in range(shape["n_causes"]) for part in of_head]
    names = ["embedding.table", *(["embedding.bias"] if "embedding.bias" in saved else [])]
    names += [f"{name}.{part}" for name in linear for part in ("weight", "bias")]
    return [saved[name] for name in names]
