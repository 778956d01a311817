"""SurvTRACE: a table of patients in, coherent survival and incidence curves out."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from survtrace import curves
from survtrace.data.batches import Cohort, Draws, draw_validation
from survtrace.data.covariates import infer_covariates, open_table
from survtrace.data.encoding import Encoded, learn_encoding
from survtrace.data.outcome import Outcome, informative, read_outcome, require_same_subjects
from survtrace.data.time_grid import checked_cuts, locate, quantile_cuts, warn_of_sparse_causes
from survtrace.errors import DataError, DataWarning, SettingError, TrainingError
from survtrace.losses.level import baseline_logits
from survtrace.losses.objective import Tasks
from survtrace.losses.propensity import ips_weights, propensities
from survtrace.network.assembly import Network, Shape
from survtrace.training.checkpoint import Checkpoint
from survtrace.training.level import recalibrate
from survtrace.training.loop import Plan, train

Array = NDArray[np.float64]
OUTCOME_DEPENDENT = ("paper", "events", "stabilised")


class SurvTRACE(BaseEstimator):  # type: ignore[misc]
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
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        token_dropout: float = 0.1,
        head_dropout: float = 0.2,
        lr: float = 1e-3,
        weight_decay: float = 1e-4,
        clip_norm: float = 1.0,
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
        zero_duration: str = "raise",
        checkpoint_dir: str | Path | None = None,
        prediction_batch_size: int = 4096,
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
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.token_dropout = token_dropout
        self.head_dropout = head_dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
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
        self.zero_duration = zero_duration
        self.checkpoint_dir = checkpoint_dir
        self.prediction_batch_size = prediction_batch_size
        self.device = device
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, eval_set: Any = None) -> Self:
        outcome = read_outcome(y, zero_duration=self.zero_duration)
        table = open_table(X)
        require_same_subjects(len(table), outcome)
        keep = np.flatnonzero(informative(outcome))
        table, outcome = table[keep], outcome.take(keep)
        covariates = infer_covariates(table, self.categorical)
        base = int(check_random_state(self.random_state).randint(2**31))
        seeds = [int(s) for s in np.random.SeedSequence(base).generate_state(self.n_members)]
        draws = draw_validation(outcome.event, self.validation_fraction, seeds)
        used = np.unique(draws.training)
        encoding = learn_encoding(table[used], covariates)
        cuts = quantile_cuts(outcome.take(used), self.n_intervals)
        encoded = encoding.encode(table)
        interval, fraction = locate(outcome.duration, cuts)
        w = np.ones(len(outcome)) if sample_weight is None else np.asarray(sample_weight)[keep]
        K, m = len(outcome.causes), len(cuts)-1
        pi = np.ones((len(outcome), K)) if self.ips == "none" else propensities(encoded, outcome.event, K, used, self.ips_clip)
        ips = ips_weights(self.ips, pi, outcome.event)
        t = outcome.duration
        stay = (t - t[used].mean()) / t[used].std()
        f = lambda a: torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32))
        i = lambda a: torch.from_numpy(np.ascontiguousarray(a)).long()
        cohort = Cohort(i(encoded.rows), f(encoded.values), i(interval), f(fraction), i(outcome.event), f(stay), f(w), f(ips))
        shape = Shape(self.n_members, int(encoding.first_rows[-1]), len(covariates), K, m, encoding.silent_rows, self.width, self.depth, self.n_heads, self.hidden, self.head_depth, self.dropout, self.attention_dropout, self.token_dropout, self.head_dropout)
        network = Network(shape)
        u = torch.from_numpy(used)
        network.initialise(seeds, baseline_logits(cohort.interval[u], cohort.fraction[u], cohort.event[u], cohort.weight[u], K, m))
        plan = Plan(self.lr, self.weight_decay, self.batch_size if self.batch_size!="auto" else 64, self.max_epochs, self.patience, self.clip_norm, Tasks(self.mortality_weight, self.stay_weight, self.anneal), seeds, base)
        self.history_ = train(network, cohort, draws, plan, False).frame()
        self.network_, self.encoding_, self.time_grid_ = network, encoding, cuts
        return self

    @torch.no_grad()
    def predict_survival_function(self, X, times):
        e = self.encoding_.encode(open_table(X))
        h = self.network_.hazards(torch.from_numpy(e.rows).long(), torch.from_numpy(e.values)).double()
        c = torch.from_numpy(self.time_grid_)
        return curves.survival(h, curves.place(torch.as_tensor(times, dtype=torch.float64).view(1,-1), c)).mean(0).numpy()
