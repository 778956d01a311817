"""Each covariate's share in a subject's predicted incidence, by the library shap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.errors import DataError, DataWarning, require
from survtrace.explain.frame import incidence_by, read_cause, read_frame
from survtrace.rules import check_value, random_generator, whole

Floats = NDArray[np.float64]


def attributions(
    est: Any,
    X: Any,
    *,
    time: float,
    cause: Any = None,
    conditional_after: float | None = None,
    background: Any = 100,
    n_permutations: int = 5,
    random_state: Any = None,
) -> pd.DataFrame:
    """Compute each covariate's share in a subject's predicted incidence (Shapley values).

    Covariates are hidden by giving the subject those of background subjects, categories and
    missing values as they are. For each subject ``attrs["base"]``, the mean prediction of the
    background, plus the attributions is the prediction.

    Parameters
    ----------
    est
        A fitted estimator.
    X
        The subjects to explain. A start-stop row is explained as it stands, beside the background's
        rows: pass those of a landmark, by `survtrace.landmark`.
    time
        By which the incidence is asked, counted from the same origin as duration.
    cause
        Label of the cause; may be left out if there is one.
    conditional_after
        A time at which everybody is known to be event-free: the incidence is then that from it on.
    background
        Subjects to compare with: a table, used whole, or how many of ``X`` to draw.
    n_permutations
        Orders in which covariates are revealed, each forwards and backwards. Sums hold for any
        number; single attributions become sharper with more. Each costs about
        2 x covariates x background predictions for every subject.
    random_state
        Seed of the background and of the orders.

    Returns
    -------
    DataFrame
        Shape (subject, covariate), with the row labels of X.

    References
    ----------
    Lundberg S., Lee S.-I. (2017). A unified approach to interpreting model predictions. NeurIPS.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
    >>> shares = attributions(est, X[:2], time=12, cause=1, background=X[2:9], random_state=0)
    >>> prediction = est.predict_cumulative_incidence(X[:2], [12], cause=1)[:, 0]
    >>> np.allclose(shares.attrs["base"] + shares.sum(axis=1), prediction)
    True
    """
    check_value("n_permutations", n_permutations, whole(1))
    frame = read_frame(est, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing shap, it greets matplotlib with some
        shap = require("shap", "explain", "attributions need")
    label = read_cause(est, cause)
    rng = random_generator(random_state)
    others = _background(est, frame, background, rng)
    # Every value by its place among the distinct ones of its column. The others come first, since
    # shap compares codes up to a hundred-thousandth of theirs.
    coded = {
        name: pd.factorize(
            pd.Series([*others[name].tolist(), *frame[name].tolist()]), use_na_sentinel=False
        )
        for name in frame.columns
    }
    codes = np.column_stack([places for places, _ in coded.values()]).astype(np.float64)

    def incidence(rows: Floats) -> Floats:
        columns = zip(coded.items(), rows.astype(np.int64).T, strict=True)
        raw = pd.DataFrame({name: values.take(row) for (name, (_, values)), row in columns})
        return incidence_by(est, raw, time, label, conditional_after)

    incidence_by(est, frame, time, label, conditional_after)  # warns of the subjects, once
    with _global_seed_put_back(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of mixtures of subjects
        masker = shap.maskers.Independent(codes[: len(others)], max_samples=len(others))
        masker.supports_delta_masking = False  # would be compiled for seconds, to save moments
        explainer = shap.PermutationExplainer(incidence, masker, seed=int(rng.integers(2**31)))
        evaluations = n_permutations * (2 * codes.shape[1] + 1)
        explained = explainer(codes[len(others) :], max_evals=evaluations, silent=True)
    table = pd.DataFrame(explained.values, index=frame.index, columns=frame.columns)
    table.attrs["base"] = float(np.mean(explained.base_values))
    return table


def _background(
    est: Any, frame: pd.DataFrame, background: Any, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the subjects to compare with: a table of them, or some of those explained."""
    if isinstance(background, (int, np.integer)):
        n_drawn = max(int(background), 0) if len(frame) > 1 else 0
        others = frame.iloc[rng.permutation(len(frame))[:n_drawn]]
    else:
        others = read_frame(est, background)
    if len(others) == 0:
        raise DataError(
            f"attributions compare a subject with others; got none from {len(frame)} subject(s) "
            "in X and the background. Pass a table to compare with, for example "
            "background=X_train.sample(100)."
        )
    return others


@contextmanager
def _global_seed_put_back() -> Iterator[None]:
    """Leave numpy's global generator as it was; shap seeds it."""
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
