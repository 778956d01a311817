"""What can be asked of a fitted predictor: each method's parameters, checks, shapes and names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError, SettingError, short
from survtrace.inference.times import numbers_or_nan, read_times
from survtrace.naming import column_names, prediction_frame, state_names
from survtrace.rules import check_flags, find_cause
from survtrace.tables.outcome.alignment import align_rows
from survtrace.tables.table import Table, is_pandas

if TYPE_CHECKING:
    import pandas as pd

    from survtrace.inference.predictor import Predictor

Array = NDArray[np.float64]
Pair = tuple[Array, Array]  # means and standard deviations
Functions = NDArray[np.object_]  # of `CurveFunction`
Times = ArrayLike | None
Label = Hashable | None
Yes = Literal[True]
No = Literal[False]
# For type checkers: the settings of the methods, of which some decide what is returned.
Std = TypeVar("Std")
InArray = TypeVar("InArray")
InFrame = TypeVar("InFrame")


class _Net(TypedDict, Generic[Std, InFrame], total=False):
    conditional_after: ArrayLike | None
    extrapolate: str
    return_std: Std
    as_frame: InFrame


class _Hazard(TypedDict, Generic[InArray, InFrame], total=False):
    conditional_after: ArrayLike | None
    extrapolate: str
    return_array: InArray
    as_frame: InFrame


class _Curve(_Hazard[InArray, InFrame], Generic[Std, InArray, InFrame], total=False):
    return_std: Std


AsArray = _Curve[No, Yes, No]
AsPair = _Curve[Yes, Yes, No]
AsFunctions = _Curve[No, No, No]
AsFrame = _Curve[bool, Yes, Yes]


class CurveMethods:
    """Predictions of whatever has a predictor, the labels of causes and a time grid."""

    causes_: list[Any]
    time_grid_: Array
    median_event_time_: float

    def _predictor(self) -> Predictor:
        """Return what computes the curves; an error where nothing was fitted."""
        raise NotImplementedError

    @overload
    def predict_survival_function(
        self, X: Table, times: Times = None, **how: Unpack[AsArray]
    ) -> Array: ...
    @overload
    def predict_survival_function(
        self, X: Table, times: Times = None, **how: Unpack[AsPair]
    ) -> Pair: ...
    @overload
    def predict_survival_function(
        self, X: Table, times: Times = None, **how: Unpack[AsFunctions]
    ) -> Functions: ...
    @overload
    def predict_survival_function(
        self, X: Table, times: Times = None, **how: Unpack[AsFrame]
    ) -> pd.DataFrame: ...
    def predict_survival_function(
        self,
        X: Table,
        times: ArrayLike | None = None,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_std: bool = False,
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Array | Pair | Functions | pd.DataFrame:
        """Predict the probability of being event-free at each time, shape (subject, time).

        Parameters
        ----------
        X
            Covariates, columns by name; or the path of a table, read in chunks.
        times
            Any times, in any order, counted from the same origin as ``duration``; by default
            `time_grid_`. Or a row of them for each subject, shape (subject, time): with age as the
            clock, ``age[:, None] + [5, 10]`` asks for the next five and ten years.
        conditional_after
            A time, or one for each subject, at which the subject is known to be event-free: the
            curve is then its future, and 1 up to that time.
        extrapolate
            What times outside the grid get: "constant" (with a warning), "nan", or "raise". It
            ends with the last event; it begins at 0, or where the first subject entered. Of
            subjects event-free at an earlier time the same holds until then.
        return_std
            Also return the standard deviation between members; NaN if there is only one, whose
            deviation is not known.
        return_array
            False gives a `CurveFunction` for each subject instead, shape (subject,), called like
            scikit-survival's step functions: ``[fn(12.0) for fn in functions]``. Its knots are
            ``times``.
        as_frame
            True gives a pandas frame with the index of X and a column for each time, named as
            ``survtrace predict`` names them (``survival_12``, ``incidence_1_12``); with
            ``return_std`` also ``survival_12_std``.
        """
        after, std, array = conditional_after, return_std, return_array
        return self._curves(X, "survival", times, None, extrapolate, after, std, array, as_frame)

    @overload
    def predict_cumulative_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[AsArray]
    ) -> Array: ...
    @overload
    def predict_cumulative_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[AsPair]
    ) -> Pair: ...
    @overload
    def predict_cumulative_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[AsFunctions]
    ) -> Functions: ...
    @overload
    def predict_cumulative_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[AsFrame]
    ) -> pd.DataFrame: ...
    def predict_cumulative_incidence(
        self,
        X: Table,
        times: ArrayLike | None = None,
        cause: Label = None,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_std: bool = False,
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Array | Pair | Functions | pd.DataFrame:
        """Predict the probability that each cause has struck by a time, (subject, cause, time).

        With ``cause`` (a label of `causes_`) the shape is (subject, time). The other parameters
        are those of `predict_survival_function`.
        """
        after, std, array = conditional_after, return_std, return_array
        return self._curves(X, "incidence", times, cause, extrapolate, after, std, array, as_frame)

    @overload
    def predict_net_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[_Net[No, No]]
    ) -> Array: ...
    @overload
    def predict_net_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[_Net[Yes, No]]
    ) -> Pair: ...
    @overload
    def predict_net_incidence(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[_Net[bool, Yes]]
    ) -> pd.DataFrame: ...
    def predict_net_incidence(
        self,
        X: Table,
        times: ArrayLike | None = None,
        cause: Label = None,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_std: bool = False,
        as_frame: bool = False,
    ) -> Array | Pair | pd.DataFrame:
        """Predict each cause's incidence without the others: 1 - exp(-cumulative hazard).

        The quantity the paper ranks by. For one cause it is one minus survival; for several,
        these do not sum with survival to 1. Shapes as in `predict_cumulative_incidence`.
        """
        after, std = conditional_after, return_std
        return self._curves(
            X, "net_incidence", times, cause, extrapolate, after, std, True, as_frame
        )

    @overload
    def predict_cumulative_hazard_function(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[_Hazard[Yes, No]]
    ) -> Array: ...
    @overload
    def predict_cumulative_hazard_function(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[_Hazard[No, No]]
    ) -> Functions: ...
    @overload
    def predict_cumulative_hazard_function(
        self, X: Table, times: Times = None, cause: Label = None, **how: Unpack[_Hazard[Yes, Yes]]
    ) -> pd.DataFrame: ...
    def predict_cumulative_hazard_function(
        self,
        X: Table,
        times: ArrayLike | None = None,
        cause: Label = None,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Array | Functions | pd.DataFrame:
        """Predict the cumulative hazard of each cause, shape (subject, cause, time).

        Summed over causes it is minus the logarithm of survival. With ``conditional_after`` it is
        counted from then on. For one ``cause`` the shape is (subject, time).
        """
        after, array = conditional_after, return_array
        return self._curves(
            X, "cumulative_hazard", times, cause, extrapolate, after, False, array, as_frame
        )

    @overload
    def predict_proba(
        self,
        X: Table,
        time: ArrayLike | None = None,
        *,
        conditional_after: ArrayLike | None = ...,
        as_frame: No = ...,
    ) -> Array: ...
    @overload
    def predict_proba(
        self,
        X: Table,
        time: ArrayLike | None = None,
        *,
        conditional_after: ArrayLike | None = ...,
        as_frame: Yes,
    ) -> pd.DataFrame: ...
    def predict_proba(
        self,
        X: Table,
        time: ArrayLike | None = None,
        *,
        conditional_after: ArrayLike | None = None,
        as_frame: bool = False,
    ) -> Array | pd.DataFrame:
        """Predict the probability of each state at a time, event-free first; each row sums to 1.

        Shape (subject, 1 + causes). ``time`` is by default the median event time of the training
        rows; it may be one for each subject. With ``as_frame`` a pandas frame with the columns
        ``survival_12``, ``incidence_1_12`` and so on.
        """
        check_flags(as_frame=as_frame)
        predictor, after = self._predictor(), align_rows(X, conditional_after, "conditional_after")
        times = _one_time(self.median_event_time_ if time is None else align_rows(X, time, "time"))
        points, _ = read_times(times, self.time_grid_, "constant", after)
        states, _ = predictor.curve(X, "states", points, after=after)
        if not as_frame:
            return states[:, :, 0]
        return prediction_frame(X, state_names(common_times(points), self.causes_), states)

    def predict(self, X: Table) -> Array:
        """Predict one risk score for each subject, higher is worse.

        It is the incidence of any cause at the median event time of the training rows.
        """
        self._predictor()
        return 1 - self.predict_survival_function(X, [self.median_event_time_])[:, 0]

    def predict_quantile(
        self, X: Table, q: ArrayLike = 0.5, *, conditional_after: ArrayLike | None = None
    ) -> Array:
        """Predict the time by which an event has happened with probability ``q``, or infinity.

        Shape (subject,), or (subject, quantile) for several ``q``; infinite where the curve does
        not fall so far on the grid. Counted from the origin of the durations, also with
        ``conditional_after``.
        """
        predictor, after = self._predictor(), align_rows(X, conditional_after, "conditional_after")
        wanted = numbers_or_nan(q, "q")
        if wanted.ndim > 1 or not ((wanted > 0) & (wanted < 1)).all():
            raise DataError(
                f"q must be a number between 0 and 1, or several; got {short(q)}. The median is "
                "q=0.5."
            )
        read_times(None, self.time_grid_, "constant", after)
        times, _ = predictor.curve(X, "crossing_time", 1 - wanted.ravel(), after=after)
        return times[:, 0] if wanted.ndim == 0 else times

    @overload
    def predict_rmst(
        self,
        X: Table,
        time: ArrayLike,
        *,
        conditional_after: ArrayLike | None = ...,
        extrapolate: str = ...,
        return_std: No = ...,
    ) -> Array: ...
    @overload
    def predict_rmst(
        self,
        X: Table,
        time: ArrayLike,
        *,
        conditional_after: ArrayLike | None = ...,
        extrapolate: str = ...,
        return_std: Yes,
    ) -> Pair: ...
    def predict_rmst(
        self,
        X: Table,
        time: ArrayLike,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_std: bool = False,
    ) -> Array | Pair:
        """Predict the mean event-free time up to ``time`` (restricted mean survival time).

        The area under the survival curve, from 0 or from ``conditional_after`` on; ``time`` may
        be one for each subject. Beyond the grid that curve is constant (with a warning), as
        `predict_survival_function` says.
        """
        times, after = _one_time(align_rows(X, time, "time")), conditional_after
        if np.isinf(times).any():  # a curve that ends above 0 has no finite area
            raise DataError(
                f"time must be finite for a mean up to it; got {short(time)}. Pass the end of the "
                f"grid, {self.time_grid_[-1]:g}, or an earlier time."
            )
        means = self._curves(X, "restricted_mean", times, None, extrapolate, after, return_std)
        return (means[0][:, 0], means[1][:, 0]) if return_std else means[:, 0]

    def attention(self, X: Table) -> NDArray[np.float32]:
        """Compute attention between covariates, (subject, layer, head, token, token).

        Averaged over members. Tokens are in the order of ``feature_names_in_``; each row sums to 1.
        """
        return self._predictor().attention(X)

    def _place(self, cause: Label) -> int | None:
        """Find the place of a cause on the cause axis; None where none is asked for."""
        return None if cause is None else find_cause(cause, self.causes_)

    def _curves(
        self,
        X: Table,
        kind: str,
        times: ArrayLike | None,
        cause: Label,
        extrapolate: str,
        after: ArrayLike | None = None,
        return_std: bool = False,
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Any:
        """Give curves of a kind as an array, two, functions or a frame: as the methods promise."""
        check_flags(return_std=return_std, return_array=return_array, as_frame=as_frame)
        predictor, chosen = self._predictor(), self._place(cause)
        if not return_array:
            if as_frame:
                raise SettingError(
                    "as_frame=True gives numbers at times, return_array=False functions of time; "
                    "got both. Leave one out."
                )
            if after is not None or return_std:
                raise SettingError(
                    "return_array=False gives curves from time 0, without deviations; got "
                    "conditional_after or return_std. Leave them out, or predict an array."
                )
            knots = common_times(read_times(times, self.time_grid_, "raise")[0])
            functions = predictor.functions(X, kind, knots)
            return functions if chosen is None else functions[:, chosen]
        after = align_rows(X, after, "conditional_after")
        if is_pandas(times, "DataFrame"):  # a row for each subject
            times = align_rows(X, times, "times")
        points, outside = read_times(times, self.time_grid_, extrapolate, after)
        mean, std = predictor.curve(X, kind, points, cause=chosen, after=after, with_std=return_std)
        if outside is not None:
            if outside.ndim == 2 and mean.ndim == 3:  # (subject, time), beside an axis of causes
                outside = outside[:, None]
            mean = np.where(outside, np.nan, mean)
            std = None if std is None else np.where(outside, np.nan, std)
        if not as_frame:
            return mean if std is None else (mean, std)
        causes = self.causes_ if cause is None else [cause]
        columns = column_names(kind, common_times(points), () if kind == "survival" else causes)
        return prediction_frame(X, columns, mean, std)


def _one_time(time: ArrayLike) -> Array:
    """Return a time for everybody as (1,), or one for each subject as (subject, 1)."""
    return numbers_or_nan(time)[..., None]


def common_times(points: Array) -> Array:
    """Refuse times of each subject where times give columns their names, or curves their knots."""
    if points.ndim == 1:
        return points
    raise SettingError(
        "as_frame=True and return_array=False take times that are common to all subjects; got a "
        f"row for each, shape {points.shape}. Predict an array, whose columns are those of times."
    )
