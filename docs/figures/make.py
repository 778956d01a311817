"""Draws the README's figure: predicted and true incidence of two causes, for two subjects."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from survtrace import SurvTRACE
from survtrace.datasets import make_cohort
from survtrace.plots import GREY, plot_incidence

CAUSES = ["cause 1", "cause 2"]


def main() -> None:
    """Fit 10,000 simulated subjects; draw two others, of middling and of high risk."""
    X, y, truth = make_cohort(12_000, random_state=0, return_truth=True)
    est = SurvTRACE(random_state=0).fit(X[:10_000], y[:10_000])
    order = 10_000 + np.argsort(est.predict(X[10_000:]))
    times = np.linspace(0, est.time_grid_[-1], 200)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, place, title in zip(axes, (0.5, 0.9), ("subject A", "subject B"), strict=True):
        subject = order[int(place * len(order))]
        incidence, deviation = est.predict_cumulative_incidence(
            X.iloc[[subject]], times, return_std=True
        )
        plot_incidence(
            times, incidence[0], CAUSES, deviation=deviation[0], unit="months", title=title, ax=ax
        )
        true = truth.incidence(times)[subject]
        lines = ax.plot(times, true.T, color=GREY, lw=1, ls=":")
        lines[0].set_label("truth")
    axes[0].legend(frameon=False)
    figure.savefig(Path(__file__).with_name("incidence.png"), dpi=150)


if __name__ == "__main__":
    main()
