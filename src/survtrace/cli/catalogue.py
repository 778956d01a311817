"""Cohorts that can be loaded by name, what they are, and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from survtrace.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


class Facts(NamedTuple):
    """A cohort before it is loaded; None where a number depends on the file."""

    rows: int | None
    covariates: int | None
    causes: int | None
    what: str
    source: str


PUBLIC = "pip install 'survtrace[public]'"
DEEPSURV = "downloaded; pip install 'survtrace[datasets]'"

DATASETS = {
    "flchain": Facts(7874, 8, 4, "cause of death, free light chains; days", "embedded"),
    "metabric": Facts(1904, 9, 1, "death with breast cancer; months", DEEPSURV),
    "support": Facts(8873, 14, 1, "death of the seriously ill in hospital; days", DEEPSURV),
    "seer": Facts(None, 18, 3, "cause of death with breast cancer; months", "yours: docs/seer.md"),
    "simulated": Facts(None, 18, 2, "non-linear, with known truth; months", "drawn: --rows"),
    "linear": Facts(None, 18, 2, "simulated, with proportional hazards; months", "drawn: --rows"),
    "late": Facts(None, 18, 2, "simulated, half enter late; months", "drawn: --rows"),
    "changing": Facts(None, 19, 2, "simulated, treatment starts later; months", "drawn: --rows"),
    "nafld": Facts(17549, 5, 1, "death, with a fatty liver or not; days", PUBLIC),
    "ebmt": Facts(8966, 5, 6, "cause of death after marrow transplantation; months", PUBLIC),
    "smart": Facts(3873, 26, 1, "vascular event in patients at high risk; days", PUBLIC),
    "unemployment": Facts(3241, 5, 3, "new job: full-time, part-time, unknown; fortnights", PUBLIC),
    "mgus": Facts(1384, 6, 2, "plasma cell malignancy, death without it; months", PUBLIC),
    "leukemia": Facts(1043, 7, 1, "death with acute myeloid leukemia; days", PUBLIC),
    "ovarian": Facts(912, 160, 1, "recurrence of ovarian cancer; days", PUBLIC),
    "pbc": Facts(418, 17, 1, "death or transplantation in liver disease; days", PUBLIC),
    "pbcseq": Facts(1945, 15, 1, "the same, a row from visit to visit; days", PUBLIC),
    "heart": Facts(172, 4, 1, "death, before and after a new heart; days", PUBLIC),
    "mgus_age": Facts(1384, 5, 2, "mgus by age, from that at diagnosis; years", PUBLIC),
    "channing": Facts(458, 1, 1, "death in a retirement home, by age; months", PUBLIC),
}


def load_dataset(name: str, n_subjects: int = 10_000) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load covariates and outcome of a cohort; ``n_subjects`` is the size of simulated ones.

    Examples
    --------
    >>> X, y = load_dataset("simulated", 100)
    >>> X.shape
    (100, 18)
    """
    from survtrace import datasets

    if name not in DATASETS:
        raise DataError(f"a cohort must be one of {list(DATASETS)}; got {name!r}.")
    if name in ("simulated", "linear"):
        return datasets.make_cohort(n_subjects, linear=name == "linear", random_state=0)
    if name == "late":
        return datasets.make_cohort(n_subjects, late_entry=0.5, random_state=0)
    if name == "changing":
        return datasets.make_changing_cohort(n_subjects, random_state=0)
    if name in ("flchain", "metabric", "support", "seer"):
        return getattr(datasets, f"load_{name}")()
    return datasets.load_public(name)
