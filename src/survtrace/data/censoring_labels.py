"""Which labels of an event column mean censored; stop and ask where that is not clear."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from survtrace.errors import DataError, DataWarning

NOBODY = "nobody"  # censored="nobody": every label is a cause
EMPTY = "empty"  # censored="empty": a subject without a label is censored
MOST_CAUSES = 100
MANY = 10  # labels from which on a column may be an identifier

# Without accents, case and punctuation, as `_words` writes a label.
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
NOT_KNOWN = frozenset(
    {"", "na", "n a", "nan", "nat", "null", "nil", "missing", "fehlend", "manquant", "k a"}
)
_DEATH = re.compile(
    r"\b(died|dead|death|deaths|deceased|fatal|mortality|expired|killed|tod|tot|gestorben|"
    r"verstorben|mort|morte|deces|decede|decedee|muerte|muerto|muerta|fallecid[oa]|obito|dood)\b"
)
_NEGATION = re.compile(
    r"(0|no|not|without|never|kein|keine|ohne|nicht|sin|sem|sans|pas|aucune?|senza|geen)\b"
)
_CENSORING = re.compile(
    r"\b(alive|living|lebt|lebend|vivante?|vivo|viva|censor\w*|cens|zensiert|censur\w*|free|"
    r"follow up|followup|ltfu|withdr\w*|dropout|drop out|dropped out|surviv(ed|or|ors|ing)|"
    r"end of study|study end|ongoing|healthy)\b|^(lost|perdue?|perdid[oa]|still|unknown|unk|"
    r"unbekannt|inconnue?|desconocid[oa]|not known)\b"
)
_UNCENSORED = re.compile(r"\b(uncensored|unzensiert|(not|non) censored)\b")
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/. ](\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)


class LabelCounts(NamedTuple):
    """How many subjects have each label, and the sum of their durations."""

    n: dict[Any, int]
    followed: dict[Any, float]

    @classmethod
    def join(cls, parts: Iterable[LabelCounts]) -> LabelCounts:
        """The counts of several parts of a table together."""
        n, followed = dict[Any, int](), dict[Any, float]()
        for part in parts:
            for label, count in part.n.items():
                n[label] = n.get(label, 0) + count
                followed[label] = followed.get(label, 0.0) + part.followed[label]
        return cls(n, followed)


class Meaning(NamedTuple):
    """The labels that are causes, sorted, and those that mean censored."""

    causes: tuple[Any, ...]
    censored: tuple[Any, ...]


def plain_label(value: Any) -> Any:
    """A label as whole number or text: 1.0, "1", "1.0" and True are 1; None for a missing one.

    Examples
    --------
    >>> [plain_label(value) for value in (2.0, "1.0", True, " Relapse ", "", float("nan"))]
    [2, 1, 1, 'Relapse', None, None]
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        return _plain_text(value.strip())
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (float, np.floating, Decimal)):
        if value != value:
            return None
        return int(value) if np.isfinite(float(value)) and value == int(value) else value
    if isinstance(value, (int, np.integer)):
        return int(value)
    return None if _is_missing(value) else value


def _plain_text(text: str) -> Any:
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", text):
        return int(float(text)) if "." in text else int(text)
    if text.lower() in ("true", "false"):
        return int(text.lower() == "true")
    return None if _words(text) in NOT_KNOWN else text


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def is_date(label: Any) -> bool:
    """Whether a label is a date, also one written as text.

    Examples
    --------
    >>> [is_date(label) for label in ("2021-03-04", "4.3.2021", "stage 3", np.datetime64("2021"))]
    [True, True, False, True]
    """
    if isinstance(label, str):
        return _DATE.fullmatch(label) is not None
    return isinstance(label, np.datetime64) or hasattr(label, "isoformat")


def is_usual(label: Any) -> bool:
    """Whether a label is 0 or one of the usual words for censored.

    Examples
    --------
    >>> [is_usual(label) for label in (0, "ALIVE", "Lost to follow-up", "alive with disease")]
    [True, True, True, False]
    """
    return label == 0 if isinstance(label, int) else _words(label) in USUAL_WORDS


def looks_censored(label: Any) -> bool:
    """Whether a label may mean censored though it is not one of the usual words.

    Examples
    --------
    >>> [looks_censored(label) for label in ("alive with disease", "not dead", "0 = alive")]
    [True, True, True]
    >>> [looks_censored(label) for label in ("died in follow-up", "non-relapse mortality", 1)]
    [False, False, False]
    """
    if not isinstance(label, str) or is_usual(label):
        return False
    words = _words(label)
    if _UNCENSORED.search(words):
        return False
    if _NEGATION.match(words):
        return True
    return _CENSORING.search(words) is not None and _DEATH.search(words) is None


def same_label(label: Any) -> Any:
    """What two spellings of a label have in common: case and spaces do not count."""
    return " ".join(label.casefold().split()) if isinstance(label, str) else label


def _words(text: str) -> str:
    """A text without case, accents and punctuation, one space between words."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[\W_]+", " ", plain).split())


def sort_causes(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct labels: numbers in order, then texts in order.

    Examples
    --------
    >>> sort_causes(["relapse", 3, 1, "relapse"])
    (1, 3, 'relapse')
    """
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))


def named_labels(censored: Any) -> tuple[Any, ...] | None:
    """The labels that ``censored=`` names: one, or several; none at all for ``[]``."""
    if censored is None:
        return None
    one = isinstance(censored, (str, bytes)) or not isinstance(censored, Iterable)
    return tuple(plain_label(label) for label in ([censored] if one else censored))


def read_meaning(counts: LabelCounts, censored: Any = None, *, ask: bool = True) -> Meaning:
    """Decide which labels mean censored; `DataError` where they do not say it clearly.

    Parameters
    ----------
    counts
        The labels of the whole table.
    censored
        The labels that mean censored, and these alone; ``[]`` or ``"nobody"`` if none does;
        ``"empty"`` is a missing label. By default 0 and the usual words.
    ask
        Whether a table without anybody censored is questioned if it has several labels.

    Examples
    --------
    >>> read_meaning(LabelCounts({"Alive": 7, "relapse": 3}, {"Alive": 9.0, "relapse": 8.0}))
    Meaning(causes=('relapse',), censored=('Alive',))
    """
    labels = list(counts.n)
    named = named_labels(censored)
    if named is not None:
        means = _labels_named(labels, named, counts)
        _warn_of_usual([label for label in labels if label not in means], counts)
    else:
        means = [label for label in labels if is_usual(label)]
        _ask(counts, means, ask)
    others = {label: n for label, n in counts.n.items() if label not in means}
    causes = sort_causes(_one_spelling(others).values())
    _require_few(causes, counts)
    return Meaning(causes, sort_causes(means))


def _labels_named(labels: Sequence[Any], named: Sequence[Any], counts: LabelCounts) -> list[Any]:
    known = {same_label(label) for label in labels}
    absent = [label for label in named if same_label(label) not in known]
    if absent and list(named) != [NOBODY]:
        raise DataError(
            f"censored must name labels that occur; {absent} do not. The event column has "
            f"{shown(counts)}. Pass one of these labels, or censored=[] if nobody is censored.",
            in_command=f"--censored must name a label that occurs; {absent} do not. The event "
            f"column has {shown(counts)}. Pass one of these labels, or --censored {NOBODY} if "
            "nobody is censored.",
        )
    wanted = {same_label(label) for label in named}
    return [label for label in labels if same_label(label) in wanted]


def _warn_of_usual(causes: Sequence[Any], counts: LabelCounts) -> None:
    """Say that a usual word for censored is a cause, because ``censored=`` names others."""
    usual = {label: counts.n[label] for label in causes if is_usual(label)}
    if usual:
        warnings.warn(
            f"{shown(LabelCounts(usual, {}))} usually means censored; here it is a cause, since "
            "censored= names other labels. Add it there if it is none.",
            DataWarning,
            stacklevel=5,
        )


def _ask(counts: LabelCounts, means: Sequence[Any], ask: bool) -> None:
    """Stop where labels do not say clearly who is censored."""
    others = [label for label in counts.n if label not in means]
    doubtful = [label for label in others if looks_censored(label)]
    if doubtful:
        are = "looks" if len(doubtful) == 1 else "look"
        _stop(
            f"{_listed(doubtful)} {are} like censored, but not surely so. The event column has "
            f"{shown(counts)}.",
            (f"if {_listed(doubtful)} means censored", [*means, *doubtful]),
            (f"if {_listed(doubtful)} is a cause", list(means)),
        )
    if means or not ask or len(others) < 2:
        return
    if sorted(map(str, others)) == ["1", "2"]:
        _stop(
            f"the event column has {shown(counts)}, and nobody has 0. R codes 1 for censored and "
            "2 for dead; 1 and 2 can also be two causes.",
            ("if 1 means censored", [1]),
            ("if both are causes", []),
        )
    likely = max(others, key=lambda label: counts.followed[label] / counts.n[label])
    _stop(
        f"nobody is censored, though there are several labels: the event column has "
        f"{shown(counts)}. Those with {likely!r} were followed longest.",
        (f"if {likely!r} means censored", [likely]),
        ("if every label is a cause", []),
    )


def _stop(question: str, *answers: tuple[str, list[Any]]) -> None:
    in_python = ", ".join(f"censored={_argument(labels)} {when}" for when, labels in answers)
    in_command = ", ".join(f"{_options(labels)} {when}" for when, labels in answers)
    raise DataError(
        f"{question} Say who is censored: {in_python}; for example "
        'Surv.from_arrays(event, duration, censored=...), or "censored" in a mapping of column '
        "names.",
        in_command=f"{question} Say who is censored: {in_command}.",
    )


def _argument(labels: list[Any]) -> str:
    return repr(labels[0] if len(labels) == 1 else labels)


def _options(labels: list[Any]) -> str:
    if not labels:
        return f"--censored {NOBODY}"
    texts = [str(label) for label in labels]
    quoted = [text if re.fullmatch(r"[\w.-]+", text) else f'"{text}"' for text in texts]
    return " ".join(f"--censored {text}" for text in quoted)


def _require_few(causes: Sequence[Any], counts: LabelCounts) -> None:
    """Refuse an event column that tells subjects apart: a date, an identifier, a duration."""
    n = sum(counts.n.values())
    n_events = sum(n for label, n in counts.n.items() if label in causes)
    if len(causes) > MOST_CAUSES or (len(causes) >= MANY and 2 * len(causes) > n_events):
        raise DataError(
            f"event must say what ended the follow-up, by few labels; {len(causes)} different "
            f"ones among {n} subjects look like an identifier or a time (first: "
            f"{_listed(list(causes)[:3])}). Pass a column with 0 for censored, or the cause."
        )


def refuse_dates(dates: Sequence[Any], n_dates: int, n_subjects: int) -> None:
    """Say that a date of death is no event code."""
    raise DataError(
        "event must say what ended the follow-up, not when: a date is no event code; "
        f"{n_dates} of {n_subjects} are dates (first: {str(dates[0])!r}). Make a column that is 1 "
        'where the date is known and 0 elsewhere, for example df["date"].notna().astype(int), and '
        "a duration from the start of follow-up to that date or to the last contact.",
        in_command="--event must name what ended the follow-up, not when: a date is no event "
        f"code; {n_dates} of {n_subjects} are dates (first: {str(dates[0])!r}). Add a column to "
        "the table that is 1 where the date is known and 0 elsewhere, and name that; --duration "
        "is the time from the start of follow-up to that date or to the last contact.",
    )


def shown(counts: LabelCounts, most: int = 12) -> str:
    """Labels with their counts, the frequent first.

    Examples
    --------
    >>> shown(LabelCounts({"alive": 2, 1: 3}, {}))
    "1 (3 subjects), 'alive' (2)"
    """
    frequent = sorted(counts.n.items(), key=lambda item: -item[1])
    parts = [f"{label!r} ({n})" for label, n in frequent[:most]]
    if parts:
        parts[0] = parts[0][:-1] + " subjects)"
    return ", ".join(parts) + (f" and {len(frequent) - most} more" if len(frequent) > most else "")


def _listed(labels: Sequence[Any]) -> str:
    return ", ".join(repr(label) for label in labels)


def label_numbers(labels: Sequence[Any], meaning: Meaning) -> list[int | None]:
    """The number of each label: 0 if it means censored, its place in the causes, None if unknown.

    A cause's own label comes first; then the labels that mean censored, and the usual words.

    Examples
    --------
    >>> label_numbers(["Relapse", "alive", "moved", 7], Meaning(("relapse",), ("moved",)))
    [1, 0, 0, None]
    """
    exact = {label: k for k, label in enumerate(meaning.causes, start=1)}
    alike = {same_label(plain_label(label)): k for label, k in exact.items()}
    censored = {same_label(label) for label in meaning.censored}

    def number(label: Any) -> int | None:
        if label in exact or same_label(label) in alike:
            return exact.get(label, alike.get(same_label(label)))
        return 0 if same_label(label) in censored or is_usual(label) else None

    return [number(label) for label in labels]


def _one_spelling(n: Mapping[Any, int]) -> dict[Any, Any]:
    """Each label by the most frequent spelling of it, with a warning if "Died" is also "died"."""
    best = dict[Any, Any]()
    for label in sorted(n, key=lambda label: (-n[label], str(label))):
        best.setdefault(same_label(label), label)
    others = {label: best[same_label(label)] for label in n if label not in best.values()}
    if others:
        warnings.warn(
            f"labels that differ only in case or spaces are one cause: {others}.",
            DataWarning,
            stacklevel=5,
        )
    return {label: best[same_label(label)] for label in n}
