"""Keeps parameters that share a description together in the reference, as they were written.

Griffe splits ``width, depth`` into two and gives both the type and default of the first. Types and
defaults stand in the signature anyway, so the list goes without.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from griffe import DocstringSectionKind, Extension, Object

LISTS = (DocstringSectionKind.parameters, DocstringSectionKind.attributes)


class Grouping(Extension):
    """Rewrites the lists of every docstring once it is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Join neighbours of the same description."""
        for section in obj.docstring.parsed if obj.docstring else ():
            if section.kind in LISTS:
                section.value = [
                    type(group[0])(", ".join(each.name for each in group), description=words)
                    for words, group in _neighbours(section.value)
                ]


def _neighbours(entries: list[Any]) -> list[tuple[str, list[Any]]]:
    groups = groupby(entries, key=lambda each: each.description)
    return [(words, list(group)) for words, group in groups]
