"""Decide which labels of an event column mean censored; stop and ask where that is unclear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from survtrace.errors import Answer, DataError, DataWarning, short, warn
from survtrace.tables.outcome.event_labels import (
    DEATH,
    is_truth,
    is_usual,
    looks_censored,
    names_the_censored,
    plain_label,
    plain_words,
    same_label,
    sort_causes,
)

NOBODY = "nobody"  # censored="nobody": every label is a cause
EMPTY = "empty"  # censored="empty": a subject without a label is censored
MOST_CAUSES = 100
MANY = 10  # labels from which on a column may be an identifier
LATE = 5  # subjects from which on a label of the longest-followed alone may mean censored
UNKNOWN_CODES = (9, 88, 99, 888, 999, 9999)


class Followed(NamedTuple):
    """The subjects of one label: how many, their durations in sum, the shortest and longest."""

    n: int
    total: float
    shortest: float
    longest: float

    def __add__(self, other: Followed) -> Followed:  # type: ignore[override]
        return Followed(
            self.n + other.n,
            self.total + other.total,
            min(self.shortest, other.shortest),
            max(self.longest, other.longest),
        )


class LabelCounts(dict[Any, Followed]):
    """The subjects of each label of an event column; ``|`` adds those of two chunks."""

    def __or__(self, other: LabelCounts) -> LabelCounts:  # type: ignore[override]
        joined = LabelCounts(self)
        for label, followed in other.items():
            joined[label] = joined[label] + followed if label in joined else followed
        return joined


class Meaning(NamedTuple):
    """The labels that are causes, sorted, and those that mean censored."""

    causes: tuple[Any, ...]
    censored: tuple[Any, ...]


def named_labels(censored: Any) -> tuple[Any, ...] | None:
    """Return the labels that ``censored=`` names: one, or several; none at all for ``[]``."""
    if censored is None:
        return None
    several = isinstance(censored, list | tuple | set | frozenset | np.ndarray)
    labels = np.ravel(censored) if isinstance(censored, np.ndarray) else censored
    plain = tuple(plain_label(label) for label in (labels if several else [censored]))
    if not all(label is None or isinstance(label, str | Real) for label in plain):
        raise DataError(
            "censored must be a label of the event column that means censored, a number or a "
            f"text, or a list of them; got {short(censored)}. Write for example censored=['alive']."
        )
    return plain


def read_meaning(
    counts: LabelCounts,
    censored: Any = None,
    *,
    name: str = "event",
    ask: bool = True,
    part: bool = False,
    late_entry: bool = False,
) -> Meaning:
    """Decide which labels mean censored; `DataError` where that is not clear.

    ``censored`` and ``ask`` are as in `read_outcome`; ``name`` is that of the event column. With
    ``part``, the counts are of some rows only, in which a label of ``censored`` need not occur.
    With ``late_entry``, rows have an entry: then durations, which may be ages, do not say who was
    followed longer.

    Examples
    --------
    >>> labels = {"Alive": Followed(7, 60.0, 5.0, 9.0), "relapse": Followed(3, 9.0, 1.0, 5.0)}
    >>> read_meaning(LabelCounts(labels))
    Meaning(causes=('relapse',), censored=('Alive',))
    """
    named = named_labels(censored)
    _refuse_two_ways(counts)
    if named is None:
        means = [label for label in counts if is_usual(label)]
    else:
        if not part:
            _require_present(named, counts)
        same = {same_label(label) for label in named}
        means = [label for label in counts if same_label(label) in same]
    others = [label for label in counts if label not in means]
    _require_few(others, counts)
    if named is None:
        _ask_about_name(name, counts)
        if ask and not late_entry:
            _ask_about_vital_status(name, counts)
        _ask(counts, means, others, ask)
        _warn_of_codes(others, counts)
    elif not (names_the_censored(name) or _is_vital_status(name)):  # 0 of CNSR is an event
        _warn_of_usual(others, counts)
    return Meaning(sort_causes(_merge_same_labels(others, counts)), sort_causes(means))


def ask_about_cause(name: str, causes: Sequence[Any]) -> None:
    """Stop where 1 is a cause to an estimator, but the column to be scored is called "alive"."""
    truths = [cause for cause in causes if is_truth(cause)]
    if truths and names_the_censored(name):
        _stop(
            f"the event column is called {name!r}, and {_listed(truths)} was an event in the fit; "
            "in a column of that name it may mean censored.",
            (f"if {_listed(truths)} means censored", truths),
            ("if it is an event here, too", [0]),
        )


def _ask_about_name(name: str, counts: LabelCounts) -> None:
    """Stop where, by the name of the event column, a 1 in it may mean censored, or alive.

    SAS's CNSR has a number for each reason of censoring, 0 for an event.
    """
    if not names_the_censored(name):
        return
    truths = [
        label for label in counts if is_truth(label) or (isinstance(label, int) and label > 0)
    ]
    others = [label for label in counts if label not in truths]
    doubtful = [label for label in others if looks_censored(label)]  # such as "unknown"
    usual = all(is_usual(label) or label in doubtful for label in others)
    if truths and usual and (others or len(truths) == 1):
        listed, s = _listed(truths), "" if len(truths) > 1 else "s"
        _stop(
            f"the event column is called {name!r} and has {shown(counts)}: it may say {listed} of "
            "those who are censored.",
            (f"if {listed} mean{s} censored", [*truths, *doubtful]),
            (f"if {listed} mean{s} an event", others),
        )


def _ask_about_vital_status(name: str, counts: LabelCounts) -> None:
    """Stop where 1 of a vital status may mean alive, as cancer registries code it (NAACCR).

    Who is alive was followed longer than the dead, on average; most columns of that name have 1
    for dead, and pass.
    """
    if set(counts) != {0, 1} or not _is_vital_status(name):
        return
    dead, alive = (counts[label].total / counts[label].n for label in (0, 1))
    if alive > dead:
        _stop(
            f"the event column is called {name!r} and has {shown(counts)}; those with 1 were "
            "followed longer. Cancer registries write 0 for dead and 1 for alive.",
            ("if 1 means alive", [1]),
            ("if 1 means dead", [0]),
        )


def _is_vital_status(name: str) -> bool:
    return "vitalstat" in plain_words(name).replace(" ", "")


def _require_present(named: Sequence[Any], counts: LabelCounts) -> None:
    present = {same_label(label) for label in counts}
    absent = [label for label in named if same_label(label) not in present]
    if absent and list(named) != [NOBODY]:
        rule = (
            f"censored must name labels that occur; {_listed(absent)} does not. The event column "
            f"has {shown(counts)}. Pass one of these labels, or"
        )
        raise DataError(
            f"{rule} censored=[] if nobody is censored.",
            in_command=f"--{rule} --censored {NOBODY} if nobody is censored.",
        )


def _warn_of_usual(causes: Sequence[Any], counts: LabelCounts) -> None:
    """Warn that a usual word for censored is a cause, because ``censored=`` names others."""
    usual = [label for label in causes if is_usual(label)]
    if usual:
        warn(
            f"{shown(counts, usual)} usually means censored; here it is a cause, since other "
            "labels were named as censored. Name it, too, if it is none.",
            DataWarning,
        )


def _refuse_two_ways(counts: LabelCounts) -> None:
    """Refuse codes of which some have leading zeros: 01 beside 1 would be a cause of its own."""
    numbers = {
        label: plain_label(label.lstrip("0") or "0")
        for label in counts
        if isinstance(label, str) and label.startswith("0") and label.isdecimal()
    }
    padded = [label for label, number in numbers.items() if number in counts]
    if padded:
        plain = [numbers[label] for label in padded]
        raise DataError(
            f"a code must be written in one way; the event column has {shown(counts, padded)} "
            f"beside {shown(counts, plain)}. Write all as numbers, such as event.astype(int), or "
            "all with leading zeros."
        )


def _warn_of_codes(causes: Sequence[Any], counts: LabelCounts) -> None:
    """Warn that a number far above the others, such as 9 or 99, is a cause."""
    codes = sorted(label for label in causes if isinstance(label, int))
    if len(codes) > 1 and codes[-1] in UNKNOWN_CODES and 2 * codes[-2] < codes[-1]:
        warn(
            f"{shown(counts, codes[-1:])} is a cause, but such a number often means that the event "
            "is not known. If so, drop these subjects.",
            DataWarning,
        )


def _ask(counts: LabelCounts, means: list[Any], others: list[Any], ask: bool) -> None:
    """Stop where labels leave it unclear who is censored."""
    doubtful = [label for label in others if looks_censored(label)]
    if doubtful:
        listed, many = _listed(doubtful), len(doubtful) > 1
        alone = means or len(doubtful) == len(others)  # else that label would be a cause unasked
        others_too = "" if alone else ", and so is every other label"
        _stop(
            f"{'each of ' if many else ''}{listed} may mean censored, or be a cause. The event "
            f"column has {shown(counts)}.{' Name those that mean censored.' if many else ''}",
            (f"if {'all of ' * many}{listed} mean{'s' * (not many)} censored", [*means, *doubtful]),
            (f"if {listed} {'are causes' if many else 'is a cause'}{others_too}", means),
        )
    late = _late_label(counts, others)
    if ask and means and late is not None:
        _stop(
            f"{late!r} may mean censored: those who have it were followed longer than all with "
            f"another cause. The event column has {shown(counts)}.",
            (f"if {late!r} means censored", [*means, late]),
            (f"if {late!r} is a cause", means),
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
    likely = max(others, key=lambda label: counts[label].total / counts[label].n)
    _stop(
        f"nobody is censored, though there are several labels: the event column has "
        f"{shown(counts)}. Those with {likely!r} were followed longest.",
        (f"if {likely!r} means censored", [likely]),
        ("if every label is a cause", []),
    )


def _late_label(counts: LabelCounts, causes: Sequence[Any]) -> Any:
    """Find a cause whose events all come after the last event of every other cause, or None."""
    for label in causes:
        last = max((counts[other].longest for other in causes if other != label), default=np.inf)
        text = plain_words(label) if isinstance(label, str) else ""
        if counts[label].n >= LATE and counts[label].shortest > last and not DEATH.search(text):
            return label
    return None


def _stop(question: str, *answers: tuple[str, list[Any]]) -> None:
    in_python = ", or ".join(
        f"censored={labels[0] if len(labels) == 1 else labels!r} {when}" for when, labels in answers
    )
    in_command = ", or ".join(f"{_options(labels)} {when}" for when, labels in answers)
    raise DataError(
        f"{question} Say who is censored, in Surv.from_arrays(event, duration, censored=...) or "
        f'by "censored" in a mapping of column names: {in_python}.',
        in_command=f"{question} Say who is censored: {in_command}.",
        answers=[Answer(when, _arguments(labels)) for when, labels in answers],
    )


def _arguments(labels: list[Any]) -> tuple[str, ...]:
    """Return the options of the command line that name the labels."""
    texts = [str(label) for label in labels] or [NOBODY]
    return tuple(part for text in texts for part in ("--censored", text))


def _options(labels: list[Any]) -> str:
    parts = _arguments(labels)
    return " ".join(part if re.fullmatch(r"[\w.-]+", part) else f'"{part}"' for part in parts)


def _require_few(causes: Sequence[Any], counts: LabelCounts) -> None:
    """Refuse an event column of so many labels, or of many for its events: it is something else."""
    n_events = sum(counts[cause].n for cause in causes)
    if len(causes) > MOST_CAUSES or (len(causes) >= MANY and 2 * len(causes) > n_events):
        n_subjects = sum(followed.n for followed in counts.values())
        seen = (
            f"what ended the follow-up, by few labels; {len(causes)} different ones among "
            f"{n_subjects} subjects look like an identifier or a time (first: "
            f"{_listed(list(causes)[:3])})."
        )
        way_out = "a column with 0 for censored, or the cause."
        raise DataError(
            f"event must say {seen} Pass {way_out}",
            in_command=f"--event must name a column that says {seen} Name {way_out}",
        )


def refuse_dates(dates: Sequence[Any], n_dates: int, n_subjects: int) -> None:
    """Raise the error that a date of death is no event code."""
    seen = (
        "what ended the follow-up, not when: a date is no event code; "
        f"{n_dates} of {n_subjects} are dates (first: {str(dates[0])[:10]!r})."
    )
    raise DataError(
        f"event must say {seen} Make a column that "
        'is 1 where the date is known and 0 elsewhere, such as df["date"].notna().astype(int), and '
        "a duration from the start of follow-up to that date or to the last contact.",
        in_command=f"--event must name {seen} Add a column to the table that is 1 where the date "
        "is known and 0 elsewhere, and name that; --duration is the time from the start of "
        "follow-up to that date or to the last contact.",
    )


def shown(counts: LabelCounts, labels: Sequence[Any] | None = None, most: int = 12) -> str:
    """List labels with the number of their subjects, the frequent first.

    Examples
    --------
    >>> shown(LabelCounts({"alive": Followed(2, 9, 4, 5), 1: Followed(3, 6, 1, 4)}))
    "1 (3 subjects), 'alive' (2)"
    """
    frequent = sorted(counts if labels is None else labels, key=lambda label: -counts[label].n)
    parts = [f"{label!r} ({counts[label].n})" for label in frequent[:most]]
    if parts:
        word = "subject" if counts[frequent[0]].n == 1 else "subjects"
        parts[0] = f"{parts[0][:-1]} {word})"
    return ", ".join(parts) + (f" and {len(frequent) - most} more" if len(frequent) > most else "")


def _listed(labels: Sequence[Any]) -> str:
    return ", ".join(repr(label) for label in labels)


def label_numbers(labels: Sequence[Any], meaning: Meaning) -> list[int | None]:
    """Number labels: 0 for censored, k for the k-th cause, None if unknown.

    The labels of causes are looked up first, then those that mean censored and the usual words.

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


def _merge_same_labels(labels: Sequence[Any], counts: LabelCounts) -> Iterable[Any]:
    """Keep the most frequent of labels that differ in case ("Died", "died"), with a warning."""
    best = dict[Any, Any]()
    for label in sorted(labels, key=lambda label: (-counts[label].n, str(label))):
        best.setdefault(same_label(label), label)
    others = {label: best[same_label(label)] for label in labels if label not in best.values()}
    if others:
        warn(
            f"labels that differ only in case or spaces are the same cause: {others}.", DataWarning
        )
    return best.values()
