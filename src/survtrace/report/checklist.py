"""A TRIPOD+AI checklist filled from what is known of a model and its validation; gaps are asked."""

from __future__ import annotations

from dataclasses import dataclass

from survtrace.report.checklist_facts import FOUND, Known
from survtrace.report.tripod import Item, read_items
from survtrace.settings import ABOUT_TOPICS

# What is asked of the subjects validated on, whatever was told of those learned from.
OF_SUBJECTS = ("source", "dates", "place", "eligibility", "treatments", "outcome", "measured")


@dataclass(frozen=True)
class Entry:
    """An item of the checklist, and what can be said to it.

    Attributes
    ----------
    item
        What is asked.
    found
        Sentences on it, from the model, the table and what ``about`` said.
    topic
        Under which topic of ``about`` the rest is to be told; None if nothing is left to tell.
    is_open
        Whether it is left to tell.
    """

    item: Item
    found: tuple[str, ...]
    topic: str | None
    is_open: bool


def fill_checklist(known: Known) -> list[Entry]:
    """Fill every item as far as it is known, and name what the user must tell."""
    topics = {number: topic for topic, number in ABOUT_TOPICS.items()}
    told_of_model = known.card.get("about") or {}
    entries = []
    for item in read_items():
        topic = topics.get(item.number)
        found = list(FOUND[item.number](known)) if item.number in FOUND else []
        told = [
            f"{whose}: {texts[topic]}"
            for whose, texts in (("Model", told_of_model), ("Validation", known.about))
            if topic is not None and topic in texts
        ]
        needed = known.about if topic in OF_SUBJECTS else {**told_of_model, **known.about}
        is_open = topic is not None and topic not in needed
        entries.append(Entry(item, (*found, *told), topic, is_open))
    return entries


def as_markdown(entries: list[Entry], title: str) -> str:
    """Write the checklist as Markdown, the open questions first."""
    unanswered = [entry for entry in entries if entry.is_open]
    lines = [f"# {title}", "", f"{len(unanswered)} of {len(entries)} items wait for an answer."]
    lines += ["Answer with `--about TOPIC='...'`, or in a file: `--about answers.toml`.", ""]
    lines += [f"- **{e.item.number}** `{e.topic}`: {e.item.asks}" for e in unanswered]
    lines += ["", "| item | asks | known |", "|---|---|---|"]
    for entry in entries:
        cells = [f"{entry.item.number} {entry.item.heading}", entry.item.asks]
        cells.append("<br>".join(entry.found) or "open")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
