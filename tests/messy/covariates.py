"""Covariates as they come: numbers in text, marks of missing values, leaks, absurdities."""

import numpy as np
import pandas as pd

from messy.table import DURATION, EVENT, QUESTION, RIGHT, WARNED, messy

MARKERS = ["unknown", "-", "NA", "n/a", "?", ".", ""]


def _changed(cohort, truth=None, **columns):
    """A table with changed or added columns; ``truth`` are their clean values, if covariates."""
    X = cohort.X.assign(**(truth or {}))
    outcome = {DURATION: cohort.duration, EVENT: cohort.event}
    return {"raw": X.assign(**columns).assign(**outcome), "X": X}


def _with_gaps(cohort, values, gaps):
    return np.where(gaps, np.nan, values)


@messy("numbers: comma decimals", RIGHT)
def comma_decimals(cohort):
    text = [f"{value:.2f}".replace(".", ",") for value in cohort.X["creatinine"]]
    return cohort.of(**_changed(cohort, creatinine=text))


@messy("numbers: thousands as 212,618", RIGHT, QUESTION)
def thousands(cohort):
    platelets = cohort.rng.integers(600, 400_000, cohort.n)
    text = [f"{value:,}" for value in platelets]
    return cohort.of(
        **_changed(cohort, {"platelets": platelets}, platelets=text), says=("platelets",)
    )


@messy("numbers: thousands as 1.234,5", RIGHT, QUESTION)
def german_thousands(cohort):
    ferritin = (cohort.rng.lognormal(7.0, 1.0, cohort.n)).round(1)
    text = [f"{value:,.1f}".translate(str.maketrans(",.", ".,")) for value in ferritin]
    return cohort.of(**_changed(cohort, {"ferritin": ferritin}, ferritin=text), says=("ferritin",))


@messy("numbers: thousands as 212.618 beside comma decimals", RIGHT, QUESTION)
def thousands_with_points(cohort):
    """Counts of any size: "850" and "1.200" stand in one column, "1,25" in another."""
    platelets = cohort.rng.lognormal(8.0, 1.5, cohort.n).astype(int) + 100
    text = [f"{value:,}".replace(",", ".") for value in platelets]
    creatinine = [f"{value:.2f}".replace(".", ",") for value in cohort.X["creatinine"]]
    columns = {"platelets": text, "creatinine": creatinine}
    return cohort.of(**_changed(cohort, {"platelets": platelets}, **columns), says=("platelets",))


@messy("numbers: below the limit of detection, <0.6", WARNED)
def below_the_limit(cohort):
    low = cohort.X["creatinine"] < 0.6
    text = np.where(low, "<0.6", cohort.X["creatinine"].astype(str))
    return cohort.of(
        **_changed(cohort, creatinine=text),
        loose=("creatinine",),
        says=("creatinine", rf"\b{low.sum()}\b|<0.6"),
    )


@messy("numbers: with their unit", RIGHT)
def with_unit(cohort):
    text = [f"{value} mg/dl" for value in cohort.X["creatinine"]]
    return cohort.of(**_changed(cohort, creatinine=text))


@messy("numbers: with two units", QUESTION, WARNED)
def two_units(cohort):
    other = cohort.some(0.3)
    text = [
        f"{value * 88.4:.0f} umol/l" if swapped else f"{value} mg/dl"
        for value, swapped in zip(cohort.X["creatinine"], other, strict=True)
    ]
    return cohort.of(
        **_changed(cohort, creatinine=text), loose=("creatinine",), says=("creatinine", "unit|umol")
    )


@messy("numbers: per cent", RIGHT)
def per_cent(cohort):
    share = cohort.rng.integers(5, 95, cohort.n)
    text = [f"{value} %" for value in share]
    return cohort.of(**_changed(cohort, {"ki67": share}, ki67=text))


@messy("numbers: with an exponent", RIGHT)
def exponents(cohort):
    load = (cohort.rng.lognormal(8, 2, cohort.n)).round()
    text = [f"{value:.6E}".replace(".", ",") for value in load]
    return cohort.of(**_changed(cohort, {"viral_load": load}, viral_load=text))


@messy("numbers: one typing error among them", WARNED, QUESTION)
def typing_error(cohort):
    text = cohort.X["age"].astype(str)
    text[7] = "6l.2"
    return cohort.of(
        **_changed(cohort, age=text), loose=("age",), says=("age", "6l.2|row 7|line 9|1 ")
    )


@messy("numbers: a typographer's minus and a narrow blank", RIGHT, WARNED, QUESTION)
def typographic(cohort):
    excess = cohort.rng.normal(0, 3000, cohort.n).round()
    text = [f"{value:,.0f}".replace("-", "\u2212").replace(",", "\u202f") for value in excess]
    return cohort.of(
        **_changed(cohort, {"base_excess": excess}, base_excess=text),
        loose=("base_excess",),
        says=("base_excess",),
    )


@messy("numbers: whole and all distinct, but measured", RIGHT, WARNED)
def distinct(cohort):
    platelets = cohort.rng.permutation(np.arange(90_000, 400_000, 7))[: cohort.n]
    return cohort.of(
        **_changed(cohort, {"platelets": platelets}),
        optional=("platelets",),
        says=(
            "platelets",
            "platelets.*(identif|differ|distinct)|(identif|differ|distinct).*platelets",
        ),
    )


@messy("numbers: two in a cell, as 120/80", WARNED, QUESTION)
def blood_pressure(cohort):
    rng = cohort.rng
    text = [f"{rng.integers(100, 180)}/{rng.integers(60, 100)}" for _ in range(cohort.n)]
    return cohort.of(cohort.frame(RR=text), optional=("RR",), says=(r"\bRR\b",))


@messy("missing: seven marks of it in a column of numbers", RIGHT)
def markers(cohort):
    gaps = cohort.some(0.3)
    marks = cohort.rng.choice(MARKERS, cohort.n)
    text = np.where(gaps, marks, cohort.X["creatinine"].astype(str))
    truth = {"creatinine": _with_gaps(cohort, cohort.X["creatinine"], gaps)}
    return cohort.of(**_changed(cohort, truth, creatinine=text))


@messy("missing: seven marks of it in a column of texts", RIGHT)
def markers_in_text(cohort):
    gaps = cohort.some(0.3)
    marks = cohort.rng.choice(MARKERS, cohort.n)
    truth = {"stage": cohort.X["stage"].mask(gaps)}
    return cohort.of(**_changed(cohort, truth, stage=np.where(gaps, marks, cohort.X["stage"])))


@messy("missing: Unknown and N/A in capitals, blanks around them", RIGHT)
def markers_in_capitals(cohort):
    gaps = cohort.some(0.3)
    marks = cohort.rng.choice(["Unknown", " UNKNOWN ", "N/A", "  "], cohort.n)
    text = np.where(gaps, marks, cohort.X["age"].astype(str))
    truth = {"age": _with_gaps(cohort, cohort.X["age"], gaps)}
    return cohort.of(**_changed(cohort, truth, age=text))


@messy("missing: errors of a spreadsheet", RIGHT, WARNED, QUESTION)
def spreadsheet_errors(cohort):
    gaps = cohort.some(0.2)
    marks = cohort.rng.choice(["#N/A", "#DIV/0!", "#VALUE!", "NULL"], cohort.n)
    text = np.where(gaps, marks, cohort.X["creatinine"].astype(str))
    truth = {"creatinine": _with_gaps(cohort, cohort.X["creatinine"], gaps)}
    return cohort.of(
        **_changed(cohort, truth, creatinine=text), loose=("creatinine",), says=("creatinine",)
    )


@messy("missing: 999 among ages", WARNED)
def sentinel(cohort):
    age = np.where(cohort.some(), 999.0, cohort.X["age"])
    return cohort.of(**_changed(cohort, age=age), loose=("age",), says=("age", "999"))


@messy("missing: -99 among counts", WARNED)
def negative_sentinel(cohort):
    nodes = np.where(cohort.some(), -99, cohort.X["nodes"])
    return cohort.of(**_changed(cohort, nodes=nodes), loose=("nodes",), says=("nodes", "-99"))


@messy("missing: 999 among ages, said to be missing", RIGHT)
def sentinel_told(cohort):
    gaps = cohort.some()
    truth = {"age": _with_gaps(cohort, cohort.X["age"], gaps)}
    return cohort.of(
        **_changed(cohort, truth, age=np.where(gaps, 999.0, cohort.X["age"])),
        settings={"columns": {"age": {"missing": ["999"]}}},
        options=("--missing", "999"),
    )


@messy("dictionary: a column that is not there", WARNED, QUESTION)
def misspelt_in_dictionary(cohort):
    return cohort.of(
        cohort.frame(),
        settings={"columns": {"creatinin": {"missing": ["9"]}}},
        ways=("python",),
        says=("creatinin'", "'creatinine'"),
    )


@messy("idle: one value throughout", WARNED)
def constant(cohort):
    raw = cohort.frame(hospital="St. Mary")
    return cohort.of(
        raw, optional=("hospital",), says=("hospital", "constant|one value|same value")
    )


@messy("idle: 36.6 throughout, which is no exact number", WARNED)
def constant_number(cohort):
    raw = cohort.frame(temperature=36.6)
    return cohort.of(
        raw, optional=("temperature",), says=("temperature", "constant|one value|same value")
    )


@messy("idle: nothing but gaps", WARNED)
def all_missing(cohort):
    raw = cohort.frame(HER2=np.nan)
    return cohort.of(raw, optional=("HER2",), says=("HER2", "missing|empty"))


@messy("idle: the same column twice, under two names", WARNED)
def duplicated(cohort):
    raw = cohort.frame(age_at_entry=cohort.X["age"])
    return cohort.of(raw, optional=("age_at_entry", "age"), says=("age_at_entry", "copy|same"))


@messy("leak: the duration once more, in days", WARNED, QUESTION)
def copy_of_duration(cohort):
    raw = cohort.frame(days=(cohort.duration * 30.44).round())
    return cohort.of(raw, optional=("days",), says=("days", "duration|months|follow-up|outcome"))


@messy("leak: the event once more, in words", WARNED, QUESTION)
def copy_of_event(cohort):
    raw = cohort.frame(vital_status=cohort.words("alive", "dead of disease", "dead"))
    return cohort.of(raw, optional=("vital_status",), says=("vital_status", "event|cause|outcome"))


@messy("leak: the duration in whole weeks", WARNED, QUESTION)
def near_copy_of_duration(cohort):
    raw = cohort.frame(weeks=(cohort.duration * 4.35).round().astype(int))
    return cohort.of(raw, optional=("weeks",), says=("weeks", "duration|months|follow-up|outcome"))


@messy("leak: the event once more, with 3 % of errors", WARNED, QUESTION)
def near_copy_of_event(cohort):
    status = np.where(cohort.died ^ cohort.some(0.03), "deceased", "living")
    raw = cohort.frame(vital=status)
    return cohort.of(raw, optional=("vital",), says=("vital", "event|cause|outcome"))


@messy("leak: date of death", RIGHT, WARNED, QUESTION)
def date_of_death(cohort):
    days = pd.Timestamp("2012-01-01") + pd.to_timedelta((cohort.duration * 30).astype(int), "D")
    values = np.where(cohort.died, days.strftime("%d.%m.%Y"), "")
    secrets = [value for value in values if value]
    return cohort.of(cohort.frame(date_of_death=values), secrets=secrets, says=("date_of_death",))


@messy("leak: age at death, known only for the dead", WARNED, QUESTION)
def known_only_for_the_dead(cohort):
    age = np.where(cohort.died, (cohort.X["age"] + cohort.duration / 12).round(1), np.nan)
    raw = cohort.frame(age_at_death=age)
    return cohort.of(
        raw, optional=("age_at_death",), says=("age_at_death", "event|known only|outcome")
    )


@messy("leak: cause of death in words, for the dead", WARNED, QUESTION)
def cause_of_death(cohort):
    words = cohort.rng.choice(["sepsis", "MI", "stroke", "progression"], cohort.n)
    raw = cohort.frame(cod=np.where(cohort.died, words, None))
    return cohort.of(raw, optional=("cod",), says=("cod", "event|known only|outcome"))


@messy("categories: Female, female, 'FEMALE '", RIGHT, WARNED)
def mixed_case(cohort):
    spellings = [str.title, str.upper, lambda word: f"{word} ", str]
    sex = [
        spellings[k](word)
        for k, word in zip(cohort.rng.integers(0, 4, cohort.n), cohort.X["sex"], strict=True)
    ]
    return cohort.of(
        **_changed(cohort, sex=sex), loose=("sex",), says=("sex", "spell|case|blank|space|same")
    )


@messy("categories: blanks around them", RIGHT)
def padded(cohort):
    stage = np.where(cohort.some(0.3), cohort.X["stage"] + " ", cohort.X["stage"])
    return cohort.of(**_changed(cohort, stage=stage))


@messy("categories: truth values as text, with gaps", RIGHT)
def truth_values(cohort):
    smoker = pd.Series(cohort.rng.choice(["True", "False"], cohort.n), dtype=object)
    smoker = smoker.mask(cohort.some())
    return cohort.of(**_changed(cohort, {"smoker": smoker}))


@messy("categories: spans and fractions that look like dates", RIGHT)
def spans(cohort):
    group = cohort.rng.choice(["1-4", "5-10", "11-12"], cohort.n)
    grade = cohort.rng.choice(["1/3", "2/3", "3/3"], cohort.n)
    return cohort.of(**_changed(cohort, {"nodes_taken": group, "grade": grade}))


@messy("categories: codes of diseases and TNM", RIGHT)
def codes(cohort):
    icd = cohort.rng.choice(["C18.2", "C18.7", "C19", "C20"], cohort.n)
    tnm = cohort.rng.choice(["T1 N0 M0", "T2 N0 M0", "T3 N1 M0", "T4 N2 M1"], cohort.n)
    return cohort.of(**_changed(cohort, {"icd": icd, "tnm": tnm}))


@messy("categories: 1, 2 and 9 for unknown, said to be codes", RIGHT)
def told_codes(cohort):
    ecog = cohort.rng.choice([1, 2, 3, 9], cohort.n)
    return cohort.of(
        **_changed(cohort, {"ecog": pd.Series(ecog).astype(str)}, ecog=ecog),
        settings={"categorical": ["ecog"]},
        options=("--categorical", "ecog"),
    )


@messy("categories: a category dtype with a level that nobody has", RIGHT)
def unused_level(cohort):
    stage = pd.Categorical(cohort.X["stage"], categories=["0", "I", "II", "III", "IV"])
    return cohort.of(cohort.frame(stage=stage), ways=("python",))


@messy("categories: nullable dtypes with gaps", RIGHT)
def nullable(cohort):
    gaps = cohort.some()
    nodes = cohort.X["nodes"].astype("Int64").mask(gaps)
    sex = cohort.X["sex"].astype("string").mask(gaps)
    truth = {"nodes": cohort.X["nodes"].mask(gaps), "sex": cohort.X["sex"].mask(gaps)}
    return cohort.of(**_changed(cohort, truth, nodes=nodes, sex=sex))


@messy("absurd: 1e30", QUESTION)
def enormous(cohort):
    age = cohort.X["age"].copy()
    age[7] = 1e30
    return cohort.of(**_changed(cohort, age=age), says=("age", "row 7|line 9"))


@messy("absurd: infinity", QUESTION)
def infinite(cohort):
    age = cohort.X["age"].copy()
    age[7] = np.inf
    return cohort.of(**_changed(cohort, age=age), says=("age", "row 7|line 9"))


@messy("absurd: a whole number beyond all floats", QUESTION)
def beyond_float(cohort):
    nodes = cohort.X["nodes"].astype(object)
    nodes[7] = 10**400
    return cohort.of(**_changed(cohort, nodes=nodes), says=("nodes",))


@messy("absurd: complex numbers", QUESTION)
def complex_numbers(cohort):
    raw = cohort.frame(age=cohort.X["age"].to_numpy() + 1j)
    return cohort.of(raw, ways=("python",), says=("age", "complex"))


@messy("absurd: lists in cells", QUESTION)
def lists(cohort):
    raw = cohort.frame(drugs=[["aspirin", "statin"][: k % 3] for k in range(cohort.n)])
    return cohort.of(raw, ways=("python",), says=("drugs", "list"))


@messy("absurd: a masked array, masked where it is missing", RIGHT, QUESTION)
def masked(cohort):
    gaps = np.column_stack([cohort.some(), cohort.some()])
    values = cohort.X[["age", "creatinine"]].to_numpy()
    raw = np.ma.array(values, mask=gaps)
    X = pd.DataFrame(np.where(gaps, np.nan, values), columns=["x0", "x1"])
    y = pd.DataFrame({"event": cohort.event, "duration": cohort.duration})
    return cohort.of(raw, X=X, y=y, ways=("python",), says=("mask",))
