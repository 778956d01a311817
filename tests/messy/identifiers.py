"""What is no covariate: record numbers, names, dates, free text; none of it may be stored."""

import numpy as np
import pandas as pd

from messy.table import QUESTION, RIGHT, WARNED, Cohort, messy

FIRST = ["Anna", "Bärbel", "Chloë", "Dieter", "Émile", "Fritz", "Gül", "Hans"]
LAST = ["Müller", "Schmidt", "O'Neill", "Dupont", "Yilmaz", "Weiß", "Novák", "Larsen"]
NOTES = [
    "admitted via emergency room",
    "patient complains of fatigue; no fever",
    "seen by Dr Weber, ECG normal",
    "started on 5 mg, tolerated well",
    "family history of colon cancer (mother, 62)",
    "refused second line treatment",
]


def _days(cohort, start="1940-01-01", span=9000):
    return pd.Timestamp(start) + pd.to_timedelta(cohort.rng.integers(0, span, cohort.n), "D")


def _left_out(cohort, name, values, **changes):
    """A table with a column that must not be learned from, nor kept."""
    values = list(values)
    secrets = [str(value) for value in values[:40] if value != "unknown"]
    return cohort.of(cohort.frame(**{name: values}), secrets=secrets, says=(name,), **changes)


@messy("identifiers: seven-digit numbers", RIGHT)
def numbers(cohort):
    return _left_out(cohort, "patient_no", cohort.rng.permutation(10**4)[: cohort.n] + 4_310_000)


@messy("identifiers: numbers from 1 on, in order", RIGHT)
def row_numbers(cohort):
    table = cohort.frame(record=np.arange(1, cohort.n + 1))
    return cohort.of(table, says=("record",))


@messy("identifiers: numbers with gaps", RIGHT)
def numbers_with_gaps(cohort):
    numbers = pd.Series(cohort.rng.permutation(10**4)[: cohort.n] + 4_310_000.0)
    table = cohort.frame(insurance_no=numbers.mask(cohort.some()))
    return cohort.of(table, says=("insurance_no",))


@messy("identifiers: telephone numbers", RIGHT)
def telephones(cohort):
    numbers = cohort.rng.integers(10**6, 10**7, cohort.n)
    return _left_out(cohort, "phone", [f"+49 176 {number}" for number in numbers])


@messy("identifiers: record numbers with letters", RIGHT)
def record_numbers(cohort):
    numbers = cohort.rng.permutation(10**5)[: cohort.n]
    return _left_out(cohort, "MRN", [f"MRN-{number:07d}" for number in numbers])


@messy("identifiers: a patient's number in several rows", RIGHT, WARNED)
def repeated(cohort):
    """Every tenth patient occurs twice."""
    numbers = cohort.rng.permutation(10**5)[: cohort.n]
    numbers[10::10] = numbers[9:-1:10]
    return _left_out(cohort, "patient_id", [f"P{number:06d}" for number in numbers])


@messy("identifiers: names", RIGHT)
def names(cohort):
    rng = cohort.rng
    values = [
        f"{rng.choice(LAST)}, {rng.choice(FIRST)} {chr(65 + i % 26)}." for i in range(cohort.n)
    ]
    return _left_out(cohort, "name", values)


@messy("identifiers: surnames, each of several people", RIGHT)
def surnames(cohort):
    pairs = [f"{one}-{other}" for one in LAST for other in LAST]
    return _left_out(cohort, "surname", cohort.rng.choice(pairs, cohort.n))


@messy("identifiers: e-mail addresses, some of them twice", RIGHT)
def addresses(cohort):
    return _left_out(cohort, "email", [f"user{i * 7 % 190}@example.org" for i in range(cohort.n)])


@messy("identifiers: names in a table of 60 rows", RIGHT)
def few_names(cohort):
    small = Cohort(1, n=60)
    rng = small.rng
    values = [f"{rng.choice(LAST)}-{rng.choice(LAST)}, {rng.choice(FIRST)}" for _ in range(60)]
    return _left_out(small, "name", values)


@messy("identifiers: names as a category dtype", RIGHT)
def names_as_categories(cohort):
    rng = cohort.rng
    values = [f"{rng.choice(LAST)}, {rng.choice(FIRST)} {number}" for number in range(cohort.n)]
    table = cohort.frame(name=pd.Categorical(values))
    return cohort.of(table, secrets=values[:40], ways=("python",), says=("name",))


@messy("dates: ISO as text", RIGHT, QUESTION)
def iso(cohort):
    return _left_out(cohort, "birth", _days(cohort).strftime("%Y-%m-%d"))


@messy("dates: German as text", RIGHT, QUESTION)
def german(cohort):
    return _left_out(cohort, "Geburtsdatum", _days(cohort).strftime("%d.%m.%Y"))


@messy("dates: American as text, some unknown", RIGHT, QUESTION)
def american(cohort):
    values = _days(cohort, "2015-01-01", 700).strftime("%m/%d/%Y").to_numpy(dtype=object)
    values[cohort.some()] = "unknown"
    return _left_out(cohort, "admitted", values)


@messy("dates: with a time of day, few distinct", RIGHT, QUESTION)
def few_distinct(cohort):
    values = _days(cohort, "2019-03-01", 8).strftime("%Y-%m-%d 00:00:00")
    return _left_out(cohort, "visit", values)


@messy("dates: as SAS writes them, 04MAR1951", RIGHT, QUESTION)
def sas(cohort):
    return _left_out(cohort, "BRTHDT", _days(cohort).strftime("%d%b%Y").str.upper())


@messy("dates: month and year", RIGHT, QUESTION)
def month_and_year(cohort):
    return _left_out(cohort, "diagnosis", _days(cohort, "2010-01-01", 4000).strftime("%m/%Y"))


@messy("dates: a date dtype", RIGHT, QUESTION)
def date_dtype(cohort):
    days = _days(cohort)
    table = cohort.frame(birth=days)
    return cohort.of(table, secrets=[str(day.date()) for day in days[:40]], says=("birth", "date"))


@messy("dates: numbers of the form 20190304", RIGHT, WARNED, QUESTION)
def compact(cohort):
    values = _days(cohort, "2015-01-01", 2000).strftime("%Y%m%d").astype(int)
    return _left_out(cohort, "admission", values)


@messy("free text: notes", RIGHT)
def notes(cohort):
    rng = cohort.rng
    values = [f"{rng.choice(NOTES)}. {rng.choice(NOTES)}. Bed {i}" for i in range(cohort.n)]
    return _left_out(cohort, "notes", values)


@messy("free text: notes on one patient in four", RIGHT)
def rare_notes(cohort):
    rng = cohort.rng
    values = [
        f"{rng.choice(NOTES)}, {rng.choice(NOTES)}, call {rng.integers(10**6):06d}"
        if noted
        else None
        for noted in cohort.some(0.25)
    ]
    secrets = [value for value in values if value]
    return cohort.of(cohort.frame(remarks=values), secrets=secrets, says=("remarks",))


@messy("free text: mostly the same words, now and then a story", RIGHT)
def mostly_the_same(cohort):
    rng = cohort.rng
    stories = [
        f"{rng.choice(NOTES)}; {rng.choice(NOTES)}, call {number}" for number in range(cohort.n)
    ]
    values = np.where(cohort.some(0.2), stories, "no complaints")
    secrets = [value for value in values if value != "no complaints"]
    return cohort.of(cohort.frame(remarks=values), secrets=secrets, says=("remarks",))


@messy("postcodes: five digits, nearly all distinct", RIGHT, WARNED)
def postcodes(cohort):
    values = cohort.rng.integers(10115, 99998, cohort.n)
    return cohort.of(cohort.frame(postcode=values), optional=("postcode",), says=("postcode",))


@messy("postcodes: text, nearly all distinct", RIGHT)
def postcodes_as_text(cohort):
    values = [f"D-{number}" for number in cohort.rng.integers(10115, 99998, cohort.n)]
    return _left_out(cohort, "postcode", values)


@messy("codes: departments with leading zeros", RIGHT, WARNED)
def leading_zeros(cohort):
    codes = cohort.rng.choice(["007", "012", "101", "070"], cohort.n)
    X = cohort.X.assign(department=codes)
    raw = X.assign(months=cohort.duration, cause=cohort.event)
    return cohort.of(raw, X=X, says=("department",))
