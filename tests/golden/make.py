"""Writes fit.json and default_shape.json: the curves of two fits, with their settings spelled out.

fit.json is a small network with dropout, which trains without the encoder's kernel;
default_shape.json has the shape that users get, which trains with it.

Run ``python tests/golden/make.py`` after a change that is meant to change results, and say so in
the change log.
"""

import json
from pathlib import Path

from survtrace import SurvTRACE
from survtrace.datasets import load_flchain

FOLDER = Path(__file__).parent
TIMES = [500.0, 2000.0, 4000.0]
SETTINGS = {
    "n_members": 2,
    "n_intervals": 3,
    "width": 8,
    "depth": 2,
    "n_heads": 2,
    "hidden": 16,
    "head_depth": 2,
    "token_bias": True,
    "proportional": 3.0,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "token_dropout": 0.1,
    "head_dropout": 0.1,
    "lr": 5e-3,
    "weight_decay": 1e-4,
    "clip_norm": 1.0,
    "averaging": 0.0,
    "batch_size": 32,
    "max_epochs": 4,
    "patience": 4,
    "validation_fraction": 0.2,
    "mortality_weight": 1.0,
    "stay_weight": 1.0,
    "anneal": 3,
    "ips": "none",
    "recalibrate": False,
    "device": "cpu",
    "n_threads": 1,
    "random_state": 0,
    "verbose": False,
}
DEFAULT_SHAPE = {
    **SETTINGS,
    "n_members": 4,
    "n_intervals": 4,
    "width": 16,
    "depth": 3,
    "n_heads": 2,
    "hidden": 64,
    "dropout": 0.0,
    "unknown_steps": 20,
    "head_dropout": 0.2,
    "averaging": 3.0,
    # Low: AdamW makes differences of the last bit, which compilers of kernels have, grow with it.
    "lr": 1e-4,
    "max_epochs": 2,
}
FITS = {"fit.json": SETTINGS, "default_shape.json": DEFAULT_SHAPE}


def fit_and_predict(settings):
    """Incidences of 20 subjects at three times, fitted to 300 others; and the last losses."""
    X, y = load_flchain()
    rows = X.index[::24][:320]  # the table is sorted by age
    X, y = X.loc[rows], y.loc[rows]
    est = SurvTRACE(**settings).fit(X[20:], y[20:])
    return {
        "causes": est.causes_,
        "time_grid": est.time_grid_.tolist(),
        "validation_loss": est.history_["validation_loss"].tolist(),
        "incidence": est.predict_cumulative_incidence(X[:20], TIMES).tolist(),
    }


if __name__ == "__main__":
    for name, settings in FITS.items():
        made = {"settings": settings, "times": TIMES, **fit_and_predict(settings)}
        (FOLDER / name).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
