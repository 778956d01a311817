"""The command of the small distribution, survtrace-portable: predict and serve, without torch."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from survtrace.errors import SettingError, SurvtraceError
from survtrace.files import replacing

INTERRUPTED, TERMINATED = 130, 143  # exit statuses, as of the command survtrace
MOST = 2**62  # rows, bytes and numbers of a table that the user's own command reads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status, 1 after an error that was said."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "serve":
            _serve(asked)
        else:
            _predict(asked)
    except (SurvtraceError, OSError) as error:
        print(f"error: {getattr(error, 'in_command', error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; what was not finished is not written.", file=sys.stderr)
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="survtrace-portable", description="Predictions of a saved model, without torch."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="a page and an API, for this machine unless told so")
    serve.add_argument("model", metavar="MODEL", help="folder that fit wrote")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on")
    serve.add_argument("--port", type=int, default=8000, help="port to listen on")
    serve.add_argument("--token", default=os.environ.get("SURVTRACE_TOKEN"), help="for visitors")
    serve.add_argument("--importance", metavar="FILE", help="table that explain --out wrote")
    serve.add_argument("--time-unit", default="", help="unit of durations, such as months")
    serve.add_argument("--workers", type=int, default=1, help="processes that answer")
    serve.add_argument("--log", metavar="FILE", help="a line for each request; - is standard error")
    predict = commands.add_parser("predict", help="probabilities beside the rows of a CSV table")
    predict.add_argument("model", metavar="MODEL", help="folder that fit wrote")
    predict.add_argument("table", metavar="TABLE", help="CSV file; - is standard input")
    predict.add_argument("--times", metavar="12,60", help="by default the median event time")
    predict.add_argument("--after", metavar="COLUMN", help="time at which each is event-free")
    predict.add_argument("--out", metavar="FILE", default="-", help="- is standard output")
    return parser


def _serve(asked: argparse.Namespace) -> None:
    from survtrace.app import serve

    options = {name: value for name, value in vars(asked).items() if name != "command"}
    serve(options.pop("model"), **options)


def _predict(asked: argparse.Namespace) -> None:
    """Write the table with the probability of each state at each time, as /score does."""
    out = Path(asked.out)
    if asked.out != "-" and os.path.lexists(out):  # the table itself, perhaps
        raise SettingError(f"--out {out} exists and is left alone. Choose another path.")
    signal.signal(signal.SIGTERM, _terminate)
    from survtrace.app.answers.answers import Answers
    from survtrace.app.answers.limits import Limits
    from survtrace.app.answers.scored_table import score
    from survtrace.portable import load

    limits = Limits(rows=MOST, bytes=MOST, numbers=MOST, times=MOST)
    answers = Answers(load(asked.model), limits)
    path = Path(asked.table)
    content = sys.stdin.buffer.read() if asked.table == "-" else path.read_bytes()
    scored = score(answers, content, _read_times(asked.times), asked.after)
    for warning in scored.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if asked.out == "-":
        sys.stdout.writelines(scored.csv())
        return
    with replacing(out) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.writelines(scored.csv())


def _terminate(*_: object) -> None:
    """End by an exception: what is half written is removed on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends at once
    print("stopped by SIGTERM; what was not finished is not written.", file=sys.stderr)
    sys.exit(TERMINATED)


def _read_times(text: str | None) -> list[float] | None:
    """Read numbers between commas.

    Examples
    --------
    >>> _read_times("12, 60")
    [12.0, 60.0]
    """
    if text is None:
        return None
    try:
        times = [float(part) for part in text.split(",")]
    except ValueError:
        times = [-1.0]
    if not all(0 <= time < float("inf") for time in times):
        raise SettingError(f"--times must be numbers of zero or more between commas; got {text!r}.")
    return times
