"""A saved estimator that only predicts: the methods and numbers of SurvTRACE, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.inference.certainty_methods import CertaintyMethods
from survtrace.portable.network import build_network
from survtrace.portable.predictor import Predictor
from survtrace.rules import check_value, one_of, read_path
from survtrace.saved_folder import WRONG_KIND, damaged, network_arrays, read_folder, restore
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.typicality.typicality import Typicality


class PortableSurvTRACE(CertaintyMethods):
    """Predictions of a saved SurvTRACE, by numpy alone; made by `load`.

    Methods, shapes, warnings and errors are those of `SurvTRACE`, its probabilities the same to
    1e-6 and cumulative hazards to 2e-6, since float32 is rounded otherwise. Rows come as a list of
    mappings, a mapping of columns, a structured or 2-D array, or any frame; not from files. It does
    not learn, score or update.

    Attributes
    ----------
    causes_, time_grid_, feature_names_in_, cause_names_, time_unit_, card_, updates_, ...
        As those of the estimator that was saved.
    """

    encoding_: Encoding
    typicality_: Typicality | None
    feature_names_in_: NDArray[np.object_]
    n_features_in_: int
    card_: dict[str, Any]
    updates_: list[dict[str, Any]]

    def __init__(self, path: str | Path, *, compiled: bool | None = None) -> None:
        check_value("compiled", compiled, one_of(None, True, False))
        note, arrays = read_folder(read_path("path", path))
        try:
            restore(self, note, arrays)
            saved = network_arrays(arrays, note["shape"]["n_causes"])
            network = build_network(note["shape"], saved)
        except WRONG_KIND as error:
            raise damaged(path, error) from None
        self._numpy_predictor = Predictor(
            network, self.encoding_, self.time_grid_, self.typicality_, compiled
        )
        if compiled:
            _ = self._numpy_predictor.kernel  # waits for it

    def _predictor(self) -> Any:
        return self._numpy_predictor


def load(folder: str | Path, *, compiled: bool | None = None) -> PortableSurvTRACE:
    """Read a folder that `SurvTRACE.save` wrote, to predict with numpy and safetensors alone.

    Parameters
    ----------
    folder
        What `SurvTRACE.save` wrote.
    compiled
        Whether kernels of numba answer, several times as fast. By default they do where numba is
        installed, once they are loaded, which a thread begins when 256 rows have been asked for.
        True waits for them here; False never loads them, so that the same question always has the
        same answer to the last bit (the kernels' differ by about 1e-7).

    Examples
    --------
    >>> import tempfile
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     est.save(f"{folder}/est")
    ...     light = load(f"{folder}/est")
    >>> rows = X[:2].to_dict("records")
    >>> bool(np.allclose(light.predict(rows), est.predict(X[:2]), rtol=0, atol=1e-6))
    True
    """
    return PortableSurvTRACE(folder, compiled=compiled)
