"""Lists the licences of everything that survtrace and its extras install, from what is installed.

    python docs/licences.py            # writes docs/licences.md

A package counts for an extra if that extra leads to it and survtrace alone does not. What a
licence is comes from the package's own metadata: its expression, else its classifiers, else the
first line of its licence field.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parent / "licences.md"
NOT_FOR_USERS = ("dev", "docs")
LONGEST = 60  # of a licence's name; some packages put the whole text there
# What the metadata of a package does not say: few or no releases for years. Looked at by hand.
QUIET = {
    "pycox": "DeepSurv, DeepHit and PC-Hazard of the studies; one release in years",
    "torchtuples": "pycox's training loop; no release in years",
    "feather-format": "pycox's files; its authors point to pyarrow instead",
    "autograd-gamma": "lifelines' gamma functions; no release in years",
    "ecos": "scikit-survival's solver; kept alive, without new work",
}
HEAD = """# Licences

survtrace is under the MIT licence. What it installs has licences of its own; `make licences` writes
this page from the metadata of the packages in .venv. `make sbom` writes the same set, with versions
and who needs whom, as a CycloneDX file.

**`pip install survtrace` alone brings no GPL and no LGPL package.** The extras below do. Using them
on your own machine, for a study or in a hospital, asks nothing of you. Passing on a program or an
image that holds them does: the GPL then asks that the whole may be had under its terms, with
its sources. A server or a page made from a saved model needs none of them (`app`, `parquet`,
`excel`, `plots`, `report`, `explain` and `tune` are free of them): leave `baselines` and `public`
out of what you ship.

On Linux, torch from the default index also brings NVIDIA's libraries, under NVIDIA's own terms; the
wheels for processors alone (README, Set-up) do not.
"""


def installed(name: str) -> Distribution | None:
    """Find a package in this environment."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def needed(name: str, extras: Iterable[str] = ()) -> dict[str, set[str]]:
    """List all packages that one leads to, itself among them, and whom each of them needs."""
    found: dict[str, set[str]] = {}
    waiting = [(name, frozenset(extras))]
    seen = set(waiting)
    while waiting:
        name, wanted = waiting.pop()
        package = installed(name)
        if package is None:  # for another system, or not installed here
            continue
        children = found.setdefault(canonicalize_name(name), set())
        for requirement in map(Requirement, package.requires or []):
            if applies(requirement, wanted):
                children.add(canonicalize_name(requirement.name))
                child = requirement.name, frozenset(requirement.extras)
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return {name: {child for child in some if installed(child)} for name, some in found.items()}


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Whether a package with some extras has a requirement on this system."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def licence(name: str) -> str:
    """Name the licence of an installed package in a few words."""
    about = distribution(name).metadata
    if expression := about.get("License-Expression"):
        return expression
    classifiers = [c for c in about.get_all("Classifier") or [] if c.startswith("License :: ")]
    named = [c.rpartition(" :: ")[2] for c in classifiers]
    if named and named != ["OSI Approved"]:
        return ", ".join(named)
    words = (about.get("License") or "").strip().splitlines()
    return words[0].strip()[:LONGEST] if words else "not said"


def is_copyleft(name: str) -> bool:
    """Whether a licence is the GPL or the LGPL."""
    words = licence(name)
    return "GPL" in words or "GNU" in words


def extras_of(name: str = "survtrace") -> list[str]:
    """List the extras that users install."""
    given = distribution(name).metadata.get_all("Provides-Extra") or []
    return [extra for extra in given if extra not in NOT_FOR_USERS]


def page() -> str:
    """Write the page."""
    base = needed("survtrace")
    by_extra = {e: sorted(set(needed("survtrace", [e])) - set(base)) for e in extras_of()}
    lines = [HEAD, "## GPL and LGPL, by extra", "", "| extra | packages |", "|---|---|"]
    for extra, names in by_extra.items():
        bound = [f"{name} ({licence(name)})" for name in names if is_copyleft(name)]
        lines += [f"| `{extra}` | {', '.join(bound)} |"] if bound else []
    lines += ["", "## Packages in which little happens", ""]
    lines += [f"- {name}: {why}." for name, why in QUIET.items()]
    lines += ["", "## survtrace alone", "", *table(sorted(set(base) - {"survtrace"}))]
    lines += ["", "## What each extra adds", "", "| extra | package | licence |", "|---|---|---|"]
    lines += [f"| `{e}` | {n} | {licence(n)} |" for e, names in by_extra.items() for n in names]
    return "\n".join(lines) + "\n"


def table(names: Iterable[str]) -> list[str]:
    """Write packages and licences as rows."""
    return [
        "| package | licence |",
        "|---|---|",
        *(f"| {name} | {licence(name)} |" for name in names),
    ]


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}")
