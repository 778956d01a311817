"""Rows go through a compiled kernel, where numba is installed and once it is loaded.

To load it takes half a second, to compile it the first time on a machine some ten; nobody waits for
that. When many rows have been asked for, at once or one by one, a thread begins to load it, and
numpy answers until it is there.
"""

from __future__ import annotations

import logging
from threading import Lock, Thread
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import SettingError
from survtrace.portable.curves import TimeIndex, locate_times
from survtrace.portable.network import Network

Array = NDArray[np.float64]
Floats = NDArray[np.float32]
LOGGER = logging.getLogger("survtrace")
MANY_ROWS = 256  # that are worth loading the kernel
STATES = ("survival", "incidence", "states")  # curves that there is a kernel for


class _Forward(Protocol):
    def logits(self, rows: NDArray[np.int32], values: Floats) -> Floats: ...
    def curves(
        self, logits: Floats, at: TimeIndex, states: tuple[bool, int, int], *, with_std: bool
    ) -> tuple[Array, Array | None] | None: ...


class Kernel:
    """The kernels of one network: none at first, and none where they cannot be had.

    ``compiled`` False is for none at all: answers are then the same to the bit, always; True waits
    for them here.
    """

    def __init__(self, network: Network, *, compiled: bool | None = None) -> None:
        self._network, self._wanted = network, compiled is not False
        self._forward: _Forward | None = None
        self._thread: Thread | None = None
        self._lock = Lock()
        self._n_rows = 0  # asked for until now
        self._why_none = ""
        if compiled:
            self.begin_to_load().join()
            if self._forward is None:
                raise SettingError(
                    f"compiled=True needs numba, which cannot be used here ({self._why_none}). "
                    "Install it with: pip install numba. Or leave compiled out: numpy answers."
                )

    def logits(self, rows: NDArray[np.int32], values: Floats) -> Floats:
        """Compute logits of the causes, (member, subject, cause, interval), of encoded subjects."""
        if self._forward is not None:
            return self._forward.logits(rows, values)
        self._n_rows += len(rows)
        if self._n_rows >= MANY_ROWS:
            self.begin_to_load()
        return self._network.logits(rows, values)

    def curves(
        self, logits: Floats, kind: str, at: TimeIndex, cause: int | None, *, with_std: bool
    ) -> tuple[Array, Array | None] | None:
        """Compute mean and deviation of the members' curves; None where numpy is to."""
        if self._forward is None or at.start is not None or self._network.has_power:
            return None
        n_causes = logits.shape[2]
        if kind == "incidence" and cause is not None:
            states = False, cause, cause + 1
        elif kind in STATES and cause is None:
            states = kind != "incidence", 0, 0 if kind == "survival" else n_causes
        else:
            return None
        found = self._forward.curves(logits, at, states, with_std=with_std)
        if found is None or kind == "states" or (kind == "incidence" and cause is None):
            return found
        mean, std = found
        return mean[:, 0], None if std is None else std[:, 0]

    def begin_to_load(self) -> Thread:
        """Load the kernels in a thread, once; whoever wants to may join it."""
        with self._lock:
            if self._thread is None:
                # Not a daemon: LLVM aborts a process that ends while it compiles.
                self._thread = Thread(target=self._load, name="survtrace kernel")
                self._thread.start()
            return self._thread

    def _load(self) -> None:
        if not self._wanted:
            return
        try:
            from survtrace.ops.cpu.compiling import beside_others
            from survtrace.ops.cpu.logits import Forward

            forward = Forward(self._network)
            n_tokens = self._network.bias.shape[2]
            one = np.zeros((1, n_tokens), np.int32), np.ones((1, n_tokens), np.float32)
            at = locate_times(np.zeros((1, 1)), np.array([0.0, 1.0]))
            with beside_others():
                forward.curves(forward.logits(*one), at, (True, 0, 0), with_std=True)
        except Exception as error:  # no numba, or a processor it does not know: numpy answers
            self._why_none = str(error)
            LOGGER.info("the portable predictor has no kernel: %s", error)
        else:
            self._forward = forward
