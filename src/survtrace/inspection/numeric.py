"""Inspect a column of numbers for identifiers, dates, and codes such as 999."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError
from survtrace.inspection.dictionary import Entry
from survtrace.inspection.distinct import rows
from survtrace.inspection.finding import Finding, covariate_of
from survtrace.inspection.texts import (
    N_IDENTIFIER,
    is_named_like_a_code,
    is_named_like_a_date,
    is_named_like_a_key,
    is_named_like_an_identifier,
)
from survtrace.tables.covariates.columns import numbers
from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.missing import SENTINELS, is_plain_number

SEVERAL_ROWS = (
    "each row counts as a patient of its own; keep one row of each, or name it as id and give each "
    "row its entry"
)
KEY = (
    "named like an identifier, but used as a number: if it names patients with several rows, "
    f"{SEVERAL_ROWS}. If it names places, name it as categorical"
)
FEW_DAYS = 3_000  # fewer than from the origin of any program to most dates; more than any year
# Rows to judge groups by, at least and at most, and the distinct numbers that each must have.
N_GROUPED, SAMPLE, N_DISTINCT = 100, 5_000, 10
# Codes below 0 are few and small, and beside them that share of numbers is 0 or 1.
MOST_CODES, LARGEST_CODE, NEAR_ZERO = 3, 30, 0.15
KEY_BESIDE_ID = (
    "named like an identifier, but used as a number: if it names patients, leave it out; if it "
    "names places, name it as categorical"
)


def inspect_numbers(series: nw.Series[Any], entry: Entry, missing: tuple[str, ...]) -> Finding:
    """Find out whether numbers are a covariate, and whether some of them mean "not known"."""
    marked = tuple(dict.fromkeys(text for text in missing if is_plain_number(text)))
    plain = Covariate(series.name, "numerical")
    try:
        everything = numbers(series.to_frame(), plain)
    except (DataError, OverflowError):  # infinite: refused where the values are read
        covariate = covariate_of(series.name, "numerical", entry, missing=marked)
        return Finding(series.name, "numbers", "", 0, "numerical", covariate=covariate)
    present = everything[~np.isnan(everything)]
    is_marker = np.isin(present, [float(text) for text in marked])
    markers = {
        f"{v:g}": int(n)
        for v, n in zip(*np.unique(present[is_marker], return_counts=True), strict=True)
    }
    values = present[~is_marker] if markers else present
    covariate = covariate_of(
        series.name,
        "numerical",
        entry,
        missing=(*entry.missing, *(t for t in marked if f"{float(t):g}" in markers)),
    )
    n_missing = len(everything) - len(values)
    content = f"{values.min():g} to {values.max():g}" if len(values) else "nothing"
    finding = Finding(
        series.name,
        "numbers",
        content,
        n_missing,
        "numerical",
        markers=markers,
        covariate=covariate,
        by_user=bool(entry.kind),
    )
    role, reason = "", ""
    if not finding.by_user and _are_days(values):
        role, reason = "date", "dates written as numbers, such as 20190304"
    elif not finding.by_user and is_named_like_a_date(series.name) and _count_from_afar(values):
        role, reason = "date", "dates by its name, written as numbers such as Excel's 43831"
    elif not finding.by_user:
        role, reason = "identifier", _why_identifier(series.name, values, len(everything))
    if reason:
        left_out = replace(finding, use="left out", covariate=None, content="")
        return replace(left_out, reason=reason, role=role)
    low = -np.inf if entry.low is None else entry.low
    high = np.inf if entry.high is None else entry.high
    n_outside, warnings = int(((values < low) | (values > high)).sum()), []
    if n_outside:
        warnings.append(f"{rows(n_outside)} outside {low:g} to {high:g}")
    is_whole = not finding.by_user and len(values) > 0 and are_whole(values)
    if is_whole and is_named_like_a_code(finding.name):
        warnings.append("numbers that seem to be codes: if so, name it as categorical")
    elif is_whole and is_named_like_a_key(finding.name) and values.max() - values.min() > 1:
        warnings.append(KEY)
    if not finding.by_user and (seen := two_groups(values)):
        warnings.append(seen)
    return replace(finding, warnings=tuple(warnings), sentinels=find_sentinels(values))


def _why_identifier(name: str, values: NDArray[np.float64], n_rows: int) -> str:
    """Return the reason why whole numbers are identifiers; "" if they are not."""
    if len(values) < max(N_IDENTIFIER, 0.5 * n_rows) or not are_whole(values):
        return ""
    named = is_named_like_an_identifier(name)
    low, high = float(values.min()), float(values.max())
    alike = low > 1e5 and high - low < 0.02 * low  # long numbers that begin alike
    span = high - low + 1
    if not (named or alike) and span > 3 * len(values):
        return ""
    n_distinct = len(np.unique(values))
    seen = f"identifier: {n_distinct} distinct numbers in {len(values)} rows"
    if named and n_distinct >= max(N_IDENTIFIER, 0.5 * len(values)) and high > len(values) / 2:
        return f"{seen}, and its name"
    if n_distinct < len(values):
        return ""
    steps = np.diff(values)
    if alike or span == len(values) or (steps > 0).all() or (steps < 0).all():
        return seen
    return ""


def _are_days(values: NDArray[np.float64]) -> bool:
    """Check whether numbers are days, as 20190304 is the fourth of March."""
    if len(values) < 2 or values.min() < 19000101 or values.max() > 21001231:
        return False
    month, day = values // 100 % 100, values % 100
    right = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(right.all() and are_whole(values))


def _count_from_afar(values: NDArray[np.float64]) -> bool:
    """Check whether numbers may count days, or seconds, from 1900, 1960 or the like; no years."""
    return len(values) > 1 and bool(np.median(np.abs(values)) > FEW_DAYS)


def are_whole(values: NDArray[np.float64]) -> bool:
    """Check whether all numbers are whole, the first hundred before the others."""
    return bool(
        (values[:100] == np.floor(values[:100])).all() and (values == np.floor(values)).all()
    )


def two_groups(values: NDArray[np.float64]) -> str:
    """Say that measurements lie in two groups, as those in two units do; "" if they do not.

    Examples
    --------
    >>> two_groups(np.append(np.linspace(9, 18, 60), np.linspace(90, 180, 80)))
    'in two groups far apart, 9 to 18 (43 %) and 90 to 180 (57 %): perhaps in two units'
    >>> two_groups(np.linspace(9, 180, 140))
    ''
    """
    some = np.sort(values[:SAMPLE][values[:SAMPLE] != 0])
    if len(some) < N_GROUPED or some[0] < 0:
        return ""
    upper = int(np.argmax(np.diff(np.log(some)))) + 1  # ratios of tiny numbers overflow
    groups, share = (some[:upper], some[upper:]), upper / len(some)
    far = some[upper] > 2 * some[upper - 1] and 0.05 < share < 0.95
    if not far or min(len(np.unique(group)) for group in groups) < N_DISTINCT:
        return ""
    low, high = (f"{group[0]:g} to {group[-1]:g}" for group in groups)
    return (
        f"in two groups far apart, {low} ({100 * share:.0f} %) and {high} "
        f"({100 * (1 - share):.0f} %): perhaps in two units"
    )


def find_sentinels(values: NDArray[np.float64]) -> dict[str, int]:
    """Count numbers such as 999 that lie far from all others and may mean "not known".

    Examples
    --------
    >>> find_sentinels(np.array([*range(20, 40), 999.0, 999.0]))
    {'999': 2}
    """
    found: dict[str, int] = {}
    for _ in range(3):
        if len(values) < 10:
            break
        low, high = values.min(), values.max()
        for code, others in ((high, values[values < high]), (low, values[values > low])):
            if code not in SENTINELS or len(others) < 2:
                continue
            below = code <= -9 and others.min() >= 0
            if abs(code) == 9 and not (below or are_whole(others)):  # one digit: one among codes
                continue
            gap = min(abs(others.min() - code), abs(others.max() - code))
            far = gap > others.max() - others.min() and others.max() > others.min()
            if far or below:
                found[f"{code:g}"] = len(values) - len(others)
                values = others
                break
        else:
            break
    return found | _codes_below_zero(values)


def _codes_below_zero(values: NDArray[np.float64]) -> dict[str, int]:
    """Count numbers such as -1 and -3 that may be codes beside counts, or choices, from 0 on.

    A score from -2 to 2 has all numbers between, and none that is much larger; of a measurement
    whose tail reaches below 0 few are near 0.

    Examples
    --------
    >>> counts, score = np.array([-3.0, 0, 1, 2, -1, -3]), np.arange(-2.0, 3)
    >>> _codes_below_zero(np.tile(counts, 20)), _codes_below_zero(np.tile(score, 20))
    ({'-3': 40, '-1': 20}, {})
    """
    below, others = values[values < 0], values[values >= 0]
    if not len(below) or not len(others) or len(values) < N_GROUPED or not are_whole(values):
        return {}
    codes, counts = np.unique(below, return_counts=True)
    lowest = -codes[0]
    if len(codes) > MOST_CODES or lowest > LARGEST_CODE:
        return {}
    apart = len(codes) < lowest or others.max() >= 5 * lowest
    if not apart or ((others <= 1).mean() < NEAR_ZERO and others.min() < 10 * lowest):
        return {}
    return {f"{code:g}": int(n) for code, n in zip(codes, counts, strict=True)}
