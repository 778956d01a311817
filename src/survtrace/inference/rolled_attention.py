"""Follow attention through all layers of the network, with numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.inference.times import numbers_or_nan

Floats = NDArray[np.float64]


def attention_rollout(weights: ArrayLike) -> Floats:
    """Follow attention through all layers, shape (subject, token, token).

    Abnar and Zuidema's rule: heads are averaged; half of each layer is its attention and half the
    residual, which hands a token on as it is; the layers' matrices are multiplied, the last layer
    leftmost. Row i then says from which embedded covariates the final token i was mixed, and sums
    to 1. It knows neither the values that are mixed, nor the feed-forward networks, nor the
    shortcut by which the heads also read the embedded covariates directly.

    Parameters
    ----------
    weights
        Shape (subject, layer, head, token, token), as from `SurvTRACE.attention`.

    References
    ----------
    Abnar S., Zuidema W. (2020). Quantifying attention flow in transformers. ACL 2020.

    Examples
    --------
    >>> even = np.full((1, 2, 1, 2, 2), 0.5)
    >>> attention_rollout(even)
    array([[[0.625, 0.375],
            [0.375, 0.625]]])
    """
    layers = numbers_or_nan(weights, "weights")
    if layers.ndim != 5 or layers.shape[-1] != layers.shape[-2]:
        raise DataError(
            "weights must have shape (subject, layer, head, token, token); got "
            f"{layers.shape}. Pass est.attention(X)."
        )
    itself = np.eye(layers.shape[-1])
    mixed = (layers.mean(axis=2) + itself) / 2
    rolled = np.broadcast_to(itself, (len(mixed), *itself.shape))
    for layer in range(mixed.shape[1]):
        rolled = mixed[:, layer] @ rolled
    return rolled
