"""The command info: show what a saved model is, what it was fitted on, and what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from survtrace.cli import screen
from survtrace.cli.commands.update import in_words
from survtrace.cli.options import Json, Model

if TYPE_CHECKING:
    from survtrace import SurvTRACE

MOST_LEVELS = 6
NOT_SHOWN = ("about", "random_state", "verbose", "checkpoint_dir")


def info(model: Model, json: Json = False) -> None:
    """Show what a model is: when and on whom it was fitted, its causes, covariates and settings."""
    from survtrace import load

    facts = describe_model(load(model), model)
    if json:
        screen.show_json(facts)
    else:
        _show(facts)


def describe_model(est: SurvTRACE, folder: Path) -> dict[str, Any]:
    """Describe a fitted estimator in plain values."""
    card: dict[str, Any] = est.card_
    defaults = type(est)().get_params()
    changed = {
        name: value if isinstance(value, str | int | float | bool | None) else str(value)
        for name, value in est.get_params().items()
        if repr(value) != repr(defaults[name]) and name not in NOT_SHOWN
    }
    n_events: dict[str, int] = card.get("n_events", {})
    table: dict[str, Any] = card.get("table", {})
    outcome = {
        name: table[name] for name in ("duration", "event", "entry", "id") if table.get(name)
    }
    return {
        "model": str(folder),
        "interrupted": card.get("interrupted"),
        "fitted_on": card.get("fitted_on"),
        "survtrace_version": card.get("survtrace_version"),
        "subjects": card.get("n_subjects"),
        "censored": card.get("n_censored"),
        "follow_up": card.get("follow_up"),
        "about": card.get("about", {}),
        "censored_labels": [str(label) for label in est.censored_],
        "causes": [
            {"label": str(cause), "name": name, "events": n_events.get(str(cause))}
            for cause, name in est.cause_names_.items()
        ],
        "time_unit": est.time_unit_,
        "time_name": est.time_name_,
        "entry": None if est.entry_ is None else [float(each) for each in est.entry_],
        "start_stop": est.has_start_stop_,
        "time_grid": est.time_grid_.tolist(),
        "covariates": [
            _covariate(covariate, column, card)
            for covariate, column in zip(
                est.encoding_.covariates, est.encoding_.columns, strict=True
            )
        ],
        "left_out": [name for name in est.encoding_.left_out if name not in outcome.values()],
        "columns": outcome,
        "members": est.network_.shape.n_members,
        "epochs": int(est.history_["epoch"].max()) + 1,
        "parameters": sum(parameter.numel() for parameter in est.network_.parameters()),
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "settings": changed,
        "updates": est.updates_,
    }


def _covariate(covariate: Any, column: Any, card: dict[str, Any]) -> dict[str, Any]:
    """Describe a covariate: kind, 1 and 99 % quantiles or levels, and missing values."""
    n_missing = card.get("n_missing", {}).get(covariate.name)
    learned: dict[str, Any] = {"range": [None, None]}
    if covariate.kind == "categorical":
        learned = {"levels": list(column.levels)}
    elif n_missing is None or n_missing != card.get("n_rows", card.get("n_subjects")):
        learned = {"range": [column.low, column.high]}
    return {
        "name": covariate.name,
        "kind": covariate.kind,
        **learned,
        "label": covariate.label,
        "unit": covariate.unit,
        "missing": n_missing,
    }


def _show(facts: dict[str, Any]) -> None:
    """Print the description for people."""
    import pandas as pd

    from survtrace.naming import follow_up_words

    if facts["interrupted"]:
        typer.echo("This fit was interrupted before training had ended.")
    unit = f" {facts['time_unit']}" if facts["time_unit"] else ""
    causes = "; ".join(
        each["name"] + ("" if each["events"] is None else f" ({each['events']:,} events)")
        for each in facts["causes"]
    )
    members = "member" if facts["members"] == 1 else "members"
    lines = {
        "model": f"{facts['model']}, {facts['bytes'] / 2**20:.1f} MiB",
        "fitted": _fitted(facts),
        "causes": causes,
        "follow-up": follow_up_words(facts["follow_up"], facts["time_unit"]),
        **facts["about"],
        facts["time_name"] or "times": ", ".join(f"{cut:g}" for cut in facts["time_grid"]) + unit,
        "entry": _entry(facts, unit),
        "columns": ", ".join(f"--{name} {column}" for name, column in facts["columns"].items()),
        "left out": ", ".join(facts["left_out"]),
        "network": f"{facts['members']} {members}, {facts['parameters']:,} parameters, "
        f"{facts['epochs']} epochs",
        "settings": ", ".join(f"{name}={value}" for name, value in facts["settings"].items())
        or "all at their defaults",
        "updated": "; ".join(in_words(each) for each in facts["updates"]),
    }
    width = max(10, *(len(name) + 3 for name, text in lines.items() if text))
    for name, text in lines.items():
        if text:
            typer.echo(screen.plain(f"{name + ':':<{width}}{text}"))
    shown = [
        {
            "covariate": each["name"] + (f" ({each['label']})" if each["label"] else ""),
            "kind": each["kind"],
            "1 to 99 % quantile, or levels": _values(each),
            "unit": each["unit"],
            "missing": "" if each["missing"] is None else str(each["missing"]),
        }
        for each in facts["covariates"]
    ]
    table = pd.DataFrame(shown)
    screen.show_frame(table if any(table["unit"]) else table.drop(columns="unit"))


def _entry(facts: dict[str, Any], unit: str) -> str:
    """Say when subjects entered, and whether they had several rows."""
    rows = "several rows of a subject (start-stop rows)" if facts["start_stop"] else ""
    if facts["entry"] is None:
        return rows
    earliest, median, latest = facts["entry"]
    when = f"from {earliest:g} to {latest:g}{unit}, median {median:g}"
    return f"{when}; {rows}" if rows else when


def _fitted(facts: dict[str, Any]) -> str:
    if facts["subjects"] is None or facts["censored"] is None:
        return "by a version that kept no card: when and on whom is not known"
    return (
        f"on {facts['fitted_on']} by survtrace {facts['survtrace_version']}, on "
        f"{facts['subjects']:,} subjects, {facts['censored']:,} censored"
    )


def _values(covariate: dict[str, Any]) -> str:
    if "range" in covariate:
        low, high = covariate["range"]
        if low is None or high is None:
            return "all missing"
        return f"{low:g} to {high:g}"
    levels = covariate["levels"]
    more = f" and {len(levels) - MOST_LEVELS} more" if len(levels) > MOST_LEVELS else ""
    return ", ".join(levels[:MOST_LEVELS]) + more
