"""Since when: rows that begin late, several rows of one patient, as hospitals export them."""

import numpy as np
import pandas as pd

from messy.table import DURATION, EVENT, QUESTION, RIGHT, WARNED, messy

ENTRY, ID = "since", "patient"
ROLES = {"entry": ENTRY, "id": ID}
OPTIONS = ("--entry", ENTRY, "--id", ID)
COLUMNS = ["age", "creatinine", "nodes", "sex", "stage"]


def visits(cohort):
    """Up to three rows for each patient, cut at random times; creatinine changes."""
    n_rows = cohort.rng.integers(1, 4, cohort.n)
    subject = np.repeat(np.arange(cohort.n), n_rows)
    visit = np.concatenate([np.arange(n) for n in n_rows])
    share, next_share = visit / n_rows[subject], (visit + 1) / n_rows[subject]
    end = cohort.duration[subject]
    last = visit + 1 == n_rows[subject]
    table = cohort.X.iloc[subject].reset_index(drop=True)
    drift = cohort.rng.lognormal(0.0, 0.1, len(subject))
    return table.assign(
        creatinine=(table["creatinine"] * drift).round(2),
        **{
            ID: [f"P{number:03d}" for number in subject],
            ENTRY: np.where(visit == 0, 0.0, (share * end).round(3)),
            DURATION: np.where(last, end, (next_share * end).round(3)),
            EVENT: np.where(last, cohort.event[subject], 0),
        },
    )


def spoilt(cohort, raw, clean=None, **changes):
    """A messy table whose truth is that of start-stop rows."""
    clean = raw if clean is None else clean
    truth = {
        "X": clean[COLUMNS],
        "event": clean[EVENT].tolist(),
        "duration": clean[DURATION].to_numpy(),
        "entry": clean[ENTRY].to_numpy(),
        "id": clean[ID].tolist(),
        "roles": ROLES,
        "options": OPTIONS,
    }
    return cohort.of(raw, **{**truth, **changes})


def second_rows(table):
    """Where the rows stand that are the second of their patient."""
    return np.flatnonzero(table.groupby(ID).cumcount() == 1)


@messy("start-stop: clean rows, patients one below the other", RIGHT)
def clean_rows(cohort):
    return spoilt(cohort, visits(cohort))


@messy("start-stop: blanks around identifiers", RIGHT, QUESTION)
def blanks(cohort):
    clean = visits(cohort)
    raw = clean.assign(**{ID: [f"{p} " if i % 3 else p for i, p in enumerate(clean[ID])]})
    return spoilt(cohort, raw, clean, says=("id",))


@messy("start-stop: identifiers as whole numbers", RIGHT)
def numbers(cohort):
    clean = visits(cohort)
    return spoilt(cohort, clean.assign(**{ID: clean[ID].str[1:].astype(int) + 4000}), clean)


@messy("start-stop: identifiers with leading zeros", RIGHT)
def leading_zeros(cohort):
    clean = visits(cohort)
    return spoilt(cohort, clean.assign(**{ID: clean[ID].str[1:]}), clean)


@messy("start-stop: decimal commas in both times", RIGHT, QUESTION)
def comma_times(cohort):
    clean = visits(cohort)
    commas = {
        name: [f"{t:.3f}".replace(".", ",") for t in clean[name]] for name in (ENTRY, DURATION)
    }
    return spoilt(cohort, clean.assign(**commas), clean, says=("entry|since|decimal",))


@messy("start-stop: a visit that was exported twice", QUESTION)
def doubled_visit(cohort):
    table = visits(cohort)
    row = second_rows(table)[2]
    raw = pd.concat([table[: row + 1], table[row:]], ignore_index=True)
    return spoilt(cohort, raw, says=("overlap", table[ID][row], "twice"))


@messy("start-stop: stays that overlap", QUESTION)
def overlapping(cohort):
    raw = visits(cohort)
    row = second_rows(raw)[2]
    raw.loc[row, ENTRY] = raw.loc[row, ENTRY] * 0.9
    return spoilt(cohort, raw, says=("must not overlap", raw[ID][row], f"row {row}|line {row + 2}"))


@messy("start-stop: the last visit on top", QUESTION)
def newest_first(cohort):
    raw = visits(cohort)[::-1].reset_index(drop=True)
    return spoilt(cohort, raw, says=("order of time", "sort"))


@messy("start-stop: all first visits, then all second ones", RIGHT)
def not_adjacent(cohort):
    table = visits(cohort)
    order = np.argsort(table.groupby(ID).cumcount().to_numpy(), kind="stable")
    return spoilt(cohort, table.iloc[order].reset_index(drop=True))


@messy("start-stop: a discharge before the admission", QUESTION)
def ends_before_it_begins(cohort):
    raw = visits(cohort)
    row = second_rows(raw)[2]
    raw.loc[row, [ENTRY, DURATION]] = raw.loc[row, [DURATION, ENTRY]].to_numpy()
    return spoilt(cohort, raw, says=("entry must come before", raw[ID][row], "same origin"))


@messy("start-stop: duration counts from the begin of the row", QUESTION)
def counts_from_entry(cohort):
    table = visits(cohort)
    raw = table.assign(**{DURATION: (table[DURATION] - table[ENTRY]).round(3)})
    return spoilt(
        cohort, raw, says=("entry must come before|overlap", r"entry \+ duration|their sum")
    )


@messy("start-stop: dates instead of numbers", QUESTION)
def dates(cohort):
    table = visits(cohort)
    begin = pd.Timestamp("2015-06-01") + pd.to_timedelta((table[ENTRY] * 30).astype(int), "D")
    return spoilt(
        cohort, table.assign(**{ENTRY: begin.dt.strftime("%Y-%m-%d")}), says=("entry", "number")
    )


@messy("start-stop: a patient without an identifier", QUESTION)
def missing_identifier(cohort):
    raw = visits(cohort)
    raw.loc[[3, 9], ID] = None
    return spoilt(cohort, raw, says=("id is missing in 2", "row 3|line 5"))


@messy("start-stop: an identifier of blanks", QUESTION)
def blank_identifier(cohort):
    raw = visits(cohort)
    raw.loc[3, ID] = "  "
    return spoilt(cohort, raw, says=("id is missing in 1", "row 3|line 5"))


@messy("start-stop: identifiers as numbers here, as texts there", QUESTION)
def two_kinds(cohort):
    raw = visits(cohort)
    ids = [int(p[1:]) if i % 2 else str(int(p[1:])) for i, p in enumerate(raw[ID])]
    raw[ID] = pd.Series(ids, dtype=object)
    return spoilt(cohort, raw, ways=("python",), says=("numbers or all texts", "same subject"))


@messy("start-stop: no begin is known of a row", QUESTION)
def missing_entry(cohort):
    raw = visits(cohort)
    raw.loc[[3, 9], ENTRY] = np.nan
    return spoilt(cohort, raw, says=("entry must be finite; 2 of", "row 3|line 5", "is 0 for"))


@messy("start-stop: a begin before the origin", QUESTION)
def negative_entry(cohort):
    raw = visits(cohort)
    raw.loc[3, ENTRY] = -1.0
    return spoilt(cohort, raw, says=("entry must be zero or more", "row 3|line 5"))


@messy("start-stop: the outcome repeated in every row", QUESTION)
def repeated_outcome(cohort):
    table = visits(cohort)
    raw = table.assign(**{EVENT: table.groupby(ID)[EVENT].transform("last")})
    return spoilt(cohort, raw, says=("last row", "write 0 in all but the last"))


@messy("start-stop: weeks without observation", WARNED)
def gaps(cohort):
    raw = visits(cohort)
    row = second_rows(raw)[:5]
    raw.loc[row, ENTRY] = (raw.loc[row, ENTRY] + raw.loc[row, DURATION]) / 2
    return spoilt(cohort, raw, says=("5 of 240 subjects have gaps",))


@messy("start-stop: begins that a program summed up", RIGHT)
def rounding(cohort):
    clean = visits(cohort)
    return spoilt(cohort, clean.assign(**{ENTRY: clean[ENTRY] * (1 + 1e-13)}), clean)


@messy("start-stop: begin in years, end in months", QUESTION)
def other_unit(cohort):
    table = visits(cohort)
    raw = table.assign(**{ENTRY: (table[ENTRY] / 12).round(4)})
    return spoilt(cohort, raw, says=("overlap", "same unit"))


@messy("late entry: begin in years, end in days", WARNED)
def other_unit_of_one_row(cohort):
    days, years = (
        (cohort.duration * 30.4).round() + 30,
        cohort.rng.uniform(0, 0.4, cohort.n).round(2),
    )
    raw = cohort.frame(duration=days, **{ENTRY: years})
    return cohort.of(
        raw,
        duration=days,
        entry=years,
        roles={"entry": ENTRY},
        options=("--entry", ENTRY),
        says=("entry is at most 0.4", "same unit"),
    )


@messy("late entry: begin at 0 for everybody", RIGHT)
def nobody_late(cohort):
    raw = cohort.frame(**{ENTRY: 0})
    return cohort.of(raw, roles={"entry": ENTRY}, options=("--entry", ENTRY))


@messy("start-stop: the begin is not named", QUESTION)
def forgotten_entry(cohort):
    return spoilt(
        cohort,
        visits(cohort),
        roles={"id": ID},
        options=("--id", ID),
        says=("several rows|start-stop rows", "entry"),
    )


@messy("start-stop: neither the begin nor the patient is named", QUESTION)
def forgotten_both(cohort):
    says = ("look like start-stop rows", "--entry since --id patient", "--use since")
    return spoilt(cohort, visits(cohort), roles={}, options=(), ways=("command",), says=says)


@messy("start-stop: the begin is named, the patient is not", QUESTION)
def forgotten_patient(cohort):
    says = ("look like start-stop rows", "--id patient", "whose rows")
    return spoilt(
        cohort, visits(cohort), roles={}, options=OPTIONS[:2], ways=("command",), says=says
    )
