"""How far an answer can be trusted, as methods: intervals of curves, and how usual subjects are."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from survtrace.inference.interval import IntervalScale, interval_ends, require_interval
from survtrace.inference.methods import (
    Array,
    CurveMethods,
    Label,
    No,
    Pair,
    Times,
    Yes,
    common_times,
)
from survtrace.inference.times import read_times
from survtrace.naming import column_names, prediction_frame
from survtrace.rules import check_flags
from survtrace.tables.outcome.alignment import align_rows
from survtrace.tables.table import Table, is_pandas

if TYPE_CHECKING:
    import pandas as pd


class CertaintyMethods(CurveMethods):
    """What is known of predictions beside the predictions."""

    interval_: IntervalScale | None = None

    @overload
    def predict_interval(
        self,
        X: Table,
        times: Times = None,
        cause: Label = None,
        *,
        kind: str = ...,
        level: float = ...,
        conditional_after: ArrayLike | None = ...,
        extrapolate: str = ...,
        as_frame: No = ...,
    ) -> Pair: ...
    @overload
    def predict_interval(
        self,
        X: Table,
        times: Times = None,
        cause: Label = None,
        *,
        kind: str = ...,
        level: float = ...,
        conditional_after: ArrayLike | None = ...,
        extrapolate: str = ...,
        as_frame: Yes,
    ) -> tuple[pd.DataFrame, pd.DataFrame]: ...
    def predict_interval(
        self,
        X: Table,
        times: ArrayLike | None = None,
        cause: Label = None,
        *,
        kind: str = "incidence",
        level: float = 0.95,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        as_frame: bool = False,
    ) -> Pair | tuple[pd.DataFrame, pd.DataFrame]:
        """Predict the interval in which a subject's true incidence lies with probability ``level``.

        It says how far the prediction may be from what an endless number of such patients would
        show; not when one of them has an event. On simulated cohorts like those of
        docs/results.md it holds the truth about as often as it says, over all subjects. It may be
        too narrow of a subject unlike those learned from (`typicality`), and with
        ``conditional_after``, the more so the later that is: errors are learned of curves from 0
        on.

        Parameters
        ----------
        kind
            "incidence", or "survival" for that of the event-free probability.
        level
            Share of subjects whose truth is to lie inside, above 0 and below 1.
        X, times, cause, conditional_after, extrapolate, as_frame
            As in `predict_cumulative_incidence`.

        Returns
        -------
        low, high
            Both ends, each of the shape of the curve asked for. The prediction lies between them,
            and both are curves that never turn back.

        Examples
        --------
        >>> from survtrace import SurvTRACE
        >>> from survtrace.datasets import make_cohort
        >>> X, y = make_cohort(300, random_state=0)
        >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
        >>> low, high = est.predict_interval(X[:5], times=[12, 60], cause=1)
        >>> incidence = est.predict_cumulative_incidence(X[:5], times=[12, 60], cause=1)
        >>> low.shape, bool(((low <= incidence) & (incidence <= high)).all())
        ((5, 2), True)
        """
        check_flags(as_frame=as_frame)
        predictor = self._predictor()
        scale = require_interval(self.interval_, kind, level, cause)
        place = self._place(cause)
        states = 0 if kind == "survival" else slice(1, None) if place is None else place + 1
        after = align_rows(X, conditional_after, "conditional_after")
        if is_pandas(times, "DataFrame"):
            times = align_rows(X, times, "times")
        points, outside = read_times(times, self.time_grid_, extrapolate, after)
        ends = list(interval_ends(predictor, scale, X, self.time_grid_, points, after, level))
        if kind == "survival":
            ends = [1 - end for end in reversed(ends)]
        ends = [end[:, states] for end in ends]
        if outside is not None:
            mask = outside[:, None] if outside.ndim == 2 and ends[0].ndim == 3 else outside
            ends = [np.where(mask, np.nan, end) for end in ends]
        if not as_frame:
            return ends[0], ends[1]
        causes = self.causes_ if cause is None else [cause]
        columns = column_names(kind, common_times(points), () if kind == "survival" else causes)
        return prediction_frame(X, columns, ends[0]), prediction_frame(X, columns, ends[1])

    @overload
    def typicality(self, X: Table, *, reasons: No = ...) -> Array: ...
    @overload
    def typicality(self, X: Table, *, reasons: Yes) -> tuple[Array, list[tuple[str, ...]]]: ...
    def typicality(
        self, X: Table, *, reasons: bool = False
    ) -> Array | tuple[Array, list[tuple[str, ...]]]:
        """Compute the share of the patients learned from who are at least as unusual as this one.

        Shape (subject,). 1 is the most usual patient, 0.001 one in a thousand; below 0.01 a
        prediction says that the subject is unlike those learned from. A whole patient is judged:
        each value alone, what all other covariates suggest, and combinations of two. What is
        missing is never unusual.

        Parameters
        ----------
        X
            Covariates, columns by name; or the path of a table, read in chunks.
        reasons
            Also return, for each subject, the names of the one or two covariates that make it as
            unusual as it is.

        Examples
        --------
        >>> from survtrace import SurvTRACE
        >>> from survtrace.datasets import make_cohort
        >>> X, y = make_cohort(300, random_state=0)
        >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
        >>> odd = X[:2].assign(body_mass_index=[25.0, 60.0])
        >>> shares, why = est.typicality(odd, reasons=True)
        >>> (shares < 0.01).tolist(), why[1]
        ([False, True], ('body_mass_index',))
        """
        check_flags(reasons=reasons)
        shares, why = self._predictor().typicality_of(X, with_reasons=reasons)
        return (shares, why) if reasons else shares
