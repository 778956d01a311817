"""How likely each cause was for each subject, and the loss weights made of it (eq. 18-20)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from survtrace.tables.covariates.encoding import Encoded


def propensities(
    encoded: Encoded,
    event: NDArray[np.int64],
    n_causes: int,
    training: NDArray[np.int64],
    clip: float,
) -> NDArray[np.float64]:
    """Estimate each cause's probability given the covariates, by logistic regressions (eq. 20).

    Fitted on training rows, on standardised numericals and one-hot categoricals; predicted for
    every row.

    NOTE[PAPER eq. 20]: kept above ``clip``, so that no subject outweighs all others.
    """
    design = encoded.design(int(encoded.rows.max()) + 1)
    columns = []
    for cause in range(1, n_causes + 1):
        struck = event == cause
        if struck[training].all() or not struck[training].any():
            columns.append(np.full(len(event), struck[training].mean()))
            continue
        fitted = LogisticRegression(max_iter=1000).fit(design[training], struck[training])
        columns.append(fitted.predict_proba(design)[:, 1])
    return np.maximum(np.stack(columns, axis=1), clip)


def propensities_by_rate(
    encoded: Encoded,
    event: NDArray[np.int64],
    time: NDArray[np.float64],
    n_subjects: int,
    n_causes: int,
    training: NDArray[np.int64],
    clip: float,
) -> NDArray[np.float64]:
    """Estimate each cause's probability in a subject's mean time, where rows enter at any time.

    Whether a row had an event depends on how much time it covers. So a Poisson regression learns
    the rate of each cause, every row counting by its ``time`` under observation, and a rate r is
    the chance 1 - exp(-r t) of an event within the time t that the ``n_subjects`` of the training
    rows were followed on average. All this stays the same when a row is cut into two.

    Examples
    --------
    >>> encoded = Encoded(np.zeros((3, 1), np.int32), np.ones((3, 1), np.float32))
    >>> rows, time = np.arange(3), np.array([1.0, 4.0, 1.0])
    >>> propensities_by_rate(encoded, np.array([1, 0, 0]), time, 2, 1, rows, 0.01).round(3)
    array([[0.393],
           [0.393],
           [0.393]])
    """
    design = encoded.design(int(encoded.rows.max()) + 1)
    mean_time = time[training].sum() / n_subjects
    exposure = time[training] / mean_time
    columns = []
    for cause in range(1, n_causes + 1):
        struck = (event == cause)[training]
        if not struck.any():
            columns.append(np.zeros(len(event)))
            continue
        rates = np.divide(struck, exposure, out=np.zeros(len(exposure)), where=exposure > 0)
        # The penalty of `propensities`: that of one subject's loss, not of a mean over time.
        fitted = PoissonRegressor(alpha=1 / n_subjects, max_iter=1000, tol=1e-6)
        fitted.fit(design[training], rates, sample_weight=exposure)
        columns.append(-np.expm1(-fitted.predict(design)))
    return np.maximum(np.stack(columns, axis=1), clip)


def ips_weights(
    form: str,
    propensity: NDArray[np.float64],
    event: NDArray[np.int64],
    share: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Compute the weight of subject i in the loss of cause k.

    ``paper``: 1[e = k] / (K pi_k(x)), as printed in eq. 19: every censored row is dropped.
    ``events``: rows with cause k get 1 / pi_k(x), all others 1.
    ``stabilised``: p_k / pi_k(x) for rows with cause k, (1 - p_k) / (1 - pi_k(x)) for others.
    ``covariates``: every row gets 1 / pi_k(x), whatever happened to it.
    ``causes``: every row gets 1 / mean(pi_k).
    ``none``: 1. All but the paper's are scaled to mean 1.

    Where subjects have several rows, ``event`` is that of the subject in each of them, and
    ``share`` what part of its subject's time a row is: means are over subjects.

    Examples
    --------
    >>> propensity, event = np.array([[0.5], [0.25]]), np.array([1, 0])
    >>> ips_weights("paper", propensity, event).tolist()
    [[2.0], [0.0]]
    >>> (ips_weights("covariates", propensity, event) * 3).tolist()
    [[2.0], [4.0]]
    """
    n_causes = propensity.shape[1]
    struck = event[:, None] == np.arange(1, n_causes + 1)
    mean = propensity.mean(axis=0) if share is None else share @ propensity / share.sum()
    if form == "paper":
        return struck / (propensity * n_causes)
    # NOTE[PAPER eq. 18]: "none" sums over all subjects; as printed, censored ones are dropped.
    weights = {
        "none": np.ones_like(propensity),
        "events": np.where(struck, 1 / propensity, 1.0),
        "stabilised": np.where(
            struck, mean / propensity, (1 - mean) / np.maximum(1 - propensity, 1e-6)
        ),
        "covariates": 1 / propensity,
        "causes": np.broadcast_to(1 / mean, propensity.shape),
    }[form]
    if share is None:
        return weights / weights.mean()
    return weights / (share @ weights.mean(axis=1) / share.sum())
