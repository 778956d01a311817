"""Load the embedded cohort on serum free light chains, with competing causes of death."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd

COVARIATES = ["age", "creatinine", "kappa", "lambda", "flc.grp", "mgus", "sample.yr", "sex"]
FLCHAIN_CAUSES = {1: "circulatory", 2: "neoplasms", 3: "respiratory", 4: "other"}
CATEGORIES = {"mgus": ["no", "yes"], "sex": ["F", "M"]}


def load_flchain(*, causes: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load 7,874 residents of Olmsted County and what they died of.

    A stratified half of the people aged 50 or more in a study of serum free light chains at the
    Mayo Clinic. Follow-up is in days; a follow-up of 0 days counts as half a day.

    Parameters
    ----------
    causes
        Tell the causes of death apart by the chapter of their ICD code: 1 circulatory,
        2 neoplasms, 3 respiratory, 4 any other or unrecorded (`FLCHAIN_CAUSES` has the names).
        If False, ``event`` is 1 for any death.

    Returns
    -------
    X
        ``age`` (years), ``creatinine`` (mg/dl; 1,350 are missing), ``kappa`` and ``lambda`` (free
        light chains), ``flc.grp`` (tenth of the free light chain sum, 1 to 10), ``mgus``
        (diagnosed with monoclonal gammopathy), ``sample.yr`` (year of the blood sample), ``sex``.
    y
        ``event`` (0 for those alive at last contact) and ``duration`` (days).

    Notes
    -----
    The table is ``flchain`` of the R package ``survival`` (Therneau), in the row order of
    scikit-survival's copy. The cause of death is an outcome, so it is never a column of ``X``.

    References
    ----------
    Dispenzieri A. et al. (2012). Use of nonclonal serum immunoglobulin free light chains to
    predict overall survival in the general population. Mayo Clin Proc 87:512-523.

    Kyle R. A. et al. (2006). Prevalence of monoclonal gammopathy of undetermined significance.
    N Engl J Med 354:1362-1369.

    Examples
    --------
    >>> X, y = load_flchain()
    >>> X.shape
    (7874, 8)
    >>> y["event"].value_counts().to_dict()
    {0: 5705, 1: 745, 4: 612, 2: 567, 3: 245}
    """
    with files("survtrace.datasets").joinpath("flchain.csv.gz").open("rb") as stream:
        table = pd.read_csv(stream, compression="gzip", dtype={"age": np.float64})
    X = table[COVARIATES].astype(
        {name: pd.CategoricalDtype(labels) for name, labels in CATEGORIES.items()}
    )
    event = table["death"]
    if causes:
        number = {name: cause for cause, name in FLCHAIN_CAUSES.items()}
        cause = table["chapter"].str.lower().map(number).fillna(number["other"]).astype(np.int64)
        event = cause.where(event == 1, 0)
    duration = table["futime"].astype(np.float64).replace(0.0, 0.5)
    return X, pd.DataFrame({"event": event, "duration": duration})
