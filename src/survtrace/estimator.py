"""SurvTRACE: a table of patients in, coherent survival and incidence curves out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from survtrace.cohort.batch_source import MemorySource
from survtrace.cohort.card import model_card
from survtrace.cohort.prepare import Prepared, Subjects, checked_weight, prepare
from survtrace.cohort.prepare_files import Streamed, prepare_streamed, require_streamable
from survtrace.cohort.source import CohortFiles
from survtrace.errors import DataError
from survtrace.inference.methods import CurveMethods
from survtrace.inference.paths import Table
from survtrace.inference.predictor import Predictor, choose_device
from survtrace.losses.objective import Tasks
from survtrace.metrics import censoring_survival, integrated_brier_score
from survtrace.network.assembly import Network, Shape
from survtrace.settings import check_settings, names_of_causes
from survtrace.tables.covariates.covariates import open_table
from survtrace.tables.covariates.encoding import Encoding
from survtrace.tables.outcome.outcome import (
    Outcome,
    informative,
    read_outcome,
    require_same_subjects,
    warn_if_complete,
    warn_of_unknown_durations,
)
from survtrace.tables.outcome.pairing import pair, read_scored
from survtrace.tables.outcome.roles import Roles, is_path, names_columns, read_roles
from survtrace.tables.outcome.time_grid import end_follow_up
from survtrace.threads import threads
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.history import History
from survtrace.training.level import recalibrate
from survtrace.training.loop import Plan, train
from survtrace.training.unknown import Unknown, learn_unknown

Array = NDArray[np.float64]
Stream = Callable[..., AbstractContextManager[Streamed]]
OUTCOME_DEPENDENT = ("paper", "events", "stabilised")
NOT_IN_FINGERPRINT = (
    "cause_names",
    "checkpoint_dir",
    "max_epochs",
    "prediction_batch_size",
    "random_state",  # the seeds drawn from it are
    "time_unit",
    "verbose",
)


class SurvTRACE(CurveMethods, BaseEstimator):  # type: ignore[misc]
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

    def __init__(
        self,
        *,
        n_members: int = 8,
        n_intervals: int = 4,
        time_grid: ArrayLike | None = None,
        width: int = 16,
        depth: int = 3,
        n_heads: int = 2,
        hidden: int = 64,
        head_depth: int = 2,
        token_bias: bool = True,
        proportional: float = 3.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        token_dropout: float = 0.1,
        unknown_steps: int = 200,
        head_dropout: float = 0.2,
        lr: float = 1e-3,
        weight_decay: float = 1e-4,
        clip_norm: float = 1.0,
        averaging: float = 3.0,
        batch_size: int | str = "auto",
        max_epochs: int = 100,
        patience: int = 5,
        validation_fraction: float = 0.1,
        mortality_weight: float = 1.0,
        stay_weight: float = 1.0,
        anneal: int | None = 10,
        ips: str = "none",
        ips_clip: float = 0.01,
        recalibrate: bool | str = "auto",
        categorical: Sequence[str | int] | None = None,
        columns: Any = None,
        time_unit: str = "",
        cause_names: Mapping[Any, str] | None = None,
        zero_duration: str = "raise",
        checkpoint_dir: str | Path | None = None,
        prediction_batch_size: int | str = "auto",
        device: str = "auto",
        n_threads: int | None = None,
        random_state: Any = None,
        verbose: bool | str = "auto",
    ) -> None:
        self.n_members = n_members
        self.n_intervals = n_intervals
        self.time_grid = time_grid
        self.width = width
        self.depth = depth
        self.n_heads = n_heads
        self.hidden = hidden
        self.head_depth = head_depth
        self.token_bias = token_bias
        self.proportional = proportional
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.token_dropout = token_dropout
        self.unknown_steps = unknown_steps
        self.head_dropout = head_dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
        self.averaging = averaging
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.mortality_weight = mortality_weight
        self.stay_weight = stay_weight
        self.anneal = anneal
        self.ips = ips
        self.ips_clip = ips_clip
        self.recalibrate = recalibrate
        self.categorical = categorical
        self.columns = columns
        self.time_unit = time_unit
        self.cause_names = cause_names
        self.zero_duration = zero_duration
        self.checkpoint_dir = checkpoint_dir
        self.prediction_batch_size = prediction_batch_size
        self.device = device
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

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
        with (
            self._ready(X, y, sample_weight, eval_set) as (prepared, plan),
            threads(self.n_threads, plan.n_tokens(self._shape(prepared))),
        ):
            self._train(prepared, plan, self._checkpoint(prepared, plan))
        return self

    def score(self, X: Table, y: Any) -> float:
        """Minus the integrated Brier score, mean over causes: proper, and higher is better.

        Integrated between the 5 and 95 % quantiles of the training event times, weighted by the
        training rows' censoring survival. ``y`` as in `fit`; with a path it names columns.
        """
        predictor, more = self._predictor(), list[str]()
        times = self.score_times_[self.score_times_ <= self.censoring_.last_usable]
        if is_path(X):
            roles = read_roles(y)
            more = [roles.event, roles.duration]
            y = {"event": roles.event, "duration": roles.duration, "censored": roles.censored}

        def score_rows(rows: Table, first: int) -> tuple[float, int]:
            covariates, outcome = read_scored(self, rows, y)
            incidence, _ = predictor.curve(covariates, "incidence", times)
            require_same_subjects(len(incidence), outcome)
            losses = [
                integrated_brier_score(
                    outcome, incidence[:, k], times, cause=cause, y_train=self.censoring_
                )
                for k, cause in enumerate(self.causes_)
            ]
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
        """Whether `fit` has come to an end, or was broken off with something learned."""
        return hasattr(self, "network_")

    @contextmanager
    def _ready(
        self, X: Any, y: Any, sample_weight: Any, eval_set: Any, stream: Stream = prepare_streamed
    ) -> Iterator[tuple[Prepared | Streamed, Plan]]:
        """Check settings and data; all that training needs to know."""
        check_settings(self.get_params())
        base = int(check_random_state(self.random_state).randint(2**31))
        seeds = [int(seed) for seed in np.random.SeedSequence(base).generate_state(self.n_members)]
        with self._prepare(X, y, sample_weight, eval_set, seeds, stream) as prepared:
            names_of_causes(prepared.trained_on.causes, self.cause_names)  # refuses unknown labels
            yield prepared, self._plan(prepared, seeds, base)

    @contextmanager
    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        eval_set: Any,
        seeds: list[int],
        stream: Stream,
    ) -> Iterator[Prepared | Streamed]:
        """The cohort in memory or, of a path, on disk as long as it is needed."""
        common: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "categorical",
                "columns",
                "n_intervals",
                "time_grid",
                "validation_fraction",
            )
        }
        if is_path(X):
            require_streamable(
                self.ips, self.recalibrate, sample_weight=sample_weight, eval_set=eval_set
            )
            files = CohortFiles(Path(X), read_roles(y))
            with stream(files, seeds=seeds, zero_duration=self.zero_duration, **common) as streamed:
                yield _beside(streamed, files.roles)
            return
        subjects = self._read_subjects(X, y, sample_weight)
        evaluation = None if eval_set is None else self._read_evaluation(eval_set, subjects.outcome)
        prepared = prepare(
            subjects, evaluation, seeds=seeds, ips=self.ips, ips_clip=self.ips_clip, **common
        )
        yield _beside(prepared, read_roles(y)) if names_columns(y) else prepared

    def _read_subjects(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Subjects:
        """Check table, outcome and weights once; leave out subjects without any follow-up."""
        given = pair(X, y, sample_weight)
        table = open_table(given.X)
        if len(table) == 0 or len(table.columns) == 0:
            lacking = "feature" if len(table) else "sample"
            raise DataError(
                f"X must have subjects and covariates; got 0 {lacking}(s) (shape={table.shape}) "
                "while a minimum of 1 is required. Check how it was read."
            )
        if len(table) < 2:
            raise DataError("fit needs at least two subjects; got 1 sample. Predicting takes one.")
        weight = checked_weight(given.sample_weight, len(table))
        outcome = read_outcome(
            given.y,
            censored=given.censored,
            event_name=given.event_name,
            zero_duration=self.zero_duration,
        )
        require_same_subjects(len(table), outcome)
        warn_of_unknown_durations(outcome)
        if given.censored is None:
            warn_if_complete(outcome)
        kept = np.flatnonzero(informative(outcome))
        if len(kept) < len(outcome):
            table, outcome, weight = table[kept], outcome.take(kept), weight[kept]
        return Subjects(table, outcome, weight)

    def _read_evaluation(self, eval_set: Any, trained_on: Outcome) -> Subjects:
        try:
            X, y = eval_set
        except (TypeError, ValueError):
            raise DataError("eval_set must be a pair (X, y).") from None
        given = pair(X, y)
        outcome = read_outcome(
            given.y,
            causes=trained_on.causes,
            censored=trained_on.censored if given.censored is None else given.censored,
            zero_duration=self.zero_duration,
        )
        table = open_table(given.X)
        require_same_subjects(len(table), outcome)
        if len(table) == 0:
            raise DataError("eval_set must have at least one subject; got 0. Leave it out.")
        return Subjects(table, outcome, checked_weight(given.sample_weight, len(table)))

    def _plan(self, prepared: Prepared | Streamed, seeds: list[int], base: int) -> Plan:
        return Plan(
            lr=self.lr,
            weight_decay=self.weight_decay,
            batch_size=automatic_batch_size(prepared.n_training)
            if self.batch_size == "auto"
            else int(self.batch_size),
            max_epochs=self.max_epochs,
            patience=self.patience,
            clip_norm=self.clip_norm,
            averaging=self.averaging,
            tasks=Tasks(self.mortality_weight, self.stay_weight, self.anneal),
            seeds=seeds,
            dropout_seed=base,
        )

    def _checkpoint(self, prepared: Prepared | Streamed, plan: Plan) -> Checkpoint | None:
        if self.checkpoint_dir is None:
            return None
        return Checkpoint(self.checkpoint_dir, self._fingerprint(prepared, plan))

    def _train(
        self, prepared: Prepared | Streamed, plan: Plan, checkpoint: Checkpoint | None
    ) -> None:
        """Train a network; whatever ends the training, the best so far is kept."""
        network = self._network(prepared, plan.seeds)
        device = network.level.device
        batch_source = prepared.batch_source(plan.dropout_seed, plan.seeds, plan.batch_size, device)
        history = History()
        try:
            train(network, batch_source, plan, history, self.verbose, checkpoint)
            if not history.interrupted:
                unknown = Unknown.of(prepared.encoding, prepared.counts)
                learn_unknown(network, batch_source, unknown, self.unknown_steps, plan.dropout_seed)
        finally:
            if history.records:
                wanted = self.ips in OUTCOME_DEPENDENT
                wanted = wanted if self.recalibrate == "auto" else bool(self.recalibrate)
                if wanted and isinstance(batch_source, MemorySource):
                    recalibrate(network, batch_source)
                self._remember(prepared, network, history)

    def _network(self, prepared: Prepared | Streamed, seeds: list[int]) -> Network:
        network = Network(self._shape(prepared))
        network.initialise(seeds)
        return network.to(choose_device(self.device))

    def _shape(self, prepared: Prepared | Streamed) -> Shape:
        encoding = prepared.encoding
        return Shape(
            n_members=int(self.n_members),
            n_rows=int(encoding.first_rows[-1]),
            n_tokens=len(encoding.covariates),
            n_causes=len(prepared.trained_on.causes),
            n_intervals=len(prepared.cuts) - 1,
            silent_rows=encoding.silent_rows,
            width=int(self.width),
            depth=int(self.depth),
            n_heads=int(self.n_heads),
            hidden=int(self.hidden),
            head_depth=int(self.head_depth),
            token_bias=bool(self.token_bias),
            proportional=float(self.proportional),
            dropout=float(self.dropout),
            attention_dropout=float(self.attention_dropout),
            token_dropout=float(self.token_dropout),
            head_dropout=float(self.head_dropout),
        )

    def _remember(self, prepared: Prepared | Streamed, network: Network, history: History) -> None:
        """Set what a fitted estimator knows."""
        trained_on = prepared.trained_on
        on_grid = end_follow_up(trained_on, prepared.cuts[-1])
        event_times = on_grid.duration[on_grid.event > 0]
        self.causes_ = list(trained_on.causes)
        self.censored_ = list(trained_on.censored)
        self._remember_names(prepared.encoding)
        self.encoding_ = prepared.encoding
        self.time_grid_ = prepared.cuts
        self.median_event_time_ = float(np.median(event_times))
        self.score_times_ = _score_times(event_times)
        self.censoring_ = censoring_survival(trained_on)
        self.feature_names_in_ = prepared.encoding.names
        self.n_features_in_ = len(prepared.encoding.covariates)
        self.history_ = history.frame()
        self.card_ = model_card(prepared.counts, interrupted=history.interrupted)
        self.network_ = network

    def _remember_names(self, encoding: Encoding) -> None:
        """Set the words in which causes, times and covariates are shown."""
        self.cause_names_ = names_of_causes(self.causes_, self.cause_names)
        self.time_unit_ = str(self.time_unit)
        self.covariate_labels_ = {each.name: each.shown for each in encoding.covariates}

    def _fingerprint(self, prepared: Prepared | Streamed, plan: Plan) -> str:
        """Identifies data and settings, so that a checkpoint is not taken for another fit's."""
        settings = {k: v for k, v in self.get_params().items() if k not in NOT_IN_FINGERPRINT}
        digest = hashlib.sha256(
            repr((sorted(settings.items()), plan.seeds, plan.dropout_seed)).encode()
        )
        for part in prepared.content():
            digest.update(part)
        return digest.hexdigest()

    def _predictor(self) -> Predictor:
        check_is_fitted(self)
        return Predictor(
            self.network_,
            self.encoding_,
            self.time_grid_,
            self.prediction_batch_size,
            choose_device(self.device),
            self.n_threads,
        )


def _beside(prepared: Any, roles: Roles) -> Any:
    """The same cohort, of a table that may hold the columns of these roles in a prediction too."""
    encoding = prepared.encoding.leaving_out(roles.named)
    if isinstance(prepared, Streamed):
        return prepared._replace(layout=replace(prepared.layout, encoding=encoding))
    return prepared._replace(encoding=encoding)


def automatic_batch_size(n_rows: int) -> int:
    """About a hundredth of the training rows, as a power of two from 64 to 1024.

    Examples
    --------
    >>> [automatic_batch_size(n) for n in (1_200, 20_000, 286_000)]
    [64, 128, 1024]
    """
    return int(2 ** np.clip(np.floor(np.log2(max(n_rows, 1) / 100)), 6, 10))


def _score_times(event_times: Array) -> Array:
    """A hundred times between the 5 and 95 % quantiles of the event times."""
    first, last = np.quantile(event_times, [0.05, 0.95])
    return np.unique(np.linspace(first, last, 100)) if last > first else np.array([0.0, last])
