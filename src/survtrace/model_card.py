"""The model card: what a model predicts, from whom it learned, and what it is not for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from survtrace.errors import DataWarning, warn
from survtrace.naming import Names, capital, card_events, follow_up_words, listed, names_of

if TYPE_CHECKING:
    from survtrace.estimator import SurvTRACE
    from survtrace.portable import PortableSurvTRACE

    Fitted = SurvTRACE | PortableSurvTRACE

NOT_FOR = (
    "Decisions about a person without a professional's judgement, or where the model has not been "
    "validated; what would happen under another treatment; people unlike those it learned from. "
    "This is not a medical device."
)


def card_facts(est: Fitted) -> dict[str, str]:
    """Describe a model by headings and sentences; nothing in it is of a single subject.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(300, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False)
    >>> card = card_facts(est.fit(X, y))
    >>> list(card)[:3], card["Learned from"].partition(":")[0]
    (['Predicts', 'Learned from', 'Follow-up'], '300 subjects')
    """
    names = names_of(est)
    facts = {
        "Predicts": _predicts(est, names),
        "Learned from": _learned_from(names),
        "Follow-up": follow_up_words(names.card.get("follow_up"), names.time_unit),
        "Missing values": _missing(names),
        **_about(names.card.get("about") or {}),
        "Covariates": listed([names.covariate(str(name)) for name in est.feature_names_in_]),
        "Fitted": _fitted(names),
        "Updated": _updated(getattr(est, "updates_", None) or []),
        "Not for": NOT_FOR,
    }
    return {heading: text for heading, text in facts.items() if text}


def card_markdown(facts: Mapping[str, str]) -> str:
    """Write a card as Markdown."""
    parts = [f"## {heading}\n\n{text}" for heading, text in facts.items()]
    return "\n\n".join(["# Model card", *parts]) + "\n"


def warn_of_interrupted(est: Any) -> None:
    """Warn if the fit of an estimator was interrupted."""
    if est.card_.get("interrupted"):
        warn(
            "the fit of this model was interrupted before training had ended; one that ran to its "
            "end predicts better.",
            DataWarning,
        )


def _predicts(est: Fitted, names: Names) -> str:
    causes = [names.cause(cause) for cause in est.causes_]
    what = "the probability of" if len(causes) == 1 else "the probabilities of the competing causes"
    end = names.time(f"{est.time_grid_[-1]:g}")
    return f"{capital(what)} {listed(causes)} by any time up to {end}."


def _learned_from(names: Names) -> str:
    if "n_subjects" not in names.card:
        return "Not known: the version that fitted it kept no card."
    counts = [
        f"{n:,} {'' if what == 'censored' else 'with '}{what}" for what, n in card_events(names)
    ]
    rows = names.card.get("n_rows", names.card["n_subjects"])
    several = f" in {rows:,} rows" if rows != names.card["n_subjects"] else ""
    return f"{names.card['n_subjects']:,} subjects{several}: {listed(counts)}."


def _missing(names: Names) -> str:
    n_missing, rows = names.card.get("n_missing"), names.card.get("n_rows")
    if n_missing is None or not rows:
        return ""
    gaps = [f"{names.covariate(name)} {n / rows:.1%}" for name, n in n_missing.items() if n]
    return listed(gaps) + "." if gaps else "None."


def _about(about: Mapping[str, str]) -> dict[str, str]:
    return {capital(topic.replace("_", " ")): text for topic, text in about.items()}


def _fitted(names: Names) -> str:
    card = names.card
    if not card.get("fitted_on"):
        return ""
    broken_off = "; training was interrupted" if card.get("interrupted") else ""
    return f"On {card['fitted_on']} by survtrace {card.get('survtrace_version', '?')}{broken_off}."


def _updated(updates: list[dict[str, Any]]) -> str:
    texts = [
        f"on {each['date']} with {each['subjects']:,} subjects "
        f"({'nothing changed' if each['how'] == 'none' else each['how']})"
        for each in updates
    ]
    return f"{capital(listed(texts))}." if texts else ""
