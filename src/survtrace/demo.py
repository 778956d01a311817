"""The main job on the embedded data: fit flchain's competing causes, score, draw."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

from survtrace.baselines import AalenJohansen, CauseSpecificCox
from survtrace.datasets import FLCHAIN_CAUSES, load_flchain
from survtrace.estimator import SurvTRACE, require_whole_fit
from survtrace.evaluation.score_table import score_rows, score_table
from survtrace.explain import permutation_importance
from survtrace.files import replacing
from survtrace.metrics import calibration_curve, censoring_survival
from survtrace.plots import (
    COLOURS,
    plot_calibration,
    plot_history,
    plot_importance,
    plot_incidence,
    plot_stacked,
)
from survtrace.tables.outcome.outcome import read_outcome

DEFAULTS: dict[str, Any] = {}  # the demo shows the default settings; tests make it small
DAYS_IN_A_YEAR, GROUPS, SHUFFLED = 365.25, 6, 1000


def run_demo(folder: Path, console: Console) -> pd.DataFrame:
    """Fit, score against Aalen-Johansen and cause-specific Cox, and draw to ``folder``."""
    began = time.perf_counter()
    X, y = load_flchain()
    train, test = train_test_split(
        range(len(X)), test_size=0.3, random_state=0, stratify=y["event"]
    )
    console.print(
        f"flchain: {len(X)} people, {X.shape[1]} covariates, four competing causes of death; "
        f"{len(train)} to learn from, {len(test)} to score on."
    )
    training = X.iloc[train], y.iloc[train]
    est = SurvTRACE(random_state=0, **DEFAULTS).fit(*training)
    require_whole_fit(est)
    if est.interval_ is None:  # Ctrl-C while they were learned, of which `fit` only warns
        raise KeyboardInterrupt
    best = est.history_[est.history_["improved"]].groupby("member")["epoch"].max().astype(int)
    console.print(
        f"SurvTRACE: {est.n_members} members trained together in "
        f"{time.perf_counter() - began:.0f} s, stopped after epochs "
        f"{', '.join(map(str, best))}."
    )
    methods: dict[str, Any] = {
        "SurvTRACE": est,
        "Aalen-Johansen": AalenJohansen().fit(*training),
        "cause-specific Cox": CauseSpecificCox(ridge="search", pool_below=10).fit(*training),
    }
    X, y, censoring = X.iloc[test], y.iloc[test], censoring_survival(training[1])
    times = np.append(est.score_times_, est.median_event_time_)
    # Of each cause: concordance at the last time, Brier score integrated over the others.
    when, tables = (times, est.causes_, times[-1:], times[:-1], censoring), []
    incidences = {}
    for name, method in methods.items():
        incidences[name] = method.predict_cumulative_incidence(X, times)
        rows = score_rows(read_outcome(y), incidences[name], *when, scores=("C", "IBS"))
        tables.append(score_table(rows).assign(method=name))
    scores = pd.concat(tables, ignore_index=True)
    console.print(_table(scores, est.median_event_time_))
    for path in _draw(folder, est, X, y, incidences["SurvTRACE"][..., -1]):
        console.print(f"wrote {path}")
    console.print(f"done in {time.perf_counter() - began:.0f} s")
    return scores


def _table(scores: pd.DataFrame, horizon: float) -> Table:
    table = Table(
        title="Scores on held-out people, with 95 % intervals",
        caption=f"C: cause-specific IPCW concordance by day {horizon:.0f}, higher is better.\n"
        "IBS: integrated Brier score x 1000, lower is better.",
    )
    for name in ("cause", "method", "C", "IBS"):
        table.add_column(name, justify="left" if name in ("cause", "method") else "right")
    for cause in scores["cause"].unique():
        shown = FLCHAIN_CAUSES[cause]
        for method, found in scores[scores["cause"] == cause].groupby("method", sort=False):
            table.add_row(shown, str(method), *map(_with_interval, found.itertuples()))
            shown = ""
        table.add_section()
    return table


def _with_interval(row: Any) -> str:
    factor, digits = (1000, 1) if row.score == "IBS" else (1, 3)
    value, low, high = (f"{factor * x:.{digits}f}" for x in (row.value, row.low, row.high))
    return f"{value} ({low}-{high})"


def _draw(
    folder: Path, est: SurvTRACE, X: pd.DataFrame, y: pd.DataFrame, incidence: NDArray[np.float64]
) -> Iterator[Path]:
    """Write the figures as PNG; ``incidence`` is that of each cause by the median event time."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in (
        ("curves", _draw_patients(est, X)),
        ("importance", _draw_importance(est, X, y)),
        ("calibration", _draw_calibration(est, y, incidence)),
        ("history", _draw_history(est)),
    ):
        path = folder / f"{name}.png"
        with replacing(path) as part:
            figure.savefig(part, dpi=150, format="png")
        yield path


def _draw_patients(est: SurvTRACE, X: pd.DataFrame) -> Any:
    """Draw the curves of three people: of low, middle and high predicted risk."""
    import matplotlib.pyplot as plt

    order, places = np.argsort(est.predict(X)), {"low": 0.1, "middle": 0.5, "high": 0.9}
    patients = [(name, X.iloc[[order[int(p * len(order))]]]) for name, p in places.items()]
    days, causes = np.linspace(0, est.time_grid_[-1], 200), [FLCHAIN_CAUSES[c] for c in est.causes_]
    figure, axes = plt.subplots(
        2, len(patients), figsize=(11, 6.4), layout="constrained", sharex=True, sharey="row"
    )
    tops = []
    for (name, patient), above, below in zip(patients, *axes, strict=True):
        incidence = est.predict_cumulative_incidence(patient, days)
        low, high = est.predict_interval(patient, days)
        who = f"{name} risk: {patient['sex'].iloc[0]}, {patient['age'].iloc[0]:.0f} years"
        curves = (days / DAYS_IN_A_YEAR, incidence[0], causes)
        plot_incidence(*curves, interval=(low[0], high[0]), title=who, ax=above)
        plot_stacked(*curves, unit="years", ax=below)
        tops.append(high.max())
        above.set_xlabel("")
    axes[0, 0].set_ylim(0, min(1.0, 1.05 * max(tops)))  # one scale: they are to be compared
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _draw_importance(est: SurvTRACE, X: pd.DataFrame, y: pd.DataFrame) -> Any:
    """Draw what the predictions rely on, all causes on one scale."""
    import matplotlib.pyplot as plt

    some = np.random.default_rng(0).permutation(len(X))[:SHUFFLED]
    table = permutation_importance(est, X.iloc[some], y.iloc[some], n_repeats=3, random_state=0)
    order = table.groupby("covariate")["importance"].max().sort_values(ascending=False).index
    middle, low, high = (
        1000 * table.pivot_table(name, index="cause", columns="covariate")[order]
        for name in ("importance", "low", "high")
    )
    figure, axes = plt.subplots(
        1, len(middle), figsize=(12, 3.6), layout="constrained", sharex=True, sharey=True
    )
    for k, (cause, ax) in enumerate(zip(middle.index, np.atleast_1d(axes), strict=True)):
        plot_importance(
            middle.loc[cause],
            low.loc[cause],
            high.loc[cause],
            list(order),
            xlabel="",
            title=FLCHAIN_CAUSES[cause],
            ordered=True,
            colour=COLOURS[k],
            ax=ax,
        )
    figure.supxlabel("rise of the integrated Brier score x 1000 when the covariate is shuffled",
                     fontsize="medium")  # fmt: skip
    figure.suptitle("what the predictions rely on, with 95 % intervals")
    return figure


def _draw_calibration(est: SurvTRACE, y: pd.DataFrame, incidence: NDArray[np.float64]) -> Any:
    import matplotlib.pyplot as plt

    horizon = est.median_event_time_
    curves = [
        calibration_curve(y, incidence[:, k], horizon, cause=cause, groups=GROUPS)
        for k, cause in enumerate(est.causes_)
    ]
    end = 1.05 * max(np.nanmax([each.predicted, each.high]) for each in curves)
    figure, axes = plt.subplots(
        1, len(curves), figsize=(12, 3.8), layout="constrained", sharey=True
    )
    for k, (curve, ax) in enumerate(zip(curves, np.atleast_1d(axes), strict=True)):
        plot_calibration(
            **vars(curve), colour=COLOURS[k], limit=end, title=FLCHAIN_CAUSES[est.causes_[k]], ax=ax
        )
        if k:
            ax.set_ylabel("")
    figure.suptitle(
        f"predicted and observed incidence by day {horizon:.0f}, with 95 % intervals of the latter"
    )
    return figure


def _draw_history(est: SurvTRACE) -> Any:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    plot_history(est.history_, title="each member stops at its own best epoch", ax=ax)
    return figure
