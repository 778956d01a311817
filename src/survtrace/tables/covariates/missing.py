"""Texts and numbers that stand for "not known"."""

from __future__ import annotations

import math

# In any case, with or without spaces around them.
MARKERS = (
    "",
    *("na", "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil"),
    *("unknown", "unk", "unkn", "unknown/missing", "not known", "not available", "not recorded"),
    *("not done", "not assessed", "not measured", "not applicable", "missing", "missing data"),
    *("no data", "nd", "n.d.", "ni", "tbd", "?", "??", "???", "-", "--", "---", "\u2013", "\u2014"),
    *(".", "..", "...", "*", "/", "x", "#value!", "#ref!", "#div/0!"),
    *("unbekannt", "nicht bekannt", "k.a.", "k. a.", "keine angabe", "fehlt", "fehlend"),
    *("inconnu", "nc", "n.c.", "desconocido", "sconosciuto", "onbekend", "ok\u00e4nt", "ukjent"),
)
# Of a categorical column, these are levels.
LEVELS = ("none", "nil", "x", "*", "/", "nd", "ni", "nc", "not done")
_CODES = (9, 99, 999, 9999, 99999, 999999, 88, 888, 8888, 77, 777, 7777, 99.9, 999.9, 9.99, 99.99)
# Numbers that often mean "not known", where they lie far from all others.
SENTINELS: tuple[float, ...] = (*_CODES, *(-code for code in _CODES))


def is_plain_number(text: str) -> bool:
    """Check whether a text is a finite number as Python writes it.

    Examples
    --------
    >>> is_plain_number("-99"), is_plain_number("unknown"), is_plain_number("nan")
    (True, False, False)
    """
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
