"""Load SEER breast cancer from a registry export of the user's own."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd

from survtrace.datasets.download import DATA_HOME, data_folders
from survtrace.errors import DataError, SettingError

Treatment = Literal["ours", "paper"]
Beyond = Literal["censor", "drop"]

CATEGORICAL = {
    "Sex": "sex",
    "Year of diagnosis": "year_of_diagnosis",
    "Race recode (W, B, AI, API)": "race",
    "Histologic Type ICD-O-3": "histologic_type",
    "Laterality": "laterality",
    "Sequence number": "sequence_number",
    "ER Status Recode Breast Cancer (1990+)": "er_status",
    "PR Status Recode Breast Cancer (1990+)": "pr_status",
    "Summary stage 2000 (1998-2017)": "summary_stage",
    "RX Summ--Surg Prim Site (1998+)": "surgery_primary_site",
    "Reason no cancer-directed surgery": "reason_no_surgery",
    "First malignant primary indicator": "first_malignant_primary",
    "Diagnostic Confirmation": "diagnostic_confirmation",
    "Median household income inflation adj to 2019": "median_household_income",
}
NUMERICAL = {
    "Regional nodes examined (1988+)": "nodes_examined",
    "CS tumor size (2004-2015)": "tumor_size",
    "Total number of benign/borderline tumors for patient": "n_benign_tumors",
    "Total number of in situ/malignant tumors for patient": "n_malignant_tumors",
}
PATIENT, MONTHS = "Patient ID", "Survival months"
DEATH, CLASSIFICATION = "COD to site recode", "SEER cause-specific death classification"
YEAR, SURGERY = "Year of diagnosis", "Reason no cancer-directed surgery"

# The order expected of a file without a header.
SEER_COLUMNS = (*CATEGORICAL, *NUMERICAL, PATIENT, MONTHS, DEATH, CLASSIFICATION)
SEER_CAUSES = {1: "breast cancer", 2: "heart disease", 3: "other"}
FILE_NAMES = ("seer.csv", "seer.txt", "seer.csv.gz", "seer.txt.gz")

ALIVE, CAUSE_LABELS = "alive", {"breast": 1, "diseases of heart": 2}
NOT_CLASSIFIED = "n/a not seq 0-59"
DIED_BEFORE_SURGERY = "not performed, patient died prior to recommended surgery"
MISSING_LABELS = ("", "blank(s)", "recode not available")  # and all that start with "unknown"
UNKNOWN_MONTHS = 9999

NOT_PACKED = (EOFError, gzip.BadGzipFile, zlib.error)
UNREADABLE = (pd.errors.ParserError, pd.errors.EmptyDataError, *NOT_PACKED)

RARE = "other (rare)"
RARE_SHARE = 0.001
PAPER_RARE_COUNTS = {"sequence_number": 100, "diagnostic_confirmation": 160}

# Tumor sizes that were described, not measured: the middle of the range in mm, as SEER's own
# tumor size recode does. 990 is a microscopic focus, 991 to 995 "less than 1 cm" to "5 cm".
DESCRIBED_SIZES = {990: 0.5, 991: 5.0, 992: 15.0, 993: 25.0, 994: 35.0, 995: 45.0}
LARGEST_SIZE, SIZE_NOT_APPLICABLE = 989, 888
LARGEST_COUNT = {"nodes_examined": 90, "n_benign_tumors": 98, "n_malignant_tumors": 98}
SURGERY_UNKNOWN = 99


def load_seer(
    path: str | os.PathLike[str] | None = None,
    *,
    treatment: Treatment = "ours",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    years: tuple[int, int] = (2004, 2014),
    follow_up: int = 121,
    beyond: Beyond = "censor",
    rare_share: float | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load breast cancer patients from a SEER*Stat case listing; durations in months.

    The data may not be redistributed, so nothing is downloaded: docs/seer.md says how to ask SEER
    for them, which columns to select, and what both treatments do.

    Parameters
    ----------
    path
        The export: comma- or tab-separated, with or without a header, optionally ``.gz``. By
        default seer.csv or seer.txt (or either with .gz) in ``$SURVTRACE_DATA_HOME``, then in the
        user's cache folder.
    treatment
        ``"ours"``: deaths from other causes are a third cause, unknown values are missing, each
        patient counts once. ``"paper"``: deaths from other causes are censored, unknown values
        become the mode or the mean, special codes stay numbers, each record counts.
    columns
        Without a header: the file's column names in order, by default `SEER_COLUMNS`. With one: a
        mapping from names in the file to those of `SEER_COLUMNS`, for releases that changed them.
    years
        First and last year of diagnosis kept.
    follow_up
        Longest follow-up in months.
    beyond
        What a longer follow-up gets: ``"censor"`` at ``follow_up``, or ``"drop"``.
    rare_share
        Levels of a categorical covariate rarer than this share of the rows become one level,
        "other (rare)". By default 0.001; under ``"paper"`` the authors' limits, fewer than 100
        records for ``sequence_number`` and 160 for ``diagnostic_confirmation``.

    Returns
    -------
    X
        14 categorical and 4 numerical covariates. ``X.attrs["dropped"]`` counts the records left
        out, each under the first reason that held; ``X.attrs["not_numbers"]`` lists the texts
        that stood for a number and were taken as missing.
    y
        ``event`` (0 censored, or a cause of `SEER_CAUSES`) and ``duration``.

    Notes
    -----
    SEER counts complete months, so an event may have 0. Ours moves it to half a month and drops
    those censored at 0; ``"paper"`` drops both, since the published durations start at 1.

    Examples
    --------
    >>> X, y = load_seer()  # doctest: +SKIP
    >>> X.shape[1], X.attrs["dropped"]["later_record"]  # doctest: +SKIP
    """
    _require_settings(treatment, beyond, years, follow_up, rare_share)
    records = _read_export(_find_export(path), columns)
    months, event = _months(records[MONTHS]), _causes(records[DEATH], treatment)
    reasons = _reasons_to_drop(records, months, event, years, treatment)
    reasons["beyond_follow_up"] = (months > follow_up) & (beyond == "drop")
    remaining, dropped = _drop(records, reasons, once=treatment == "ours")
    X = _covariates(records.loc[remaining], treatment, rare_share)
    X.attrs["dropped"] = dropped
    months, event = months.loc[remaining], event.loc[remaining]
    event = event.where(months <= follow_up, 0)
    duration = months.clip(upper=follow_up).mask(months == 0, 0.5)
    return X, pd.DataFrame({"event": event, "duration": duration}).reset_index(drop=True)


def _require_settings(
    treatment: str, beyond: str, years: tuple[int, int], follow_up: int, rare_share: float | None
) -> None:
    for name, value, kind in (("treatment", treatment, Treatment), ("beyond", beyond, Beyond)):
        if value not in get_args(kind):
            raise SettingError(f"{name} must be one of {list(get_args(kind))}; got {value!r}.")
    if len(years) != 2 or years[0] > years[1]:
        raise SettingError(f"years must be a first and a last year, in order; got {years}.")
    if follow_up < 1:
        raise SettingError(f"follow_up must be 1 month or more; got {follow_up}.")
    if rare_share is not None and not 0 <= rare_share < 1:
        raise SettingError(
            f"rare_share must be a share of at least 0 and below 1; got {rare_share}."
        )


def _find_export(path: str | os.PathLike[str] | None) -> Path:
    folders = data_folders()
    files = [folder / name for folder in folders for name in FILE_NAMES]
    files = files if path is None else [Path(path).expanduser()]
    if found := [file for file in files if file.is_file()]:
        return found[0]
    searched = f"none of {', '.join(FILE_NAMES)} is in {' or '.join(map(str, folders))}"
    raise DataError(
        f"SEER data must come from an export of your own; "
        f"{searched if path is None else f'{files[0]} is not a file'}. Request access at "
        "https://seer.cancer.gov/data/, export a SEER*Stat case listing as docs/seer.md says, and "
        f"pass its path or put it into the folder named by {DATA_HOME}."
    )


def _read_export(path: Path, columns: Sequence[str] | Mapping[str, str] | None) -> pd.DataFrame:
    """Read the columns of `SEER_COLUMNS` as clean text, "" where blank."""
    try:
        delimiter, first = _first_line(path)
        names, has_header = _column_names(first, columns, path)
        # No usecols: with it, pandas would let a line with too many fields pass.
        table = pd.read_csv(
            path,
            sep=delimiter,
            header=None,
            skiprows=1 if has_header else 0,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
            encoding_errors="replace",
        )
    except UNREADABLE as error:
        raise DataError(
            f"{path} must be a table with one record a line; it could not be read ({error}). "
            "Export it again, with quotes around fields that contain the delimiter."
        ) from error
    if table.shape[1] != len(names):
        raise DataError(
            f"every line of {path} must have {len(names)} fields; the first record has "
            f"{table.shape[1]}. Export it with quotes around fields that contain the delimiter."
        )
    return pd.DataFrame({name: _clean_text(table[names.index(name)]) for name in SEER_COLUMNS})


def _first_line(path: Path) -> tuple[str, list[str]]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        line = stream.readline().decode("utf-8-sig", errors="replace")
    delimiter = "\t" if "\t" in line else ","
    return delimiter, [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]


def _column_names(
    first: list[str], columns: Sequence[str] | Mapping[str, str] | None, path: Path
) -> tuple[list[str], bool]:
    """Find the names of the file's columns, and whether its first line holds them."""
    renamed = columns if isinstance(columns, Mapping) else {}
    header = [renamed.get(name, name) for name in first]
    if set(header) & set(SEER_COLUMNS):
        return _checked_names(header, path), True
    given = columns is not None and not isinstance(columns, Mapping)
    names = list(columns or ()) if given else list(SEER_COLUMNS)
    if len(names) != len(first):
        raise DataError(
            f"the first line of {path} names no SEER column, so that its columns are expected to "
            f"be the {len(names)} of {'columns=' if given else 'SEER_COLUMNS'}, in that order; "
            f"it has {len(first)} fields. Pass the names in the file's order as columns=."
        )
    return _checked_names(names, path), False


def _checked_names(names: list[str], path: Path) -> list[str]:
    missing = [name for name in SEER_COLUMNS if name not in names]
    repeated = [name for name in SEER_COLUMNS if names.count(name) > 1]
    if missing or repeated:
        raise DataError(
            f"{path} must have each of the {len(SEER_COLUMNS)} columns of docs/seer.md once; "
            f"missing: {missing}, repeated: {repeated}. Select them in SEER*Stat; if the release "
            "names them otherwise, pass columns={'name in the file': 'name expected'}; if a name "
            "holds a comma, export with quotes or tabs."
        )
    return names


def _clean_text(column: pd.Series) -> pd.Series:
    """Strip outer blanks, and leading zeros of whole numbers: 00 and 0 are one code."""
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    texts = [level.strip() if isinstance(level, str) else "" for level in levels]
    clean = [str(int(text)) if text.isascii() and text.isdigit() else text for text in texts]
    return pd.Series(np.array(clean, dtype=object)[codes], index=column.index, dtype=object)


def _months(text: pd.Series) -> pd.Series:
    """Read the months of survival, NaN where unknown."""
    months = pd.to_numeric(text.mask(_says_missing(text)), errors="coerce").astype(np.float64)
    bad = (months.isna() & ~_says_missing(text)) | (months < 0)
    if bad.any():
        raise DataError(
            f"{MONTHS!r} must be a number of months or Unknown; {bad.sum()} of {len(bad)} are not "
            f"(first: record {bad.argmax()}, {text[bad].iloc[0]!r}). Check the order of columns."
        )
    return months.mask(months == UNKNOWN_MONTHS)


def _causes(text: pd.Series, treatment: Treatment) -> pd.Series:
    """Number the causes of death, 0 for the living and the censored."""
    label = text.str.lower()
    if len(label) and not label.isin([ALIVE, *CAUSE_LABELS]).any():
        raise DataError(
            f"{DEATH!r} must hold labels such as Alive, Breast and Diseases of Heart; seen "
            f"{sorted(text.unique())[:5]}. Export labels, and check the order of columns."
        )
    other = 3 if treatment == "ours" else 0
    return label.map({ALIVE: 0, **CAUSE_LABELS}).fillna(other).astype(np.int64)


def _reasons_to_drop(
    records: pd.DataFrame,
    months: pd.Series,
    event: pd.Series,
    years: tuple[int, int],
    treatment: Treatment,
) -> dict[str, pd.Series]:
    """Mark the records that each rule leaves out, in the order of the rules."""
    year = pd.to_numeric(records[YEAR], errors="coerce")
    return {
        "unknown_survival": months.isna(),
        "outside_years": ~year.between(*years),
        "not_sequence_0_59": records[CLASSIFICATION].str.lower() == NOT_CLASSIFIED,
        "died_before_surgery": records[SURGERY].str.lower() == DIED_BEFORE_SURGERY,
        "blank_cause_of_death": records[DEATH].str.lower().isin(MISSING_LABELS),
        "no_follow_up": (months == 0) & ((event == 0) | (treatment == "paper")),
    }


def _drop(
    records: pd.DataFrame, reasons: dict[str, pd.Series], once: bool
) -> tuple[pd.Series, dict[str, int]]:
    """Mark the records that stay, and count those of each reason; ``once``: one a patient."""
    remaining = pd.Series(True, index=records.index)
    dropped = {}
    for reason, holds in reasons.items():
        dropped[reason] = int((remaining & holds).sum())
        remaining &= ~holds
    dropped["later_record"] = 0
    if once:  # all but each patient's first record by year of diagnosis, then by row, go
        patient = records.loc[remaining].sort_values(YEAR, kind="stable")[PATIENT]
        later = patient.index[patient.duplicated() & (patient != "")]
        remaining.loc[later] = False
        dropped["later_record"] = len(later)
    if not remaining.any():
        raise DataError(
            f"at least one record must remain; all {len(remaining)} were left out: {dropped}. "
            "Check the selection in SEER*Stat, or the settings years and follow_up."
        )
    return remaining, dropped


def _covariates(
    records: pd.DataFrame, treatment: Treatment, rare_share: float | None
) -> pd.DataFrame:
    limit = (RARE_SHARE if rare_share is None else rare_share) * len(records)
    authors = treatment == "paper" and rare_share is None
    columns, not_numbers = {}, {}
    for column, name in CATEGORICAL.items():
        fewest = PAPER_RARE_COUNTS.get(name, 0) if authors else limit
        columns[name] = _category(records[column], name, treatment, fewest)
    for column, name in NUMERICAL.items():
        columns[name], not_numbers[name] = _number(records[column], name, treatment)
    X = pd.DataFrame(columns).reset_index(drop=True)
    X.attrs["not_numbers"] = {name: texts for name, texts in not_numbers.items() if texts}
    return X


def _category(text: pd.Series, name: str, treatment: Treatment, fewest: float) -> pd.Series:
    """Read a categorical covariate; levels with fewer records than ``fewest`` become one."""
    missing = _says_missing(text)
    if name == "surgery_primary_site" and treatment == "ours":
        missing |= pd.to_numeric(text, errors="coerce") >= SURGERY_UNKNOWN
    levels = text.mask(missing)
    counts = levels.value_counts()
    rare = counts.index[counts < fewest]
    if len(rare) > 1:  # a lone rare level would only lose its name
        levels = levels.mask(levels.isin(rare), RARE)
    if treatment == "paper" and levels.notna().any():
        levels = levels.fillna(levels.mode().iloc[0])
    return levels.astype(pd.CategoricalDtype(sorted(levels.dropna().unique())))


def _number(text: pd.Series, name: str, treatment: Treatment) -> tuple[pd.Series, list[str]]:
    """Read a numerical covariate; also return its texts that are neither numbers nor missing."""
    values = pd.to_numeric(text, errors="coerce").astype(np.float64)
    not_numbers = sorted(text[values.isna() & ~_says_missing(text)].unique())
    if treatment == "paper":
        return values.fillna(values.mean()), not_numbers
    if name == "tumor_size":
        measured = values.between(0, LARGEST_SIZE) & (values != SIZE_NOT_APPLICABLE)
        return values.where(measured, values.map(DESCRIBED_SIZES)), not_numbers
    return values.where(values.between(0, LARGEST_COUNT[name])), not_numbers


def _says_missing(text: pd.Series) -> pd.Series:
    label = text.str.lower()
    return label.isin(MISSING_LABELS) | label.str.startswith("unknown")
