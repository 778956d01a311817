"""All commands with an example each; what an error says, and with which code the command ends."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated

import typer

from survtrace.cli import checking, learning, screen, studying, using
from survtrace.cli.options import Quiet
from survtrace.errors import SurvtraceError

DEBUG = "SURVTRACE_DEBUG"
USERS_MISTAKE, OUR_MISTAKE, INTERRUPTED, TERMINATED = 2, 1, 130, 143
PATH_ERRORS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
EXTRAS = {
    "optuna": "tune",
    "matplotlib": "plots",
    "pyarrow": "parquet",
    "openpyxl": "excel",
    "ray": "distributed",
    "shap": "explain",
    "jinja2": "report",
    **dict.fromkeys(("fastapi", "uvicorn"), "app"),
    **dict.fromkeys(("sksurv", "lifelines", "hazardous", "pycox", "comprisk"), "baselines"),
}

app = typer.Typer(
    name="survtrace",
    help="Transformers for survival analysis with competing events.",
    epilog="Start with: survtrace demo; then: survtrace datasets flchain --out flchain.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OUTCOME = "--duration months --event cause"
EXAMPLES: dict[Callable[..., None], str] = {
    studying.demo: "survtrace demo --out demo",
    studying.datasets: "survtrace datasets flchain --out flchain.csv",
    checking.check: f"survtrace check patients.csv {OUTCOME}",
    learning.fit: f"survtrace fit patients.csv {OUTCOME} --id patient --out model",
    using.predict: "survtrace predict model new.csv --times 12,60 --id patient --out out.parquet",
    using.evaluate: f"survtrace evaluate model held_out.csv {OUTCOME} --horizons 12,60",
    using.explain: f"survtrace explain model held_out.csv {OUTCOME} --out importance.csv",
    using.report: f"survtrace report model held_out.csv {OUTCOME} --out report.html",
    using.serve: "survtrace serve model --port 8000",
    learning.compare: f"survtrace compare patients.csv {OUTCOME} --id patient",
    learning.tune: f"survtrace tune learning_rows.parquet {OUTCOME} --trials 50 --out tuning",
    studying.benchmark: "survtrace benchmark paper-competing --out results --processes 2",
    studying.figures: "survtrace figures --out figures --ablation ablation/scores.csv",
}
for command, example in EXAMPLES.items():
    app.command(epilog=f"Example: {example}")(command)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    quiet: Quiet = False,
) -> None:
    """Transformers for survival analysis with competing events."""
    if version:
        from survtrace import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command: 0 if all went well, 2 for the user's mistake, 1 for ours, without traceback.

    The traceback is shown where the environment variable SURVTRACE_DEBUG is set.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # leaves no half-written file
    try:
        with warnings.catch_warnings():
            warnings.showwarning = screen.show_warning
            app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exc()
        words = _users_mistake(error)
        if words is not None:
            screen.show_error(words)
            sys.exit(USERS_MISTAKE)
        screen.show_error(f"{type(error).__name__}: {error}")
        screen.say(f"This is a fault of survtrace's own. {DEBUG}=1 shows where it happened.")
        sys.exit(OUR_MISTAKE)


def _users_mistake(error: Exception) -> str | None:
    """What to tell the user of a mistake; None for one of ours."""
    if isinstance(error, SurvtraceError):
        return str(error)
    if isinstance(error, (*PATH_ERRORS, PermissionError)):
        return f"{error.filename}: {error.strerror}. Choose another path."
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return (
            f"this command needs {error.name}, which is not installed. Install it with: "
            f"pip install 'survtrace[{EXTRAS[error.name]}]'"
        )
    return None
