"""Say in docs/results.md and docs/speed.md when each result was recorded, and in which commit.

A page lists its files between ``<!-- recorded: FILE FILE ... -->`` and ``<!-- end of list -->``;
names are those below benchmarks/results. Commit the results first, then run it:

    python benchmarks/when.py

A file that a later run has written again, the same to the byte, has no later commit. Name it, and
same_again.json beside this file keeps the day and the commit of that run:

    python benchmarks/when.py --same calibration_size.json
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

from fill_tables import PAGES

HERE = Path(__file__).parent
LIST = re.compile(r"(<!-- recorded: (.*?) -->\n).*?(<!-- end of list -->)", re.DOTALL)
SAME_AGAIN = HERE / "same_again.json"


def git(*words: str) -> str:
    found = subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=HERE)
    return found.stdout.strip()


def same_again() -> dict[str, str]:
    """Read when a later run gave the same file."""
    return json.loads(SAME_AGAIN.read_text()) if SAME_AGAIN.exists() else {}


def keep_same(names: list[str]) -> None:
    """Write down that a run of today gave files as they are committed."""
    for name in names:
        if git("status", "--porcelain", "--", f"results/{name}"):
            raise SystemExit(f"{name} differs from the one that is committed: commit it.")
    today = git("log", "-1", "--format=%as, %h")
    kept = {**same_again(), **dict.fromkeys(names, today)}
    SAME_AGAIN.write_text(json.dumps(kept, indent=1) + "\n")


def recorded(name: str) -> str:
    """Give a row: the last change of a result file, and a later run that gave the same."""
    changed = git("log", "-1", "--format=%as | %h", "--", f"results/{name}")
    again = same_again().get(name, "")
    return f"| {name} | {changed} | {again if again > changed else ''} |"  # both begin with a day


def listed(part: re.Match[str]) -> str:
    """Write the table of the files that a list names."""
    first, names, last = part.groups()
    rows = "\n".join(recorded(name) for name in names.split())
    head = "| result | recorded on | in commit | the same again |\n|---|---|---|---|"
    return f"{first}\n{head}\n{rows}\n\n{last}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--same", nargs="*", default=[], metavar="FILE")
    if same := parser.parse_args().same:
        keep_same(same)
    for page in PAGES:
        page.write_text(LIST.sub(listed, page.read_text()), encoding="utf-8")


if __name__ == "__main__":
    main()
