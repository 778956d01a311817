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
    """Fit 10,000 simulated subjects; draw two others, one of middling and one of high risk."""
    X, y, truth = make_cohort(12_000, random_state=0, return_truth=True)
    est = SurvTRACE(random_state=0).fit(X[:10_000], y[:10_000])
    times = np.linspace(0, est.time_grid_[-1], 200)
    at_end = np.log(truth.incidence(times[-1:])[10_000:, :, 0])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, rank, title in zip(axes, (0.5, 0.8), ("subject A", "subject B"), strict=True):
        # Chosen by the truth, not by what is predicted: whose causes are both nearest to that rank.
        off = np.abs(at_end - np.quantile(at_end, rank, axis=0)).max(1)
        subject = 10_000 + int(off.argmin())
        incidence = est.predict_cumulative_incidence(X.iloc[[subject]], times)[0]
        low, high = est.predict_interval(X.iloc[[subject]], times)
        plot_incidence(
            times, incidence, CAUSES, interval=(low[0], high[0]), unit="months", title=title, ax=ax
        )
        for predicted, true in zip(list(ax.lines), truth.incidence(times)[subject], strict=True):
            ax.plot(times, true, color=predicted.get_color(), lw=1.5, ls=":")
        ax.plot([], [], color=GREY, lw=1.5, ls=":", label="truth")
    axes[0].legend(frameon=False)
    figure.savefig(Path(__file__).with_name("incidence.png"), dpi=150)


if __name__ == "__main__":
    main()
