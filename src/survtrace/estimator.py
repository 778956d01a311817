"""SurvTRACE: a table of patients in, coherent survival and incidence curves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from survtrace.cohort.file_source import FileSource, Source, require_streamable
from survtrace.cohort.source import read_frame
from survtrace.errors import memory_errors
from survtrace.inference.certainty_methods import CertaintyMethods
from survtrace.inference.interval import IntervalScale
from survtrace.inference.landmark_score import landmark_brier_score
from survtrace.inference.predictor import Predictor, choose_device
from survtrace.metrics.brier import integrated_brier_scores
from survtrace.metrics.censoring import CensoringSurvival, censoring_survival, of_same_kind
from survtrace.network.assembly import Network
from survtrace.rules import SEED, check_value
from survtrace.settings import check_settings, names_of_causes
from survtrace.tables.covariates.encoding import Encoded, Encoding
from survtrace.tables.files.formats import read_table
from survtrace.tables.outcome.outcome import require_same_subjects
from survtrace.tables.outcome.pairing import read_scored
from survtrace.tables.outcome.roles import read_roles
from survtrace.tables.table import Table, is_path
from survtrace.training.cross_fitting import Question
from survtrace.training.fit import Cluster, fit
from survtrace.training.local_rows import read_local_rows
from survtrace.training.typicality import learn_typicality
from survtrace.training.update import TRAINED, check_way, update

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class SurvTRACE(CertaintyMethods, BaseEstimator):  # type: ignore[misc]
    """Transformer over covariates that learns each cause's hazard over time.

    One estimator for one event and for competing causes. Covariates come as a raw frame:
    categories, text and missing values are handled inside. Curves are coherent by construction:
    event-free probability and the causes' incidences sum to 1 and never turn back.

    Parameters
    ----------
    n_members
        Networks trained together, each with its own initial parameters and validation draw;
        their curves are averaged. The paper has one.
    n_intervals
        Intervals of constant hazard, cut at even quantiles of the event times. Where the grid is
        longer than the follow-up of a subject, as with age as the clock, it has as many times more
        (20 events in each at least).
    time_grid
        Cut points of your own instead. Follow-up ends with the last: later events are not learned
        from, and their subjects are censored there, with a warning that counts them.
    width, depth, n_heads, hidden, head_depth
        Size of a token, number of encoder layers (0: no attention, tokens go straight to the
        representation), attention heads, inner size of the feed-forward networks and heads,
        layers of each head (1 or 2).
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
        ``batch_size="auto"`` grows with the table, from 64 to 1024; it counts subjects, whatever
        the number of their rows.
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
        fitted after the training, as it is without dropout and weights, so that the mean incidence
        is that of the table ("auto", as earlier versions had it, is True).
    intervals
        Whether to learn after the training how far predictions may be from the truth, as
        `predict_interval` needs: about half of the time of the training more. The network is the
        same either way. Not learned from files, from start-stop rows or with weights (``ips``).
    categorical
        Columns (names or numbers) to treat as categorical whatever their dtype.
    columns
        Data dictionary: a mapping from names of columns to what is known of them, ``{"age":
        {"kind": "numerical", "unit": "years", "low": 0, "high": 120}}``, or the path of a CSV
        file with the columns name, kind (numerical, categorical, ignore, identifier, date, text),
        unit, label, levels, missing, low, high, decimal. Columns that are not named are inspected:
        identifiers, dates and free text are left out, numbers written as text are read, and one
        warning says so.
    time_unit, time_name, cause_names
        Unit of durations, a name of the clock where it is not the time since the origin of
        everybody's follow-up ("age"), and a text to show for each cause (``{1: "relapse"}``).
    about
        What a reader must know and no table holds, for the model card and the checklist of a
        validation: ``{"dates": "2004 to 2015", "place": "two hospitals in Leiden"}``. The topics
        are in the guide on validation.
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
        Cut points from 0, or from the earliest entry if all entered later; beyond the last,
        curves are constant.
    entry_ : tuple or None
        Earliest, median and latest time at which a subject's observation began; None where all
        began at 0.
    has_start_stop_ : bool
        Whether the fit had subjects with several rows.
    feature_names_in_, n_features_in_
        Covariates, in token order.
    cause_names_, time_unit_, time_name_, covariate_labels_
        What to show: a text for each cause, the unit of durations, the name of the clock, and
        "label (unit)" for each covariate.
    history_ : DataFrame
        Losses of each epoch and member.
    interval_ : IntervalScale or None
        What `predict_interval` knows of the errors of predictions; None where it was not learned.
    card_ : dict
        When it was fitted, on how many subjects, events and missing values, their follow-up, what
        ``about`` said, and whether the fit was interrupted; no value of any subject. Empty for a
        model saved by an earlier version.
    typicality_ : Typicality or None
        How usual patients are among those learned from, for `typicality`; None where there were
        fewer than 20, or for a model saved by an earlier version.
    updates_ : list of dict
        What `update` did, one entry for each call: when, by how many rows and events, in which
        way, and the scores of the ways that were compared.

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
    recalibrate: bool | str = True
    intervals: bool = True
    categorical: Sequence[str | int] | None = None
    columns: Any = None
    time_unit: str = ""
    time_name: str | None = None
    cause_names: Mapping[Any, str] | None = None
    about: Mapping[str, str] | None = None
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
            a mapping or a structured array. Where observation began after 0, also ``entry``,
            counted from the same origin as ``duration``; where covariates change, several rows of
            a subject, each from its entry on, and ``id``. Or names of columns of X:
            ``{"event": "cause", "duration": "months"}``, also ``"entry"``, ``"id"``, ``"weight"``
            and ``"drop"``; all others are covariates. ``"censored"`` beside them names the labels
            that mean censored, where the usual words (0, alive, lost, none, ...) do not.
        sample_weight
            Weight of each subject in every loss, the same in all its rows.
        eval_set
            ``(X, y)`` to stop by; by default each member draws its own from the table.
        """
        return self._fit(X, y, sample_weight, eval_set)

    def update(
        self, X: Any, y: Any, how: str = "auto", *, n_folds: int = 5, random_state: Any = None
    ) -> Self:
        """Bring the fitted estimator to another place, by subjects of that place.

        Time grid, covariates and causes stay those of the fit: a category that it has not seen
        stays unseen, a cause it has not seen is refused. `updates_` tells what was done. Afterwards
        `predict_interval` knows no intervals, scores weight by the censoring of the new place, and
        `typicality` is that among its patients where the network was trained by them.

        Parameters
        ----------
        X, y
            Subjects of the new place, as in `fit`: also with entry and start-stop rows, and from
            a file, which is read whole.
        how
            ``"none"``: nothing is changed. ``"level"``: the hazards of each cause are multiplied
            by one factor. ``"slope"``: they are also raised to a power, which sets subjects further
            apart or closer together. ``"heads"``: the heads of the causes are trained further, from
            where they are. ``"whole"``: so is the whole network, with smaller steps. ``"auto"``:
            the simplest of these whose integrated Brier score, on rows that it was not updated by,
            is within one standard error of the best; nothing, if nothing is clearly better.
        n_folds
            Folds in which the rows are held out in turn, by subject, to compare before and after.
        random_state
            Seed; by default that of the estimator.

        Examples
        --------
        >>> from survtrace.datasets import make_cohort
        >>> X, y = make_cohort(600, proportions=(0.4, 0.2), random_state=0)
        >>> est = SurvTRACE(n_members=2, max_epochs=2, random_state=0, verbose=False)
        >>> est.fit(X[:300], y[:300]).update(X[300:], y[300:], how="level").updates_[0]["how"]
        'level'
        """
        predictor = self._predictor()
        check_settings(self.get_params())  # they may have been changed since the fit
        check_way(how, n_folds)
        local = read_local_rows(self, X, y, predictor.encode)  # warns of far values as predict does
        given = self.random_state if random_state is None else random_state
        check_value("random_state", given, SEED)

        def predict(network: Network, encoded: Encoded, question: Question) -> Array:
            start = question.after or 0.0
            return replace(predictor, network=network).curve_of(
                encoded, "incidence", start + question.times, after=question.after
            )[0]

        updated = update(
            predictor.network.to(predictor.device),
            local,
            how,
            SimpleNamespace(**self.get_params()),
            predict,
            n_folds,
            int(check_random_state(given).randint(2**31)),
        )
        if updated.record["how"] != "none":
            # Scores are now weighted by the censoring there. How far predictions may be from the
            # truth there is not known: fits to simulated outcomes do not tell what an old model
            # gets wrong at a new place.
            self.censoring_: CensoringSurvival = censoring_survival(local.outcome)
            self.interval_ = None
        if updated.record["how"] in TRAINED:  # else it has learned from the old patients alone
            self.typicality_ = learn_typicality(local.cohort(self.validation_fraction, [0, 1]))
        self.network_: Network = updated.network
        self.updates_: list[dict[str, Any]] = [*self.updates_, updated.record]
        return self

    def score(self, X: Table, y: Any) -> float:
        """Compute minus the integrated Brier score, mean over causes: proper, higher is better.

        Integrated between the 5 and 95 % quantiles of the training event times, weighted by the
        training rows' censoring survival. ``y`` as in `fit`; with a path it names columns.

        With entry, also of start-stop rows, it is the mean of such scores at two landmarks, the
        10 and 50 % quantiles of the event times in ``y``: those under observation there are
        predicted from what is known of them then, and scored from it on.
        """
        predictor, more = self._predictor(), list[str]()
        times = self.censoring_.usable(self.score_times_)
        if is_path(X):
            roles = read_roles(y)
            more = list(roles.outcome)
            y = {**{role: name for name, role in roles.outcome.items()}, "censored": roles.censored}
            if roles.entry is not None:  # a landmark compares all who are under observation then
                X = read_table(X)[[*more, *self.feature_names_in_]]

        def score_rows(rows: Table, first: int) -> tuple[float, int]:
            covariates, outcome = read_scored(self, rows, y)
            if outcome.entry is not None:
                return landmark_brier_score(self, covariates, outcome), len(outcome)
            incidence, _ = predictor.curve(covariates, "incidence", times)
            require_same_subjects(len(incidence), outcome)
            weights = of_same_kind(self.censoring_, outcome)
            losses = integrated_brier_scores(
                outcome, incidence, times, self.causes_, y_train=weights
            )
            return float(np.mean(losses)), len(incidence)

        # A score is a mean over subjects: that of a table is that of its chunks, by their size.
        losses, sizes = zip(*predictor.in_chunks(X, score_rows, more), strict=True)
        return -float(np.dot(losses, np.divide(sizes, sum(sizes))))

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
        """Tell whether `fit` has come to an end, or was broken off with something learned."""
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
        with memory_errors("fit", "Take smaller batches or fewer rows, or fit from Parquet files."):
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
        self.interval_ = None if state.interval is None else IntervalScale(**state.interval)
        self.entry_, self.has_start_stop_ = state.entry, state.has_start_stop
        self.typicality_ = state.typicality
        self.updates_ = []
        self.network_ = state.network
        if state.error is not None:
            raise state.error
        return self

    def _remember_names(self, encoding: Encoding) -> None:
        """Set the words in which causes, times and covariates are shown."""
        self.cause_names_ = names_of_causes(self.causes_, self.cause_names)
        self.time_unit_, self.time_name_ = str(self.time_unit), self.time_name
        self.covariate_labels_ = {each.name: each.shown for each in encoding.covariates}

    def _predictor(self) -> Predictor:
        check_is_fitted(self)
        batch_size, n_threads = self.prediction_batch_size, self.n_threads
        check_settings({"prediction_batch_size": batch_size, "n_threads": n_threads})
        return Predictor(
            self.network_,
            self.encoding_,
            self.time_grid_,
            batch_size,
            choose_device(self.device),
            n_threads,
            self.typicality_,
        )


def require_whole_fit(est: Any) -> None:
    """Raise KeyboardInterrupt where a fit was interrupted, which `fit` itself only warns of.

    What makes many fits must not take a fit that was broken off for a whole one.
    """
    if getattr(est, "card_", {}).get("interrupted"):
        raise KeyboardInterrupt
