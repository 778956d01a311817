"""Units that may follow a number, each written in one way."""

from __future__ import annotations

import re
from collections.abc import Sequence

SPACES = " \t\u00a0\u2007\u2009\u202f"
_UNIT_TEXTS = """
% ‰ ° °c °f °k mg kg ug ng pg mg/dl g/dl g/l mg/l ug/l ug/dl ug/ml ng/ml ng/l ng/dl pg/ml
mmol/l umol/l nmol/l pmol/l mol/l meq/l mval/l mmol/mol u/l iu/l u/ml iu/ml miu/l miu/ml mu/l
ku/l ie/l ie/ml /nl /ul /pl /l /fl fl pg/l gpt/l tpt/l tsd/ul mio/ul x10^9/l x10^12/l 10^9/l
10^12/l x10e9/l x10e12/l 10e9/l x10^3/ul x10^6/ul 10^3/ul 10^6/ul cells/ul /mm3 /mm³ ml dl ul cl
cc mm cm km nm um in inch inches ft lb lbs oz kg/m2 kg/m² kg/m^2 m2 m² cm2 cm² cm3 cm³ mm2 mm²
mm3 mm³ mmhg cmh2o kpa hpa pa mbar bar bpm /min l/min ml/min ml/min/1.73m2 ml/min/1.73m²
ml/min/1,73m2 ml/min/1,73m² ml/h ml/kg mg/kg mg/m2 mg/m² mg/d ug/kg mg/24h g/24h g/d sec secs
second seconds min mins minute minutes hr hrs hour hours day days wk wks week weeks mo mos mth
mths month months yr yrs year years jahr jahre jahren monat monate tage tag woche wochen std
stunden an ans mois jour jours año años mes meses día días anni mesi giorni gy cgy msv mci mbq
ms ms2 hz khz db kcal kj eur usd $ € pack-years packyears py points pts punkte score
"""
UNITS = frozenset(_UNIT_TEXTS.split())
_WORD = re.compile(r"/?[^\W\d_]+(?:[/·.*][^\W\d_]+)*[23²³]?")


def plain_unit(text: str) -> str | None:
    """Normalise the text of a unit: "" for none, None for a text that is no unit.

    Examples
    --------
    >>> plain_unit("mg / dL"), plain_unit("µg/l"), plain_unit("or more")
    ('mg/dl', 'ug/l', None)
    """
    text = (
        text.strip(SPACES).removesuffix(".").replace("\u00b5", "u").replace("\u03bc", "u").lower()
    )
    closed = re.sub(rf"[{SPACES}]", "", text)
    if not closed or closed in UNITS:
        return closed
    return text if len(text) <= 16 and _WORD.fullmatch(text) else None


_ALIKE = {
    "years": "y yr yrs year jahr jahre jahren an ans año años anni",
    "months": "mo mos mth mths month monat monate mois mes meses mesi",
    "days": "d day tag tage jour jours día días giorni",
    "weeks": "wk wks week woche wochen",
    "hours": "h hr hrs hour std stunden",
    "kg/m2": "kg/m² kg/m^2",
    "points": "pts punkte score",
    "°c": "c °",
}
_ONE_NAME = {other: name for name, others in _ALIKE.items() for other in others.split()}


def same_unit(text: str) -> str:
    """Map all ways to write a unit to one name; "" for what is no usual unit.

    Examples
    --------
    >>> same_unit("yrs") == same_unit("Years"), same_unit("furlongs")
    (True, '')
    """
    unit = plain_unit(text) or ""
    return _ONE_NAME.get(unit, unit if unit in UNITS else "")


def are_units(texts: Sequence[str]) -> bool:
    """Check whether texts are units, and not all the same: then numbers beside them are mixed.

    Single letters alone, such as H and D, are rather codes than hours and days.

    Examples
    --------
    >>> are_units(["Years", "months"]), are_units(["yrs", "years"]), are_units(["years", "male"])
    (True, False, False)
    """
    names = {same_unit(text) for text in texts}
    return len(names) > 1 and "" not in names and any(len(text.strip()) > 1 for text in texts)
