"""Classify labels of an event column: numbers, texts, dates, and words that mean censored."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

# Without accents, case and punctuation, as `plain_words` writes a label.
USUAL_WORDS = frozenset(
    {
        # English
        *("0", "false", "no", "none", "censored", "censor", "censoring", "cens", "right censored"),
        *("administratively censored", "administrative censoring", "censored alive"),
        *("alive", "still alive", "living", "survived", "surviving", "survivor", "alive censored"),
        *("event free", "eventfree", "no event", "no events", "without event"),
        *("lost", "ltfu", "lost to follow up", "lost to followup", "lost to fu", "lost follow up"),
        *("withdrawn", "withdrew", "withdrawal", "dropout", "drop out", "dropped out"),
        *("end of study", "study end", "end of follow up", "end of followup"),
        # German
        *("zensiert", "lebt", "lebend", "lebendig", "am leben", "nein", "keine", "kein"),
        *("kein ereignis", "ereignisfrei", "ohne ereignis", "falsch", "studienende"),
        # French
        *("censure", "censuree", "vivant", "vivante", "en vie", "non", "aucun", "aucune", "faux"),
        *("perdu de vue", "perdue de vue", "sans evenement", "aucun evenement"),
        # Spanish, Portuguese, Italian
        *("censurado", "censurada", "vivo", "viva", "ninguno", "ninguna", "sin evento", "falso"),
        *("perdido", "perdida", "perdido de seguimiento", "perdida de seguimiento"),
        *("nao", "nenhum", "nenhuma", "sem evento", "censurato", "censurata", "vivente", "nessuno"),
        *("nessun evento", "perso al follow up"),
        # Dutch, Danish, Swedish, Norwegian
        *("gecensureerd", "levend", "in leven", "nee", "geen", "nej", "nei", "censurerad"),
        *("censureret", "sensurert", "i live", "levande", "levende"),
    }
)
NOT_KNOWN = frozenset({"na", "n a", "nan", "nat", "null", "missing", "fehlend", "manquant", "k a"})
BLANKS = frozenset({"", "-", "--", "---", ".", "..", "...", "?", "\u2013", "\u2014"})
DEATH = re.compile(
    r"\b(died|dead|death|deaths|deceased|fatal|mortality|expired|killed|tod|tot|gestorben|"
    r"verstorben|mort|morte|deces|decede|decedee|muerte|muerto|muerta|fallecid[oa]|obito|dood)\b"
)
_NEGATION = re.compile(
    r"(0|no|not|without|never|kein|keine|ohne|nicht|sin|sem|sans|pas|aucune?|senza|geen)\b"
)
_CENSORING = re.compile(
    r"\b(alive|living|lebt|lebend|vivante?|vivo|viva|censor\w*|cens|cnsr|zensiert|censur\w*|\w*free|"
    r"\w{3,}frei|follow up|followup|ltfu|withdr\w*|dropout|drop out|dropped out|"
    r"surviv(ed|or|ors|ing)|end of study|study end|ongoing|healthy|emigr\w*|moved|ausgewandert|"
    r"verzogen|weggezogen|udvandret|utvandrad|last (contact|seen)|data cut ?off)\b|"
    r"^(lost|perdue?|perdid[oa]|still|unknown|unk|unbekannt|inconnue?|desconocid[oa]|not known|ned|"
    r"awd|nead)\b|^(completed( the)?( study)?|study completed)$"
)
_OCCASION = re.compile(
    r"\b(\w+ ?free survival|follow up|followup|end of study|study end|last (contact|seen))\b"
)
_STATUS = re.compile(r"\b(status|event|outcome|endpoint|state|zustand)\b")
TRUTHS = frozenset({"1", "yes", "y", "true", "ja", "oui", "si"})
_UNCENSORED = re.compile(r"\b(uncensored|unzensiert|(not|non) censored)\b")
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/. ](\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)


def plain_label(value: Any) -> Any:
    """Convert a label to whole number or text: 1.0, "1", "1.0", True are 1; None if missing.

    Examples
    --------
    >>> [plain_label(value) for value in (2.0, "1.0", True, " Relapse ", "", float("nan"))]
    [2, 1, 1, 'Relapse', None, None]
    """
    value = decoded(value)
    if isinstance(value, str):
        return _plain_text(value.strip())
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (float, np.floating, Decimal)):
        if np.isnan(float(value)) if isinstance(value, float | np.floating) else value.is_nan():
            return None
        return int(value) if np.isfinite(float(value)) and value == int(value) else value
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        return int(value)
    missing = value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")
    return None if missing else value


def decoded(label: Any) -> Any:
    r"""Decode bytes that are a text; others stay bytes, as any text for them would be made up.

    Examples
    --------
    >>> decoded(b"dead"), decoded(b"\xe4")
    ('dead', b'\xe4')
    """
    try:
        return label.decode("utf-8") if isinstance(label, bytes) else label
    except UnicodeDecodeError:
        return label


def _plain_text(text: str) -> Any:
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", text):
        return int(float(text)) if "." in text else int(text)
    if text.lower() in ("true", "false"):
        return int(text.lower() == "true")
    return None if text in BLANKS or plain_words(text) in NOT_KNOWN else text


def is_date(label: Any) -> bool:
    """Check whether a label is a date, also one written as text.

    Examples
    --------
    >>> [is_date(label) for label in ("2021-03-04", "4.3.2021", "stage 3", np.datetime64("2021"))]
    [True, True, False, True]
    """
    if isinstance(label, str):
        return _DATE.fullmatch(label) is not None
    return isinstance(label, np.datetime64) or hasattr(label, "isoformat")


def is_usual(label: Any) -> bool:
    """Check whether a label is 0, one of the usual words for censored, or both, as in 0:LIVING.

    Examples
    --------
    >>> [is_usual(label) for label in (0, "ALIVE", "Lost to follow-up", "0 = alive")]
    [True, True, True, True]
    >>> [is_usual(label) for label in ("alive with disease", "0 = dead")]
    [False, False]
    """
    if not isinstance(label, str):
        return bool(label == 0)
    return plain_words(label).removeprefix("0 ") in USUAL_WORDS


def looks_censored(label: Any) -> bool:
    """Check whether a label may mean censored though it is not one of the usual words.

    Examples
    --------
    >>> [looks_censored(label) for label in ("alive with disease", "not dead", "0 = dead")]
    [True, True, True]
    >>> [looks_censored(label) for label in ("died in follow-up", "non-relapse mortality", 1)]
    [False, False, False]
    """
    if not isinstance(label, str) or is_usual(label):
        return False
    text = plain_words(label)
    if _UNCENSORED.search(text):
        return False
    if _NEGATION.match(text):
        return True
    return _CENSORING.search(text) is not None and DEATH.search(text) is None


def names_the_censored(name: str) -> bool:
    """Check whether 1 may mean censored in a column of that name.

    In "status at last contact" the words that could mean censored only say when it was asked.

    Examples
    --------
    >>> [names_the_censored(name) for name in ("isAlive", "CNSR", "status_last_contact", "died")]
    [True, True, False, False]
    """
    words = plain_words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
    without_occasion = _OCCASION.sub(" ", words)
    words = without_occasion if _STATUS.search(without_occasion) else words
    return is_usual(words) or looks_censored(words)


def is_truth(label: Any) -> bool:
    """Check whether a label is 1, "yes", "true" or the like.

    Examples
    --------
    >>> is_truth(1), is_truth("Yes"), is_truth("relapse")
    (True, True, False)
    """
    return plain_words(str(label)) in TRUTHS


def same_label(label: Any) -> Any:
    """Reduce a label to what is compared: case and spaces do not count."""
    return " ".join(label.casefold().split()) if isinstance(label, str) else label


def plain_words(text: str) -> str:
    """Strip case, accents and punctuation of a text, one space between words."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[\W_]+", " ", plain).split())


def sort_causes(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Sort distinct labels: numbers in order, then texts in order.

    Examples
    --------
    >>> sort_causes(["relapse", 3, 1, "relapse"])
    (1, 3, 'relapse')
    """
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))
