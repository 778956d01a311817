"""SurvTRACE: a table of patients in, coherent survival and incidence curves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from survtrace.cohort.file_source import FileSource, Source, require_streamable
from survtrace.cohort.source import read_frame
from survtrace.errors import DataError, SettingError
from survtrace.inference import curves
from survtrace.inference.curves import Average, CurveFunction, TimeIndex
from survtrace.inference.paths import by_path, score_by_path
from survtrace.inference.predictor import Curve, Forecast, choose_device, read_times
from survtrace.metrics import integrated_brier_score
from survtrace.naming import (
    HAZARD,
    INCIDENCE,
    NET_INCIDENCE,
    SURVIVAL,
    column_names,
    prediction_frame,
    require_array,
)
from survtrace.settings import check_settings, names_of_causes
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.outcome.outcome import require_same_subjects
from survtrace.tables.outcome.pairing import read_scored
from survtrace.tables.outcome.roles import is_path, read_roles
from survtrace.threads import threads
from survtrace.training.fit import Cluster, fit

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class SurvTRACE(BaseEstimator):  # type: ignore[misc]
    """Transformer over covariates that learns each cause's hazard over time.

    One estimator for one event and for competing causes. Covariates come as a raw frame:
    categories, text and missing values are handled inside. Curves are coherent by construction:
    event-free probability and the causes' incidences sum to 1 and never turn back.

    Parameters
    ----------
    n_members
        Networks trained together, each with its own initial parameters and validation draw;
        their curves are averaged. 1 is the paper's model.
    n_intervals
        Intervals of constant hazard, cut at even quantiles of the event times.
    time_grid
        Cut points of your own instead. Follow-up ends with the last: later events are not learned
        from, and their subjects are censored there, with a warning that counts them.
    width, depth, n_heads, hidden, head_depth
        Size of a token, number of encoder layers, attention heads, inner size of the
        feed-forward networks and heads, layers of each head (1 or 2).
    token_bias
        Whether each covariate's token has a bias of its own, which tells it from others even
        where its value is 0. The paper has none.
    proportional
        Pull towards proportional hazards: the mean of a cause's logits over intervals is added
        to each this many times. Any hazards can still be learned; 0 is the paper's head.
    dropout, attention_dropout, token_dropout, head_dropout
        Dropout inside the encoder, of attention weights, of whole tokens, and inside heads.
    unknown_steps
        Steps after the training in which nothing but the meaning of "missing" and "unseen" is
        learned, for covariates that are never or hardly ever missing in the table: so a patient of
        whom nothing is known gets about the cohort's incidence. Other answers do not change.
    lr, weight_decay, clip_norm, batch_size, max_epochs, patience
        Training by AdamW, the gradient of each member clipped; a member stops after ``patience``
        epochs without a better validation loss and goes back to its best.
        ``batch_size="auto"`` grows with the table, from 64 to 1024.
    averaging
        Epochs over which parameters are averaged before they are judged and kept; 0 for none.
    validation_fraction
        Share of subjects each member sets aside to stop by (unless ``eval_set`` is given).
    mortality_weight, stay_weight, anneal
        Starting weights of the auxiliary tasks (0 switches one off) and the epoch at which they
        have faded to 0 (None: never).
    ips, ips_clip, recalibrate
        Inverse-propensity weights of the loss ("none", "paper", "events", "stabilised",
        "covariates", "causes"), the smallest propensity, and whether the level of the hazards is
        fitted again afterwards ("auto": where the weights depend on the outcome).
    categorical
        Columns (names or numbers) to treat as categorical whatever their dtype.
    columns
        Data dictionary: a mapping from names of columns to what is known of them, ``{"age":
        {"kind": "numerical", "unit": "years", "low": 0, "high": 120}}``, or the path of a CSV
        file with the columns name, kind (numerical, categorical, ignore, identifier, date, text),
        unit, label, levels, missing, low, high, decimal. Columns that are not named are inspected:
        identifiers, dates and free text are left out, numbers written as text are read, and one
        warning says so.
    time_unit, cause_names
        Unit of durations, and a text to show for each cause (``{1: "relapse"}``).
    zero_duration
        "raise" refuses events at duration 0, "shift" moves them to half the smallest duration.
    checkpoint_dir
        Folder that makes the fit resumable: after a kill, the same call goes on where it was.
    prediction_batch_size
        Subjects per forward pass in predictions; does not change results. "auto" keeps a pass
        within a processor's cache, or fills a GPU.
    device, n_threads
        "auto" takes CUDA where there is one. Number of CPU threads; None takes one for small work
        and up to torch's own number for large batches.
    random_state
        Seed. The same seed on the same machine gives the same estimator, bit for bit on CPU.
    verbose
        Progress bar: True, False, or "auto" (on a terminal).

    Attributes
    ----------
    causes_ : list
        Labels of the causes, in the order of every cause axis.
    censored_ : list
        Labels that meant censored; `score` and the reports read them so again.
    time_grid_ : ndarray
        Cut points from 0; beyond the last, curves are constant.
    feature_names_in_, n_features_in_
        Covariates, in token order.
    cause_names_, time_unit_, covariate_labels_
        What to show: a text for each cause, the unit of durations, and "label (unit)" for each
        covariate.
    history_ : DataFrame
        Losses of each epoch and member.
    card_ : dict
        When it was fitted, on how many subjects, events and missing values, and whether the fit
        was interrupted; empty for a model saved by an earlier version.

    Examples
    --------
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False).fit(X, y)
    >>> est.predict_cumulative_incidence(X[:5], times=[12, 60]).shape
    (5, 2, 2)
    """

    # A setting is one line here, its rule one line in settings.py.
    n_members: int = 8
    n_intervals: int = 4
    time_grid: ArrayLike | None = None
    width: int = 16
    depth: int = 3
    n_heads: int = 2
    hidden: int = 64
    head_depth: int = 2
    token_bias: bool = True
    proportional: float = 3.0
    dropout: float = 0.0
    attention_dropout: float = 0.0
    token_dropout: float = 0.1
    unknown_steps: int = 200
    head_dropout: float = 0.2
    lr: float = 1e-3
    weight_decay: float = 1e-4
    clip_norm: float = 1.0
    averaging: float = 3.0
    batch_size: int | str = "auto"
    max_epochs: int = 100
    patience: int = 5
    validation_fraction: float = 0.1
    mortality_weight: float = 1.0
    stay_weight: float = 1.0
    anneal: int | None = 10
    ips: str = "none"
    ips_clip: float = 0.01
    recalibrate: bool | str = "auto"
    categorical: Sequence[str | int] | None = None
    columns: Any = None
    time_unit: str = ""
    cause_names: Mapping[Any, str] | None = None
    zero_duration: str = "raise"
    checkpoint_dir: str | Path | None = None
    prediction_batch_size: int | str = "auto"
    device: str = "auto"
    n_threads: int | None = None
    random_state: Any = None
    verbose: bool | str = "auto"

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, eval_set: Any = None
    ) -> Self:
        """Learn from a table of covariates and its outcome.

        Parameters
        ----------
        X
            A pandas or polars frame, a mapping of columns, or a 2-D array; or the path of a
            Parquet file or a folder of them, which may be larger than memory.
        y
            ``event`` (0, or the cause) and ``duration`` of the same subjects: `Surv`, a frame,
            a mapping or a structured array. Or names of columns of X:
            ``{"event": "cause", "duration": "months"}``, also ``"weight"`` and ``"drop"``; all
            others are covariates. ``"censored"`` beside them names the labels that mean censored,
            where the usual words (0, alive, lost, none, ...) do not.
        sample_weight
            Weight of each subject in every loss.
        eval_set
            ``(X, y)`` to stop by; by default each member draws its own from the table.
        """
        return self._fit(X, y, sample_weight, eval_set)

    @by_path
    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_std: bool = False,
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Any:
        """Probability of being event-free at each time, shape (subject, time).

        Parameters
        ----------
        X
            Covariates, columns by name; or the path of a table, read in pieces.
        times
            Any times, in any order; by default `time_grid_`.
        conditional_after
            A time, or one for each subject, at which the subject is known to be event-free: the
            curve is then its future.
        extrapolate
            What times beyond the grid get: "constant" (with a warning), "nan", or "raise".
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
        require_array(as_frame, return_array)
        if not return_array:
            _require_plain(conditional_after, return_std)
            return self._functions(X, times, curves.average_survival, [None])[:, 0]

        def curve(hazard: Tensor, at: TimeIndex) -> Tensor:
            return curves.survival(hazard, at)

        found = self._curves(X, times, conditional_after, extrapolate, return_std, curve)
        return self._framed(X, found, SURVIVAL, times) if as_frame else found

    @by_path
    def predict_cumulative_incidence(
        self,
        X: Any,
        times: ArrayLike | None = None,
        cause: Any = None,
        *,
        conditional_after: ArrayLike | None = None,
        extrapolate: str = "constant",
        return_std: bool = False,
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Any:
        """Probability that each cause has struck by each time, shape (subject, cause, time).

        With ``cause`` (a label of `causes_`) the shape is (subject, time). The other parameters
        are those of `predict_survival_function`.
        """
        check_is_fitted(self)
        chosen = self._cause_index(cause)
        require_array(as_frame, return_array)
        if not return_array:
            _require_plain(conditional_after, return_std)
            every = range(len(self.causes_))
            return self._functions(X, times, curves.average_incidence, every)[:, chosen]

        def curve(hazard: Tensor, at: TimeIndex) -> Tensor:
            return curves.incidence(hazard, at)[:, :, chosen]

        found = self._curves(X, times, conditional_after, extrapolate, return_std, curve)
        return self._framed(X, found, INCIDENCE, times, cause) if as_frame else found

    @by_path
    def predict_net_incidence(
        self,
        X: Any,
        times: ArrayLike | None = None,
        cause: Any = None,
        *,
        extrapolate: str = "constant",
        return_std: bool = False,
        as_frame: bool = False,
    ) -> Any:
        """What each cause's incidence would be without the others: 1 - exp(-cumulative hazard).

        The quantity the paper ranks by. For one cause it is one minus survival; for several,
        these do not sum with survival to 1. Shapes as in `predict_cumulative_incidence`.
        """
        check_is_fitted(self)
        chosen = self._cause_index(cause)

        def curve(hazard: Tensor, at: TimeIndex) -> Tensor:
            return curves.net_incidence(hazard, at)[:, :, chosen]

        found = self._curves(X, times, None, extrapolate, return_std, curve)
        return self._framed(X, found, NET_INCIDENCE, times, cause) if as_frame else found

    @by_path
    def predict_cumulative_hazard_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        cause: Any = None,
        *,
        extrapolate: str = "constant",
        return_array: bool = True,
        as_frame: bool = False,
    ) -> Any:
        """Cumulative hazard of each cause, shape (subject, cause, time) or (subject, time).

        Summed over causes it is minus the logarithm of survival.
        """
        check_is_fitted(self)
        require_array(as_frame, return_array)
        chosen, forecast = self._cause_index(cause), self._forecast()
        if not return_array:
            every = range(len(self.causes_))
            return self._functions(X, times, curves.cumulative_hazard, every)[:, chosen]
        asked, outside = read_times(times, self.time_grid_, extrapolate)
        cuts, points = forecast.on_device(self.time_grid_), forecast.on_device(asked)

        def answer(hazard: Tensor) -> Tensor:
            return curves.cumulative_hazard(hazard, cuts, points)[:, chosen]

        with threads(self.n_threads):
            found = _blank(forecast.each(X, 8 * len(asked), answer), outside)
        return self._framed(X, found, HAZARD, times, cause) if as_frame else found

    @by_path
    def predict_proba(self, X: Any, time: float | None = None, *, as_frame: bool = False) -> Any:
        """Probability of each state at a time: event-free, cause 1, .. K; rows sum to 1.

        ``time`` is by default the median event time of the training rows. With ``as_frame`` a
        pandas frame with the columns ``survival_12``, ``incidence_1_12`` and so on.
        """
        check_is_fitted(self)
        times = [self.median_event_time_ if time is None else time]
        incidence = self.predict_cumulative_incidence(X, times)[:, :, 0]
        states = np.column_stack([1 - incidence.sum(axis=1), incidence])
        if not as_frame:
            return states
        columns = [*column_names(SURVIVAL, times), *column_names(INCIDENCE, times, self.causes_)]
        return prediction_frame(X, columns, states)

    def predict(self, X: Any) -> Array:
        """One risk score for each subject, higher is worse.

        It is the incidence of any cause at the median event time of the training rows.
        """
        check_is_fitted(self)
        return 1 - self.predict_survival_function(X, [self.median_event_time_])[:, 0]

    @by_path
    def predict_quantile(self, X: Any, q: ArrayLike = 0.5) -> Array:
        """Time by which an event has happened with probability ``q``; infinite if not on the grid.

        Shape (subject,), or (subject, quantile) for several ``q``.
        """
        check_is_fitted(self)
        wanted = np.asarray(q, dtype=np.float64)
        if not ((wanted > 0) & (wanted < 1)).all():
            raise DataError(f"q must lie between 0 and 1; got {q!r}. The median is q=0.5.")
        forecast = self._forecast()
        cuts, levels = forecast.on_device(self.time_grid_), forecast.on_device(1 - wanted.ravel())

        def answer(hazard: Tensor) -> Tensor:
            return curves.crossing_time(hazard, cuts, levels)

        with threads(self.n_threads):
            times = forecast.each(X, wanted.size, answer)
        return times[:, 0] if wanted.ndim == 0 else times

    @by_path
    def predict_rmst(
        self, X: Any, time: float, *, extrapolate: str = "constant", return_std: bool = False
    ) -> Any:
        """Mean event-free time up to ``time`` (restricted mean survival time), shape (subject,).

        The area under the survival curve. Beyond the grid that curve is constant (with a
        warning), as `predict_survival_function` says.
        """
        check_is_fitted(self)
        cuts = self._forecast().on_device(self.time_grid_)

        def curve(hazard: Tensor, at: TimeIndex) -> Tensor:
            beyond = max(0.0, float(time) - float(cuts[-1]))
            mean = curves.restricted_mean(hazard, cuts, at)
            return mean + beyond * curves.survival(hazard, at) if beyond else mean

        means = self._curves(X, [time], None, extrapolate, return_std, curve)
        return (means[0][:, 0], means[1][:, 0]) if return_std else means[:, 0]

    @by_path
    def attention(self, X: Any) -> NDArray[np.float32]:
        """Attention between covariates, (subject, layer, head, token, token), members averaged.

        Tokens are in the order of ``feature_names_in_``; each row sums to 1.
        """
        check_is_fitted(self)
        with threads(self.n_threads):
            return self._forecast().attention(X)

    def score(self, X: Any, y: Any) -> float:
        """Minus the integrated Brier score, mean over causes: proper, and higher is better.

        Integrated between the 5 and 95 % quantiles of the training event times, weighted by the
        training rows' censoring survival. ``y`` as in `fit`; with a path it names columns.
        """
        check_is_fitted(self)
        if is_path(X):
            return score_by_path(self, X, y)
        X, outcome = read_scored(self, X, y)
        times = self.score_times_[self.score_times_ <= self.censoring_.last_usable]
        incidence = self.predict_cumulative_incidence(X, times)
        require_same_subjects(len(incidence), outcome)
        losses = [
            integrated_brier_score(
                outcome, incidence[:, k], times, cause=cause, y_train=self.censoring_
            )
            for k, cause in enumerate(self.causes_)
        ]
        return -float(np.mean(losses))

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a folder of JSON and safetensors."""
        from survtrace.persistence import save

        check_is_fitted(self)
        save(self, path)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to an end, or was broken off with something learned."""
        return hasattr(self, "network_")

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, eval_set: Any, cluster: Cluster | None = None
    ) -> Self:
        """Fit in this process or by a cluster; what was learned is kept, whatever broke it off."""
        check_settings(self.get_params())
        settings = SimpleNamespace(**self.get_params())
        source: Source
        if is_path(X):
            require_streamable(settings, sample_weight=sample_weight, eval_set=eval_set)
            source = FileSource(Path(X), read_roles(y), settings.zero_duration)
        else:
            source = read_frame(X, y, sample_weight, eval_set, zero_duration=settings.zero_duration)
        state = fit(settings, source, choose_device(self.device), cluster)
        self.causes_, self.censored_ = state.causes, state.censored
        self._remember_names(state.encoding)
        self.encoding_ = state.encoding
        self.time_grid_ = state.time_grid
        self.median_event_time_ = state.median_event_time
        self.score_times_ = state.score_times
        self.censoring_ = state.censoring
        self.feature_names_in_ = state.encoding.names
        self.n_features_in_ = len(state.encoding.covariates)
        self.history_ = state.history
        self.card_ = state.card
        self.network_ = state.network
        if state.error is not None:
            raise state.error
        return self

    def _remember_names(self, encoding: Encoding) -> None:
        """Set the words in which causes, times and covariates are shown."""
        self.cause_names_ = names_of_causes(self.causes_, self.cause_names)
        self.time_unit_ = str(self.time_unit)
        self.covariate_labels_ = {each.name: each.shown for each in encoding.covariates}

    def _forecast(self) -> Forecast:
        return Forecast(
            self.network_,
            self.encoding_,
            self.time_grid_,
            self.prediction_batch_size,
            choose_device(self.device),
        )

    def _curves(
        self,
        X: Any,
        times: ArrayLike | None,
        after: ArrayLike | None,
        extrapolate: str,
        return_std: bool,
        curve: Curve,
    ) -> Any:
        check_is_fitted(self)
        asked, outside = read_times(times, self.time_grid_, extrapolate)
        with threads(self.n_threads):
            mean, deviation = self._forecast().curve(X, asked, curve, after, return_std)
        if deviation is None:
            return _blank(mean, outside)
        return _blank(mean, outside), _blank(deviation, outside)

    def _framed(
        self, X: Any, found: Any, kind: str, times: ArrayLike | None, cause: Any = None
    ) -> Any:
        """Put curves, and their deviations where they were asked for, into a named frame."""
        asked = self.time_grid_ if times is None else times
        causes = self.causes_ if cause is None else [cause]
        columns = column_names(kind, asked, () if kind == SURVIVAL else causes)
        values, deviation = found if isinstance(found, tuple) else (found, None)
        return prediction_frame(X, columns, values, deviation)

    def _functions(
        self, X: Any, times: ArrayLike | None, average: Average, causes: Sequence[int | None]
    ) -> NDArray[np.object_]:
        """Averaged curves as functions, shape (subject, cause)."""
        check_is_fitted(self)
        knots, _ = read_times(times, self.time_grid_, "raise")
        with threads(self.n_threads):
            hazards = self._forecast().each(X, 1, lambda hazard: hazard.transpose(0, 1))
        functions = [
            [CurveFunction(knots, hazard, self.time_grid_, average, cause) for cause in causes]
            for hazard in hazards
        ]
        return np.array(functions, dtype=object)

    def _cause_index(self, cause: Any) -> Any:
        """Where a cause lies on the cause axis; all of it for None."""
        if cause is None:
            return slice(None)
        if cause not in self.causes_:
            raise DataError(f"cause must be one of {self.causes_}; got {cause!r}.")
        return self.causes_.index(cause)


def _require_plain(conditional_after: ArrayLike | None, return_std: bool) -> None:
    """Refuse what a function of time does not know."""
    if conditional_after is not None or return_std:
        raise SettingError(
            "return_array=False gives curves from time 0, without deviations; got "
            "conditional_after or return_std. Leave them out, or predict an array."
        )


def _blank(values: Array, outside: NDArray[np.bool_] | None) -> Array:
    """Put NaN at the times that lie outside the grid."""
    return values if outside is None else np.where(outside, np.nan, values)
