"""Write the transcripts of docs/guides/hospital-table.md: raw files to reports, command by command.

``python docs/examples/transcript.py`` makes the three raw tables, runs the first command of each
story, and from then on only commands that survtrace itself printed. It stops with an error where
survtrace does not say how to go on. Names of stories (``hospital``, ``trial``, ``transplants``)
choose among them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import hospital

PAGE = Path(__file__).parents[1] / "guides" / "hospital-table.md"
SUGGESTED = re.compile(r"\bsurvtrace (?:check|split|fit|info|evaluate|explain|report) [^\n`]*")
WIDTH = "100"


@dataclass(frozen=True)
class Story:
    """The name of a transcript, its first command, and what each next one must look like."""

    name: str
    first: str
    then: tuple[str, ...]


STORIES = (
    Story(
        "hospital",
        'survtrace check hospital.csv --duration "Follow-up (months)" --event Status',
        ("survtrace fit .*", "survtrace report .*"),
    ),
    Story(
        "trial",
        "survtrace check trial.csv --duration time --event status",
        ("survtrace fit .*--censored 1.*", "survtrace report .*"),
    ),
    Story(
        "transplants",
        "survtrace check transplants.csv --duration Jahre --event Ereignis",
        ("survtrace fit .*", "survtrace report .*"),
    ),
)


def main() -> None:
    """Run each story in a folder of its own and put what was seen into the page."""
    wanted = sys.argv[1:] or [story.name for story in STORIES]
    for story in STORIES:
        if story.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            hospital.write(folder)
            told = _tell(story, Path(folder))
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_replace(page, story.name, told), encoding="utf-8")


def _tell(story: Story, folder: Path) -> str:
    """Run a story; commands and what they print, as a block of the page."""
    command, told = story.first, ""
    for pattern in (*story.then, None):
        print("$", command, flush=True)
        seen = _run(command, folder)
        told += f"```\n$ {command}\n{seen}```\n\n"
        if pattern is not None:
            command = _next(seen, pattern)
    return told


def _run(command: str, folder: Path) -> str:
    """What a command prints; it may end with 0 (done) or 2 (a question), but with nothing else."""
    name, *arguments = shlex.split(command)
    if name != "survtrace":
        raise ValueError(f"not a command of ours: {command}")
    start = "from survtrace.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", start, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode not in (0, 2):
        raise SystemExit(f"{command}\nended with {ended.returncode}:\n{ended.stdout}")
    return "".join(f"{line.rstrip()}\n" for line in ended.stdout.splitlines())


def _next(heard: str, pattern: str) -> str:
    """The first command in what was printed that looks as it should."""
    joined = re.sub(r"\\\n\s*", "", heard)
    found = [command.strip() for command in SUGGESTED.findall(joined)]
    for command in found:
        if re.fullmatch(pattern, command):
            return command
    raise SystemExit(f"survtrace printed no command like {pattern!r}; it printed {found}:\n{heard}")


def _replace(page: str, name: str, told: str) -> str:
    """The page with one transcript written anew, between its two marks."""
    begin, end = f"<!-- transcript of {name} -->\n", "<!-- end of transcript -->"
    before, rest = page.split(begin, 1)
    return before + begin + told + rest[rest.index(end) :]


if __name__ == "__main__":
    main()
