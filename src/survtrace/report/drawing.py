"""What figures of all pages share: style, canvas, legend, and how they travel inside a page."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

SMALL = (4.6, 3.4)  # inches: half of the page wide
LONGEST, MOST_LETTERS = 26, 40  # of a name along an axis; of names side by side
STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # a dollar in a name begins no formula
    "svg.hashsalt": "survtrace",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 8,
}


@dataclass(frozen=True)
class Image:
    """A drawing as a data URI, what it shows in words, and its caption."""

    uri: str
    alt: str
    caption: str = ""


def canvas(size: tuple[float, float]) -> tuple[Figure, Any]:
    """Make a figure of some inches, and its axes."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def legend_below(figure: Figure, ax: Any) -> None:
    """Put the legend of the axes below them, in columns where names are short."""
    handles, labels = ax.get_legend_handles_labels()
    columns = 3 if sum(map(len, labels[:3])) <= MOST_LETTERS else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def uri(figure: Figure) -> str:
    """Draw a figure as SVG inside a data URI."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def short(name: str) -> str:
    """Cut a name so that it fits along an axis."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
