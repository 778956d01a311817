"""Numbers, shares, intervals and times as a page shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from survtrace.naming import Names, capital

NONE, SPACE, MINUS = "\N{EN DASH}", "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


def number(value: Any, digits: int = 4) -> str:
    """Return a number as it is read in a table: whole where it is large, no thousands separator.

    Examples
    --------
    >>> number(1996.0), number(0.123456), number(12345.678), number(float("nan"))
    ('1996', '0.1235', '12346', '–')
    """
    if value is None or (isinstance(value, float | np.floating) and not np.isfinite(value)):
        return NONE
    if isinstance(value, str | bool) or not isinstance(value, float | np.floating):
        return str(value)
    shown = f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return shown.replace("-", MINUS)


def share(value: float, digits: int = 1) -> str:
    r"""A probability in per cent.

    Examples
    --------
    >>> share(0.1234)
    '12.3\xa0%'
    """
    return f"{100 * value:.{digits}f}{SPACE}%" if np.isfinite(value) else NONE


def interval(ends: Any, factor: float = 1.0, digits: int = 3) -> str:
    r"""A value and the ends of its interval.

    Examples
    --------
    >>> interval((0.7, 0.65, 0.75)), interval((0.7, np.nan, np.nan))
    ('0.700 (0.650\xa0to\xa00.750)', '0.700')
    """
    value, low, high = (factor * float(end) for end in ends)
    if not np.isfinite(value):
        return NONE
    shown = [signed(each, digits).removeprefix("+") for each in (value, low, high)]
    return (
        shown[0]
        if low == high or np.isnan(low)
        else f"{shown[0]} ({shown[1]}{SPACE}to{SPACE}{shown[2]})"
    )


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign, a real minus; zero has none.

    Examples
    --------
    >>> signed(0.5), signed(-0.5), signed(-0.001)
    ('+0.50', '−0.50', '0.00')
    """
    shown = f"{value:+.{digits}f}"
    return shown[1:] if float(shown) == 0 else shown.replace("-", MINUS)


def span(names: Names, value: float) -> str:
    r"""A length of time, with its unit.

    Examples
    --------
    >>> span(Names({}, {}, "years"), 7.5)
    '7.5\xa0years'
    """
    return names.time(number(value)).replace(" ", SPACE)


def moment(names: Names, value: float) -> str:
    r"""A time on the clock, with its unit, and with its name where it has one.

    Examples
    --------
    >>> moment(Names({}, {}, "years", time_name="age"), 72.0)
    'age\xa072\xa0years'
    >>> moment(Names({}, {}, "days", time_name="time since transplant"), 90.0)
    '90\xa0days since\xa0transplant'
    """
    if names.time_name.startswith("time since "):
        return f"{span(names, value)} since{SPACE}{names.time_name[11:]}"
    return f"{names.time_name}{SPACE if names.time_name else ''}{span(names, value)}"


def environment(names: Names) -> Environment:
    """Make the templates' environment, with filters for numbers, times and names."""
    made = Environment(
        loader=PackageLoader("survtrace.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "capital": capital,
        "cause": names.cause,
        "covariate": names.covariate,
        "interval": interval,
        "moment": lambda value: moment(names, value),
        "number": number,
        "share": share,
        "signed": signed,
        "time": lambda value: span(names, value),
    }
    return made
