"""Who is censored: event columns as hospitals, R, Excel and other languages write them."""

import numpy as np
import pandas as pd

from messy.table import EVENT, QUESTION, RIGHT, WARNED, messy
from survtrace import Surv


@messy("events: alive, dead", RIGHT)
def alive_dead(cohort):
    words = cohort.words("alive", "dead")
    return cohort.of(cohort.frame(words), event=cohort.words(0, "dead"))


@messy("events: ALIVE, Alive, DEAD, dead with blanks around them", RIGHT, QUESTION)
def mixed_case(cohort):
    spellings = np.array([["Alive", "ALIVE", "alive "], ["Dead", "DEAD", " dead"]], dtype=object)
    words = spellings[cohort.one_event, cohort.rng.integers(0, 3, cohort.n)]
    return cohort.of(
        cohort.frame(words), event=cohort.words(0, "dead"), says=("dead", "spell|case|differ|same")
    )


@messy("events: no, yes", RIGHT)
def yes_no(cohort):
    return cohort.of(cohort.frame(cohort.words("no", "yes")), event=cohort.words(0, "yes"))


@messy("events: the texts True and False", RIGHT)
def true_false_text(cohort):
    return cohort.of(cohort.frame(cohort.words("False", "True")), event=cohort.one_event)


@messy("events: truth values packed by Surv", RIGHT)
def truth_values(cohort):
    y = Surv.from_arrays(event=cohort.died, duration=cohort.duration)
    return cohort.of(cohort.X, event=cohort.one_event, y=y, ways=("python",))


@messy("events: 0.0 and 1.0", RIGHT)
def floats(cohort):
    return cohort.of(cohort.frame(cohort.one_event.astype(float)), event=cohort.one_event)


@messy("events: the texts 0.0 and 1.0", RIGHT)
def floats_as_text(cohort):
    words = cohort.words("0.0", "1.0")
    return cohort.of(cohort.frame(words), event=cohort.one_event)


@messy("events: R's 1 and 2", QUESTION)
def coded_in_r(cohort):
    return cohort.of(cohort.frame(cohort.one_event + 1), says=(r"\b1\b", r"\b2\b", "censored"))


@messy("events: R's 1 and 2, and who is censored was said", RIGHT)
def coded_in_r_told(cohort):
    return cohort.of(
        cohort.frame(cohort.one_event + 1),
        event=cohort.one_event * 2,
        roles={"censored": 1},
        options=("--censored", "1"),
    )


@messy("events: 1, 2, 3 without a 0", QUESTION)
def coded_from_one(cohort):
    return cohort.of(cohort.frame(cohort.event + 1), says=(r"\b1\b", r"\b3\b", "censored"))


@messy("events: alive with disease beside alive", QUESTION)
def alive_with_disease(cohort):
    words = cohort.words("alive", "died")
    words[~cohort.died & cohort.some(0.4)] = "alive with disease"
    return cohort.of(cohort.frame(words), says=("alive with disease", "censored"))


@messy("events: alive with disease, said to be censored", RIGHT)
def alive_with_disease_told(cohort):
    words = cohort.words("alive", "died")
    words[~cohort.died & cohort.some(0.4)] = "alive with disease"
    return cohort.of(
        cohort.frame(words),
        event=cohort.words(0, "died"),
        roles={"censored": ["alive", "alive with disease"]},
        options=("--censored", "alive", "--censored", "alive with disease"),
    )


@messy("events: a date for each who died", QUESTION)
def dates(cohort):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(cohort.rng.integers(0, 900, cohort.n), "D")
    words = np.where(cohort.died, days.strftime("%Y-%m-%d"), "")
    return cohort.of(cohort.frame(words), says=(f"event|{EVENT}", "date|blank|empty|missing"))


@messy("events: a date for each who died, 0 for the others", QUESTION)
def dates_or_zero(cohort):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(cohort.rng.integers(0, 900, cohort.n), "D")
    words = np.where(cohort.died, days.strftime("%d.%m.%Y"), "0")
    return cohort.of(cohort.frame(words), says=(f"event|{EVENT}", "date"))


@messy("events: blank for the living", QUESTION)
def blank(cohort):
    words = cohort.words("", "died")
    return cohort.of(cohort.frame(words), says=(f"event|{EVENT}", "blank|empty|missing|nan|None"))


@messy("events: lost to follow-up, alive, two kinds of death", RIGHT, QUESTION)
def lost(cohort):
    words = cohort.words("alive", "died of cancer", "died other")
    words[~cohort.died & cohort.some(0.3)] = "lost to follow-up"
    return cohort.of(
        cohort.frame(words),
        event=cohort.words(0, "died of cancer", "died other"),
        says=("lost to follow-up", "censored"),
    )


@messy("events: German lebt, verstorben", RIGHT, QUESTION)
def german(cohort):
    return cohort.of(
        cohort.frame(cohort.words("lebt", "verstorben")),
        event=cohort.words(0, "verstorben"),
        says=("lebt", "censored"),
    )


@messy("events: French vivant, décédé", RIGHT, QUESTION)
def french(cohort):
    return cohort.of(
        cohort.frame(cohort.words("vivant", "décédé")),
        event=cohort.words(0, "décédé"),
        says=("vivant", "censored"),
    )


@messy("events: causes of several words, blanks at their end", RIGHT, QUESTION)
def words_with_blanks(cohort):
    words = cohort.words("censored", "heart failure", "lung cancer")
    words[cohort.some(0.3)] += " "
    return cohort.of(
        cohort.frame(words),
        event=cohort.words(0, "heart failure", "lung cancer"),
        says=("heart failure", "blank|space|spell|same|differ"),
    )


@messy("events: causes 2 and 10 come in the order of numbers", RIGHT)
def two_before_ten(cohort):
    codes = np.array([0, 10, 2])[cohort.event]
    return cohort.of(cohort.frame(codes), event=codes)


@messy("events: causes 2 and 10 as text come in the order of numbers", RIGHT)
def two_before_ten_as_text(cohort):
    codes = np.array([0, 10, 2])[cohort.event]
    return cohort.of(cohort.frame(codes.astype(str).astype(object)), event=codes)


@messy("events: everybody died", WARNED)
def complete(cohort):
    event = np.ones(cohort.n, dtype=int)
    return cohort.of(cohort.frame(event), event=event, says=("censored",))


@messy("events: two labels, neither of which means censored", QUESTION)
def nobody_censored(cohort):
    words = np.where(cohort.event == 1, "relapse", "death")
    return cohort.of(cohort.frame(words), says=("relapse", "death", "censored"))


@messy("events: the longest-followed have a label of their own", QUESTION)
def longest_followed(cohort):
    """Everybody is followed to 24 months at most; those who reach it are "c"."""
    duration = np.minimum(cohort.duration, 24.0)
    words = cohort.words("0", "a", "b")
    words[duration >= 24.0] = "c"
    return cohort.of(cohort.frame(words, duration), says=("'c'|\\bc\\b", "censored"))


@messy("events: 0:LIVING, 1:DECEASED, as a portal writes them", RIGHT, QUESTION)
def living_deceased(cohort):
    return cohort.of(
        cohort.frame(cohort.words("0:LIVING", "1:DECEASED")),
        event=cohort.words(0, "1:DECEASED"),
        says=("0:LIVING", "censored"),
    )


@messy("events: censored, uncensored", RIGHT, QUESTION)
def uncensored(cohort):
    return cohort.of(
        cohort.frame(cohort.words("censored", "uncensored")),
        event=cohort.words(0, "uncensored"),
        says=("uncensored",),
    )


@messy("events: no event, event", RIGHT, QUESTION)
def no_event(cohort):
    return cohort.of(
        cohort.frame(cohort.words("no event", "event")),
        event=cohort.words(0, "event"),
        says=("no event", "censored"),
    )


@messy("events: NED, AWD, DOD, DOC, as oncologists write them", QUESTION)
def oncologists(cohort):
    words = cohort.words("NED", "DOD", "DOC")
    words[~cohort.died & cohort.some(0.4)] = "AWD"
    return cohort.of(cohort.frame(words), says=("NED|AWD", "censored"))


@messy("events: 0, 1 and unknown", QUESTION)
def unknown(cohort):
    words = cohort.one_event.astype(str).astype(object)
    words[cohort.some(0.05)] = "unknown"
    return cohort.of(cohort.frame(words), says=("unknown",))


@messy("events: SAS's column 'censored', 1 for the censored", QUESTION)
def censoring_indicator(cohort):
    table = cohort.frame().drop(columns=EVENT).assign(censored=1 - cohort.one_event)
    return cohort.of(table, event_column="censored", says=("censored", r"\b1\b"))


@messy("events: a column 'alive' with yes and no", QUESTION)
def alive_column(cohort):
    table = cohort.frame().drop(columns=EVENT).assign(alive=cohort.words("yes", "no"))
    return cohort.of(table, event_column="alive", says=("alive", "yes|no"))
