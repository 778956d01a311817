"""Files as programs write them: separators, decimal marks, encodings, headers, empty lines."""

import numpy as np

from messy.table import QUESTION, RIGHT, WARNED, as_csv, messy

COMMAND = ("command",)


@messy("files: semicolons and comma decimals", RIGHT)
def semicolons(cohort):
    raw = as_csv(cohort.frame(), sep=";", decimal=",")
    return cohort.of(raw, ways=COMMAND)


@messy("files: semicolons and comma decimals, said by options", RIGHT)
def semicolons_told(cohort):
    raw = as_csv(cohort.frame(), sep=";", decimal=",")
    return cohort.of(raw, ways=COMMAND, options=("--sep", ";", "--decimal", ","))


@messy("files: semicolons, texts with commas in them", RIGHT)
def semicolons_and_commas(cohort):
    site = cohort.rng.choice(["colon, left", "colon, right", "rectum"], cohort.n)
    X = cohort.X.assign(site=site)
    raw = as_csv(X.assign(months=cohort.duration, cause=cohort.event), sep=";", decimal=",")
    return cohort.of(raw, X=X, ways=COMMAND)


@messy("files: tabs in a .csv", RIGHT, QUESTION)
def tabs(cohort):
    return cohort.of(as_csv(cohort.frame(), sep="\t"), ways=COMMAND, says=("tab|\\\\t", "sep"))


@messy("files: umlauts in latin-1", RIGHT, QUESTION)
def latin_1(cohort):
    sex = np.where(cohort.X["sex"] == "male", "männlich", "weiblich")
    X = cohort.X.assign(sex=sex)
    table = X.assign(months=cohort.duration, cause=cohort.event)
    raw = as_csv(table, sep=";", decimal=",", encoding="latin-1")
    return cohort.of(raw, X=X, ways=COMMAND, says=("encoding",))


@messy("files: umlauts in a header in latin-1", RIGHT, QUESTION)
def latin_1_header(cohort):
    X = cohort.X.rename(columns={"nodes": "Größe"})
    table = X.assign(months=cohort.duration, cause=cohort.event)
    raw = as_csv(table, sep=";", decimal=",", encoding="latin-1")
    return cohort.of(raw, X=X, ways=COMMAND, says=("encoding",))


@messy("files: a byte order mark", RIGHT)
def byte_order_mark(cohort):
    return cohort.of(as_csv(cohort.frame(), encoding="utf-8-sig"), ways=COMMAND)


@messy("files: UTF-16 as Excel's Unicode text", RIGHT, QUESTION)
def utf_16(cohort):
    raw = as_csv(cohort.frame(), sep="\t", encoding="utf-16")
    return cohort.of(raw, ways=COMMAND, says=("encoding",))


@messy("files: two columns of one name", QUESTION, WARNED)
def two_of_one_name(cohort):
    table = cohort.frame(second=cohort.rng.normal(60, 5, cohort.n).round(1))
    raw = as_csv(table.rename(columns={"second": "age"}))
    return cohort.of(
        raw,
        ways=COMMAND,
        optional=("age", "age.1"),
        says=("age", "more than once|twice|same name|duplicat"),
    )


@messy("files: separators inside quotes", RIGHT)
def quoted(cohort):
    site = cohort.rng.choice(["colon, left", "colon, right", 'rectum ("deep")'], cohort.n)
    X = cohort.X.assign(site=site)
    raw = as_csv(X.assign(months=cohort.duration, cause=cohort.event))
    return cohort.of(raw, X=X, ways=COMMAND)


@messy("files: an empty column at the end of each line", RIGHT, WARNED)
def trailing_separator(cohort):
    lines = as_csv(cohort.frame()).decode().splitlines()
    raw = "".join(f"{line},\n" for line in lines).encode()
    return cohort.of(raw, ways=COMMAND, optional=("Unnamed: 7",), says=("Unnamed|empty|missing",))


@messy("files: an empty column at the end of each line but the header", RIGHT, QUESTION)
def ragged(cohort):
    """pandas takes the first column as row labels and shifts all names by one."""
    header, *lines = as_csv(cohort.frame()).decode().splitlines()
    raw = "\n".join([header, *(f"{line}," for line in lines)]).encode()
    return cohort.of(raw, ways=COMMAND, says=("column|header|separator",))


@messy("files: empty lines", RIGHT)
def empty_lines(cohort):
    header, *lines = as_csv(cohort.frame()).decode().splitlines()
    raw = "\r\n".join([header, "", *lines[:50], "", "", *lines[50:], "", ""]).encode()
    return cohort.of(raw, ways=COMMAND)


@messy("files: lines of nothing but separators, as Excel leaves them", RIGHT, WARNED, QUESTION)
def empty_rows(cohort):
    raw = as_csv(cohort.frame(), sep=";", decimal=",") + b";;;;;;\n" * 5
    return cohort.of(raw, ways=COMMAND, says=("line 24[2-6]|empty",))


@messy("files: a line of sums at the end", QUESTION)
def sums(cohort):
    raw = as_csv(cohort.frame()) + f"Total,,,,,,{int(cohort.died.sum())}\n".encode()
    return cohort.of(raw, ways=COMMAND, says=("line 242",))


@messy("files: a title above the header", QUESTION)
def title(cohort):
    raw = b"Export of 2024-05-01\n" + as_csv(cohort.frame())
    return cohort.of(raw, ways=COMMAND, says=("title.csv|table.csv|column|line",))


@messy("files: blanks around the names of columns", RIGHT, QUESTION)
def padded_header(cohort):
    header, rest = as_csv(cohort.frame()).decode().split("\n", 1)
    raw = (", ".join(header.split(",")) + "\n" + rest).encode()
    return cohort.of(raw, ways=COMMAND, says=("months",))


@messy("files: Excel's first line sep=;", RIGHT, QUESTION)
def sep_line(cohort):
    raw = b"sep=;\r\n" + as_csv(cohort.frame(), sep=";", decimal=",")
    return cohort.of(raw, ways=COMMAND, says=("sep",))


@messy("files: bars between columns", RIGHT, QUESTION)
def bars(cohort):
    return cohort.of(as_csv(cohort.frame(), sep="|"), ways=COMMAND, says=("sep",))


@messy("files: tabs and comma decimals", RIGHT, QUESTION)
def tabs_and_commas(cohort):
    raw = as_csv(cohort.frame(), sep="\t", decimal=",")
    return cohort.of(raw, ways=COMMAND, says=("sep",))


@messy("files: notes of several lines", RIGHT)
def line_breaks(cohort):
    notes = [f"seen on ward {i};\nno complaints,\n\nsee letter {i * 7}" for i in range(cohort.n)]
    raw = as_csv(cohort.frame(notes=notes), sep=";", decimal=",")
    return cohort.of(raw, ways=COMMAND, secrets=("see letter",))


@messy("files: typographer's quotes and a euro sign in cp1252", RIGHT, QUESTION)
def cp1252(cohort):
    insurance = cohort.rng.choice(["“private”", "over 100 €", "none"], cohort.n)
    X = cohort.X.assign(insurance=insurance)
    table = X.assign(months=cohort.duration, cause=cohort.event)
    raw = as_csv(table, sep=";", decimal=",", encoding="cp1252")
    return cohort.of(raw, X=X, ways=COMMAND, says=("encoding",))


@messy("files: a header and nothing else", QUESTION)
def only_a_header(cohort):
    return cohort.of(as_csv(cohort.frame()[:0]), ways=COMMAND, says=("row|subject|sample|empty",))


@messy("files: nothing at all", QUESTION)
def nothing(cohort):
    return cohort.of(b"", ways=COMMAND, says=("table.csv", "empty|no columns|nothing"))
