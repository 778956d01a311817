"""All commands with an example each; how errors are shown, and with which code they end."""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated

import typer

from survtrace.cli import screen
from survtrace.cli.commands import (
    check,
    doctor,
    export,
    fit,
    info,
    learn,
    page,
    split,
    study,
    update,
    use,
    validate,
)
from survtrace.cli.commands.doctor import EXTRAS
from survtrace.cli.commands.suggest import with_answers
from survtrace.cli.options import Quiet
from survtrace.cli.outputs import file_error_message
from survtrace.errors import SurvtraceError, lacks_memory

DEBUG = "SURVTRACE_DEBUG"
USERS_MISTAKE, OUR_MISTAKE, INTERRUPTED, TERMINATED = 2, 1, 130, 143
INTERRUPTION = "interrupted; what was not finished is not written."

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
    study.demo: "survtrace demo --out demo",
    study.datasets: "survtrace datasets flchain --out flchain.csv",
    check.check: f"survtrace check patients.csv {OUTCOME}",
    split.split: "survtrace split patients.csv --event cause --id patient --out-train a.csv "
    "--out-test b.csv",
    fit.fit: f"survtrace fit patients.csv {OUTCOME} --id patient --hold-out 0.25 --out model",
    info.info: "survtrace info model",
    use.predict: "survtrace predict model new.csv --times 12,60 --id patient --out out.parquet",
    use.evaluate: "survtrace evaluate model model-held-out.csv --horizons 12,60",
    validate.validate: "survtrace validate model other-hospital.csv --horizon 60 --by sex,age",
    use.explain: "survtrace explain model model-held-out.csv --out importance.csv",
    use.report: "survtrace report model model-held-out.csv --out report.html",
    update.update: "survtrace update model local.csv --out model-here",
    use.serve: "survtrace serve model --port 8000",
    page.page: "survtrace page model --out calculator.html",
    export.export: "survtrace export model --onnx model.onnx",
    learn.compare: f"survtrace compare patients.csv {OUTCOME} --id patient",
    learn.tune: f"survtrace tune learning_rows.parquet {OUTCOME} --trials 50 --out tuning",
    study.benchmark: "survtrace benchmark paper-competing --out results --processes 2",
    doctor.doctor: "survtrace doctor",
    study.figures: "survtrace figures --out figures --ablation ablation/scores.csv",
}


def _paragraphs(command: Callable[..., None]) -> str:
    """Give a command's docstring with one line a paragraph, to be broken where the screen ends."""
    parts = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


for command, example in EXAMPLES.items():
    app.command(epilog=f"Example: {example}", help=_paragraphs(command))(command)


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
    signal.signal(signal.SIGTERM, _terminate)
    if sys.stderr is None:  # closed: there is nobody to tell
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # of letters that it has not
    try:
        with warnings.catch_warnings():
            warnings.showwarning = screen.warn_once()
            app()
    except KeyboardInterrupt:
        screen.say(INTERRUPTION)
        sys.exit(INTERRUPTED)
    except SystemExit as ended:
        if _is_interrupt(ended.__context__):
            screen.say(INTERRUPTION)
        raise
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exc()
        # Where SIGTERM came while a package in C was imported, our exit becomes its ImportError.
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # as `_terminate` leaves it
            sys.exit(TERMINATED)
        message = _users_mistake(error)
        if message is not None:
            screen.show_error(message)
            if answers := getattr(error, "answers", ()):
                screen.say(with_answers(["survtrace", *sys.argv[1:]], answers))
            sys.exit(USERS_MISTAKE)
        screen.show_error(f"{type(error).__name__}: {error}")
        screen.say(f"This is a bug in survtrace. {DEBUG}=1 shows where it happened.")
        sys.exit(OUR_MISTAKE)


def _is_interrupt(context: BaseException | None) -> bool:
    """Tell an exit by Ctrl-C, as typer ends a command, from one that a command has explained."""
    return context is not None and isinstance(context.__cause__, KeyboardInterrupt)


def _terminate(*_: object) -> None:
    """End on SIGTERM, by an exception: what is half written is removed on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends at once
    screen.say("stopped by SIGTERM; what was not finished is not written.")
    sys.exit(TERMINATED)


def _users_mistake(error: Exception) -> str | None:
    """Return the message for a mistake of the user; None for one of ours."""
    if isinstance(error, SurvtraceError):
        return error.in_command
    if lacks_memory(error):
        return "there is not enough memory. Close other programs, or take fewer rows at a time."
    if isinstance(error, OSError):
        return file_error_message(error)
    if isinstance(error, ModuleNotFoundError):
        name = (error.name or "").partition(".")[0]
        if name in EXTRAS:
            return (
                f"this command needs {name}, which is not installed. Install it with: "
                f"pip install 'survtrace[{EXTRAS[name]}]'"
            )
    return None
