"""A clean fit, and new rows that are not like the table it learned from."""

import numpy as np
import pandas as pd

from messy.table import QUESTION, RIGHT, WARNED, messy


@messy("prediction: a misspelt column", QUESTION)
def misspelt(cohort):
    new = cohort.X.rename(columns={"creatinine": "creatinin"})
    return cohort.of(cohort.frame(), new=new, says=("'creatinin'", "'creatinine'"))


@messy("prediction: values far out of range", WARNED)
def out_of_range(cohort):
    new = cohort.X.assign(creatinine=cohort.X["creatinine"] * 88.4)
    return cohort.of(
        cohort.frame(), new=new, loose=("creatinine",), says=("creatinine", "range|outside|beyond")
    )


@messy("prediction: an age that the dictionary forbids", QUESTION)
def forbidden(cohort):
    new = cohort.X.copy()
    new.loc[7, "age"] = -5.0
    return cohort.of(
        cohort.frame(),
        new=new,
        settings={"columns": {"age": {"low": 0, "high": 120}}},
        ways=("python",),
        says=("age", "-5", "row 7|line 9"),
    )


@messy("prediction: 1e30", QUESTION)
def enormous(cohort):
    new = cohort.X.copy()
    new.loc[7, "age"] = 1e30
    return cohort.of(cohort.frame(), new=new, says=("age", "row 7|line 9"))


@messy("prediction: points after a fit on commas", RIGHT)
def points_after_commas(cohort):
    text = [f"{value:.2f}".replace(".", ",") for value in cohort.X["creatinine"]]
    return cohort.of(cohort.frame(creatinine=text), new=cohort.X)


@messy("prediction: commas after a fit on points", RIGHT, QUESTION)
def commas_after_points(cohort):
    text = [f"{value:.2f}".replace(".", ",") for value in cohort.X["creatinine"]]
    new = cohort.X.assign(creatinine=text)
    return cohort.of(cohort.frame(), new=new, says=("creatinine",))


@messy("prediction: a mark of missing values that the fit did not have", RIGHT, WARNED)
def new_marker(cohort):
    creatinine = cohort.X["creatinine"].astype(object)
    creatinine[:5] = "n/a"
    new = cohort.X.assign(creatinine=creatinine)
    clean_new = cohort.X.assign(creatinine=pd.to_numeric(creatinine, errors="coerce"))
    return cohort.of(cohort.frame(), new=new, clean_new=clean_new, says=("creatinine",))


@messy("prediction: a word where a number stood", QUESTION, WARNED)
def word_for_number(cohort):
    age = cohort.X["age"].astype(object)
    age[7] = "sixty"
    new = cohort.X.assign(age=age)
    return cohort.of(cohort.frame(), new=new, loose=("age",), says=("age", "sixty|row 7|line 9"))


@messy("prediction: another spelling of a category", RIGHT, WARNED)
def another_spelling(cohort):
    new = cohort.X.assign(sex=cohort.X["sex"].str.upper())
    return cohort.of(cohort.frame(), new=new, loose=("sex",), says=("sex",))


@messy("prediction: without the identifiers and dates of the fit", RIGHT)
def without_identifiers(cohort):
    raw = cohort.frame(
        MRN=[f"MRN-{i * 7919 % 100003:06d}" for i in range(cohort.n)],
        birth=pd.date_range("1940-01-01", periods=cohort.n, freq="17D").strftime("%Y-%m-%d"),
    )
    return cohort.of(raw, new=cohort.X)


@messy("prediction: another unit than in the fit", QUESTION, WARNED)
def another_unit(cohort):
    raw = cohort.frame(creatinine=[f"{value} mg/dl" for value in cohort.X["creatinine"]])
    new = cohort.X.assign(
        creatinine=[f"{value * 88.4:.0f} umol/l" for value in cohort.X["creatinine"]]
    )
    return cohort.of(raw, new=new, loose=("creatinine",), says=("creatinine", "umol|unit"))


@messy("prediction: a bound and a unit that the fit did not have", RIGHT, WARNED, QUESTION)
def new_forms(cohort):
    text = cohort.X["creatinine"].astype(str).to_numpy(dtype=object)
    text[3], text[4] = "<0.6", f"{text[4]} mg/dl"
    clean_new = cohort.X.copy()
    clean_new.loc[3, "creatinine"] = 0.6
    return cohort.of(
        cohort.frame(),
        new=cohort.X.assign(creatinine=text),
        clean_new=clean_new,
        loose=("creatinine",),
        says=("creatinine",),
    )


@messy("prediction: thousands after a fit on plain numbers", RIGHT, QUESTION)
def new_thousands(cohort):
    platelets = cohort.rng.integers(600, 400_000, cohort.n)
    X = cohort.X.assign(platelets=platelets)
    new = X.assign(platelets=[f"{value:,}" for value in platelets])
    raw = X.assign(months=cohort.duration, cause=cohort.event)
    return cohort.of(raw, X=X, new=new, says=("platelets",))


@messy("prediction: unknown in a column of texts", RIGHT)
def new_marker_in_text(cohort):
    stage = cohort.X["stage"].copy()
    stage[:5] = "unknown"
    clean_new = cohort.X.assign(stage=stage.where(stage != "unknown"))
    return cohort.of(cohort.frame(), new=cohort.X.assign(stage=stage), clean_new=clean_new)


@messy("prediction: a column of numbers that is all blank", RIGHT)
def all_blank(cohort):
    new = cohort.X.assign(creatinine="")
    clean_new = cohort.X.assign(creatinine=np.nan)
    return cohort.of(cohort.frame(), new=new, clean_new=clean_new)
