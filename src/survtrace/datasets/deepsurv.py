"""Load METABRIC and SUPPORT, in the form in which DeepSurv published them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from survtrace.datasets.download import fetch
from survtrace.errors import require

UPSTREAM = "https://raw.githubusercontent.com/jaredleekatzman/DeepSurv/master/experiments/data/"

METABRIC_FILE = "metabric_IHC4_clinical_train_test.h5"
METABRIC_SHA256 = "e959131973c906c7e8b1e662c81160914768156a6da145a9bfed9b9ee8bf3e72"
METABRIC_TREATMENTS = ["hormone_treatment", "radiotherapy", "chemotherapy", "er_positive"]
METABRIC_COVARIATES = ["MKI67", "EGFR", "PGR", "ERBB2", *METABRIC_TREATMENTS, "age"]

SUPPORT_FILE = "support_train_test.h5"
SUPPORT_SHA256 = "e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e"
SUPPORT_HISTORY = ["sex", "n_comorbidities", "race", "diabetes", "dementia", "cancer"]
SUPPORT_SIGNS = ["mean_blood_pressure", "heart_rate", "respiration_rate", "temperature"]
SUPPORT_MEASURES = [*SUPPORT_SIGNS, "sodium", "white_blood_cells", "creatinine"]


def load_metabric() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load 1,904 women with breast cancer, of whom 1,103 died; durations in months.

    The file is looked for in ``$SURVTRACE_DATA_HOME``, then in the user's cache folder, and is
    otherwise downloaded and checked.

    Returns
    -------
    X
        Expression of ``MKI67``, ``EGFR``, ``PGR`` and ``ERBB2``; ``hormone_treatment``,
        ``radiotherapy``, ``chemotherapy`` and ``er_positive`` (categories 0 and 1); ``age``.
    y
        ``event`` (1 for a death) and ``duration``. One subject is censored at duration 0.

    References
    ----------
    Curtis C. et al. (2012). The genomic and transcriptomic architecture of 2,000 breast tumours
    reveals novel subgroups. Nature 486:346-352.

    Katzman J. L. et al. (2018). DeepSurv: personalized treatment recommender system using a Cox
    proportional hazards deep neural network. BMC Med Res Methodol 18:24.

    Examples
    --------
    >>> X, y = load_metabric()  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1904, 9)
    """
    return _read_cohort(
        "metabric", METABRIC_FILE, METABRIC_SHA256, METABRIC_COVARIATES, METABRIC_TREATMENTS
    )


def load_support() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load 8,873 seriously ill adults in hospital, of whom 6,036 died; durations in days.

    Found or downloaded as METABRIC is (see `load_metabric`).

    Returns
    -------
    X
        ``age``; the categories ``sex``, ``n_comorbidities`` (0 to 9), ``race``, ``diabetes``,
        ``dementia`` and ``cancer`` (0, 1 or 2); ``mean_blood_pressure``, ``heart_rate``,
        ``respiration_rate``, ``temperature``, ``sodium``, ``white_blood_cells``, ``creatinine``.
    y
        ``event`` (1 for a death) and ``duration``.

    References
    ----------
    Knaus W. A. et al. (1995). The SUPPORT prognostic model: objective estimates of survival for
    seriously ill hospitalized adults. Ann Intern Med 122:191-203. Katzman J. L. et al. (2018).

    Examples
    --------
    >>> X, y = load_support()  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (8873, 14)
    """
    return _read_cohort(
        "support",
        SUPPORT_FILE,
        SUPPORT_SHA256,
        ["age", *SUPPORT_HISTORY, *SUPPORT_MEASURES],
        SUPPORT_HISTORY,
    )


def _read_cohort(
    folder: str, name: str, sha256: str, covariates: Sequence[str], categorical: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Name the columns; the published training rows come first, then the test rows."""
    # Before a download, which would be of no use without it.
    h5py = require("h5py", "datasets", f"{name} is an HDF5 file, and reading it needs")
    with h5py.File(fetch(name, f"{UPSTREAM}{folder}/{name}", sha256), "r") as file:
        x, duration, event = (
            np.concatenate([file[part][key][()] for part in ("train", "test")]) for key in "xte"
        )
    X = pd.DataFrame(x.astype(np.float64), columns=list(covariates))
    X = X.astype(dict.fromkeys(categorical, "int64")).astype(dict.fromkeys(categorical, "category"))
    y = {"event": event.astype(np.int64), "duration": duration.astype(np.float64)}
    return X, pd.DataFrame(y)
