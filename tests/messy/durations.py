"""How long: durations with commas, units, dates, and values no duration can have."""

import numpy as np
import pandas as pd

from messy.table import DURATION, QUESTION, RIGHT, WARNED, messy

WHICH = f"duration|{DURATION}"


def _with(cohort, value, n=2):
    """Durations as objects, with another value in a few rows from row 3 on."""
    duration = cohort.duration.astype(object)
    duration[3 : 3 + n] = [value] * n
    return duration


@messy("durations: comma decimals", RIGHT, QUESTION)
def comma_decimals(cohort):
    duration = [f"{value:.1f}".replace(".", ",") for value in cohort.duration]
    return cohort.of(cohort.frame(duration=duration), says=(WHICH, "decimal|comma"))


@messy("durations: all in the form '12.5 months'", RIGHT, QUESTION)
def months(cohort):
    duration = [f"{value} months" for value in cohort.duration]
    return cohort.of(cohort.frame(duration=duration), says=(WHICH, "number", "months"))


@messy("durations: some in months, some in years", QUESTION)
def mixed_units(cohort):
    in_years = cohort.some(0.3)
    duration = [
        f"{value / 12:.2f} years" if years else f"{value} months"
        for value, years in zip(cohort.duration, in_years, strict=True)
    ]
    return cohort.of(cohort.frame(duration=duration), says=(WHICH, "number|unit"))


@messy("durations: some in months, some in years, in a file with decimal commas", QUESTION)
def mixed_units_with_commas(cohort):
    in_years = cohort.some(0.3)
    duration = [
        (f"{value / 12:.2f} years" if years else f"{value} months").replace(".", ",")
        for value, years in zip(cohort.duration, in_years, strict=True)
    ]
    return cohort.of(cohort.frame(duration=duration), says=(WHICH, "number|unit"))


@messy("durations: dates", QUESTION)
def dates(cohort):
    end = pd.Timestamp("2015-06-01") + pd.to_timedelta((cohort.duration * 30).astype(int), "D")
    return cohort.of(cohort.frame(duration=end.strftime("%Y-%m-%d")), says=(WHICH, "date|number"))


@messy("durations: a date dtype", QUESTION)
def date_dtype(cohort):
    end = pd.Timestamp("2015-06-01") + pd.to_timedelta((cohort.duration * 30).astype(int), "D")
    return cohort.of(cohort.frame(duration=end), ways=("python",), says=(WHICH, "date|number"))


@messy("durations: negative", QUESTION)
def negative(cohort):
    return cohort.of(
        cohort.frame(duration=_with(cohort, -1.0).astype(float)),
        says=(WHICH, "2 of 240", "row 3|line 5"),
    )


@messy("durations: an event at 0", QUESTION)
def zero(cohort):
    duration, event = cohort.duration.copy(), cohort.event.copy()
    duration[3], event[3] = 0.0, 1
    return cohort.of(cohort.frame(event, duration), says=("row 3|line 5", "zero_duration"))


@messy("durations: missing", QUESTION)
def missing(cohort):
    return cohort.of(
        cohort.frame(duration=_with(cohort, np.nan).astype(float)),
        says=(WHICH, "2 of 240", "row 3|line 5"),
    )


@messy("durations: the text unknown", QUESTION)
def unknown(cohort):
    return cohort.of(cohort.frame(duration=_with(cohort, "unknown")), says=(WHICH, "row 3|line 5"))


@messy("durations: 9999 where they are not known", WARNED, QUESTION)
def sentinel(cohort):
    duration = np.where(cohort.some(0.05), 9999.0, cohort.duration)
    return cohort.of(cohort.frame(duration=duration), duration=duration, says=(WHICH, "9999"))


@messy("durations: R's way to print them, 12.5+ for the censored", WARNED, QUESTION)
def printed_by_r(cohort):
    duration = [
        f"{value}{'' if died else '+'}"
        for value, died in zip(cohort.duration, cohort.died, strict=True)
    ]
    return cohort.of(cohort.frame(duration=duration), says=(WHICH, "number"))


@messy("durations: 12,5+ for the censored, in a file with decimal commas", WARNED, QUESTION)
def printed_by_r_with_commas(cohort):
    duration = [
        f"{value}{'' if died else '+'}".replace(".", ",")
        for value, died in zip(cohort.duration, cohort.died, strict=True)
    ]
    return cohort.of(cohort.frame(duration=duration), says=(WHICH, "number"))


@messy("durations: a difference of two dates", RIGHT, QUESTION)
def timedelta(cohort):
    duration = pd.to_timedelta(cohort.duration.round() + 1, "D")
    return cohort.of(
        cohort.frame(duration=duration),
        duration=cohort.duration.round() + 1,
        ways=("python",),
        says=(WHICH, "number|days"),
    )
