"""The paper's figures: auxiliary tasks by horizon, attention of two patients, curves beside CPH."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from survtrace.baselines import CoxPH
from survtrace.errors import DataError, DataWarning
from survtrace.estimator import SurvTRACE, require_whole_fit
from survtrace.files import replacing
from survtrace.metrics import corrected_t_test
from survtrace.plots import GREY, plot_attention, plot_differences, plot_survival
from survtrace.study.protocol import load_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = "SurvTRACE"
WITHOUT = {
    "w/o MTL": "without both tasks",
    "w/o MP": "without mortality",
    "w/o LS": "without length of stay",
}
HORIZONS = {"C25": "25 %", "C50": "50 %", "C75": "75 %"}
NAMES = {"metabric": "METABRIC", "support": "SUPPORT", "er_positive": "ER positive"}
ENDS = {"uncensored": "event", "censored": "last seen"}
TREATMENTS = ("hormone_treatment", "radiotherapy", "chemotherapy")


def paper_figures(folder: Path, scores_csv: Path | None = None, **settings: Any) -> list[Path]:
    """Fit SurvTRACE and CPH on METABRIC's first split and draw the paper's figures as PNG.

    Parameters
    ----------
    folder
        Where ``paper_attention.png``, ``paper_patients.png`` and ``paper_ablation.png`` go.
    scores_csv
        Scores of the study "ablation"; without them its figure is left out.
    settings
        Of `SurvTRACE`, where they shall not be the default ones.

    Returns
    -------
    list of Path
        The files written.
    """
    figures = {}
    if scores_csv is not None:
        figures["ablation"] = ablation_figure(pd.read_csv(scores_csv))
    task = load_task("metabric")
    learn, test = task.splits[0].learn, task.splits[0].test
    X, y = task.X.iloc[learn], task.y.iloc[learn]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # one subject is censored at duration 0
        est = SurvTRACE(**{"random_state": 0, "verbose": False, **settings}).fit(X, y)
        require_whole_fit(est)
        cox = CoxPH().fit(X, y)
    X, y = task.X.iloc[test], task.y.iloc[test]
    figures["attention"] = attention_figure(est, X, y)
    figures["patients"] = patients_figure(est, cox, X, y, unit="months")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"paper_{name}.png" for name in figures]
    for path, figure in zip(paths, figures.values(), strict=True):
        with replacing(path) as part:
            figure.savefig(part, dpi=180, format="png")
    return paths


def ablation_figure(scores: pd.DataFrame, test_fraction: float = 0.3) -> Figure:
    """Draw concordance without each auxiliary task, as the difference to the full model.

    A panel for each data set, a place for each horizon. Splits differ by far more than methods
    do, so the paired difference is drawn: its mean over splits and its 95 % interval, corrected
    for splits that share subjects (Nadeau and Bengio). Below 0 the task helps.

    Parameters
    ----------
    scores
        The study "ablation": a row for each data set, method, split and cause, with C25, C50, C75.
    test_fraction
        Share of the subjects in the test part of a split.

    Examples
    --------
    >>> methods = ["SurvTRACE", "w/o MTL", "w/o MP", "w/o LS"]
    >>> scores = pd.DataFrame([
    ...     {"data": "metabric", "method": method, "split": split, "cause": 1,
    ...      "C25": 0.72 - 0.01 * k + 0.001 * split, "C50": 0.69, "C75": 0.65 + 0.01 * k}
    ...     for k, method in enumerate(methods) for split in range(3)])
    >>> [ax.get_title() for ax in ablation_figure(scores).axes]
    ['METABRIC']
    """
    from matplotlib.figure import Figure

    _require_ablation(scores)
    panels = list(scores.groupby(["data", "cause"], sort=False))
    figure = Figure(figsize=(0.6 + 3.7 * len(panels), 3.8), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, ((data, cause), group) in zip(axes, panels, strict=True):
        by_split = group.pivot_table(list(HORIZONS), index="split", columns="method")
        difference, low, high = _against_full(by_split, test_fraction)
        places = [
            f"{quantile}\n({by_split[score, FULL].mean():.3f})"
            for score, quantile in HORIZONS.items()
        ]
        several = (scores.loc[scores["data"] == data, "cause"] != cause).any()
        title = _readable(str(data)) + (f", cause {cause}" if several else "")
        plot_differences(difference, low, high, list(WITHOUT.values()), places, title=title, ax=ax)
    axes[0].set_ylabel("concordance minus the full model's,\nmean and 95 % interval")
    label = "horizon: quantile of the event times (concordance of the full model)"
    figure.supxlabel(label, fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _against_full(by_split: pd.DataFrame, test_fraction: float) -> Iterator[list[list[float]]]:
    """Differences to the full model and the ends of their intervals, each (variant, horizon)."""
    found = [
        [
            corrected_t_test(by_split[score, variant] - by_split[score, FULL], test_fraction)
            for score in HORIZONS
        ]
        for variant in WITHOUT
    ]
    for part in ("difference", "low", "high"):
        yield [[getattr(cell, part) for cell in row] for row in found]


def attention_figure(est: SurvTRACE, X: pd.DataFrame, y: pd.DataFrame) -> Figure:
    """Draw attention between covariates for two patients, mean over members, layers and heads.

    The patients are those of `treated_alone`. Colours are centred on even attention, one over
    the number of covariates; both maps share a scale that reaches at least a quarter of it to
    each side, so that small deviations look small.

    Parameters
    ----------
    est
        Fitted on rows other than these.
    X, y
        METABRIC's test rows.
    """
    from matplotlib.figure import Figure

    patients = treated_alone(X, y)
    weights = 100 * est.attention(X.iloc[list(patients.values())]).mean(axis=(1, 2))
    names = [_readable(name) for name in est.feature_names_in_]
    even = 100 / len(names)
    reach = max(even / 4, float(np.abs(weights - even).max()))
    scale: dict[str, Any] = {"limits": (even - reach, even + reach), "colours": "PuOr_r"}
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    axes = figure.subplots(1, len(patients), sharey=True)
    for ax, patient, title in zip(axes, weights, patients, strict=True):
        plot_attention(patient, names, **scale, bar=False, digits=1, title=title, ax=ax)
    label = f"attention in % (even: {even:.1f})"
    figure.colorbar(axes[0].images[0], ax=list(axes), shrink=0.6, label=label)
    return figure


def patients_figure(
    est: SurvTRACE, cox: CoxPH, X: pd.DataFrame, y: pd.DataFrame, unit: str = ""
) -> Figure:
    """Draw predicted survival of an uncensored and a censored patient, SurvTRACE beside CPH.

    The patients are those of `middle_patients`; a dotted line stands where the event or the
    censoring happened. The band is two standard deviations between members.

    Parameters
    ----------
    est, cox
        Fitted on rows other than these.
    X, y
        Test rows.
    unit
        Of the durations.
    """
    from matplotlib.figure import Figure

    times = np.linspace(0, est.time_grid_[-1], 500)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (kind, row) in zip(axes, middle_patients(y).items(), strict=True):
        patient, duration = X.iloc[[row]], y["duration"].iloc[row]
        ours, spread = est.predict_survival_function(patient, times, return_std=True)
        baseline = cox.predict_survival_function(patient, times)
        plot_survival(
            times,
            np.vstack([ours, baseline]),
            ["SurvTRACE (band: two deviations between members)", "CPH"],
            deviation=np.vstack([spread, np.full_like(baseline, np.nan)]),
            unit=unit,
            title=f"{kind} patient, {ENDS[kind]} at {duration:.0f} {unit}".rstrip(),
            ax=ax,
        )
        ax.axvline(duration, color=GREY, lw=1.5, ls=":", label="event or censoring")
    axes[1].set_ylabel("")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def treated_alone(X: pd.DataFrame, y: pd.DataFrame) -> dict[str, int]:
    """Return rows of two patients of the paper's kind: hormone treatment alone, radiotherapy alone.

    Of those who had that treatment and no other, the one whose duration is nearest to their
    median; the first of equals. What the network says of them is not looked at.

    Examples
    --------
    >>> X = pd.DataFrame({"hormone_treatment": [1, 1, 1, 1, 0], "radiotherapy": [0, 0, 0, 1, 1],
    ...                   "chemotherapy": [0, 0, 0, 0, 0]})
    >>> treated_alone(X, pd.DataFrame({"duration": [9.0, 1.0, 5.0, 5.0, 2.0]}))
    {'hormone treatment alone': 2, 'radiotherapy alone': 4}
    """
    given = X[list(TREATMENTS)].astype(int)
    alone = given.sum(axis=1) == 1
    duration = y["duration"].to_numpy()
    return {
        f"{_readable(name)} alone": _middle(duration, (alone & (given[name] == 1)).to_numpy())
        for name in ("hormone_treatment", "radiotherapy")
    }


def middle_patients(y: pd.DataFrame) -> dict[str, int]:
    """Return rows of an uncensored and a censored patient, each the one of middle duration.

    Of all uncensored (censored) patients, the one whose duration is nearest to their median; the
    first of equals. What any method predicts for them is not looked at.

    Examples
    --------
    >>> y = pd.DataFrame({"event": [1, 1, 0, 1, 0], "duration": [9.0, 4.0, 2.0, 1.0, 3.0]})
    >>> middle_patients(y)
    {'uncensored': 1, 'censored': 2}
    """
    duration, event = y["duration"].to_numpy(), y["event"].to_numpy() != 0
    return {"uncensored": _middle(duration, event), "censored": _middle(duration, ~event)}


def _middle(duration: NDArray[np.float64], among: NDArray[np.bool_]) -> int:
    """Row of the subject, among some, whose duration is nearest to their median."""
    rows = np.flatnonzero(among)
    if len(rows) == 0:
        raise DataError("no subject is of the kind the figure shows; pass more test rows.")
    return int(rows[np.abs(duration[rows] - np.median(duration[rows])).argmin()])


def _readable(name: str) -> str:
    """Return a data set's or covariate's name in words."""
    return NAMES.get(name, name.replace("_", " "))


def _require_ablation(scores: pd.DataFrame) -> None:
    columns = {"data", "cause", "method", "split", *HORIZONS}
    methods = {FULL, *WITHOUT}
    if not (
        columns <= set(scores)
        and all(methods <= set(rows["method"]) for _, rows in scores.groupby("data"))
    ):
        raise DataError(
            f"the ablation figure needs the columns {sorted(columns)} and, for each data set, the "
            f"methods {sorted(methods)}. Pass the scores.csv that `survtrace benchmark ablation` "
            "writes."
        )
