"""Say in docs/results.md and docs/speed.md when each result was recorded, and in which commit.

A page lists its files between ``<!-- recorded: FILE FILE ... -->`` and ``<!-- end of list -->``;
names are those below benchmarks/results. Commit the results first, then run it:

    python benchmarks/when.py
"""

from __future__ import annotations

import re
import subprocess

from fill_tables import PAGES

LIST = re.compile(r"(<!-- recorded: (.*?) -->\n).*?(<!-- end of list -->)", re.DOTALL)


def recorded(name: str) -> str:
    """Give the date and commit of the last change of a result file, as a row of a table."""
    log = ["git", "log", "-1", "--format=%as | %h", "--", f"benchmarks/results/{name}"]
    found = subprocess.run(log, capture_output=True, text=True, check=True, cwd=PAGES[0].parents[1])
    return f"| {name} | {found.stdout.strip()} |"


def listed(part: re.Match[str]) -> str:
    """Write the table of the files that a list names."""
    first, names, last = part.groups()
    rows = "\n".join(recorded(name) for name in names.split())
    return f"{first}\n| result | recorded on | in commit |\n|---|---|---|\n{rows}\n\n{last}"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(LIST.sub(listed, page.read_text()), encoding="utf-8")
