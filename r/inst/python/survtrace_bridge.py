"""What the R package asks of Python: plain values and bytes in, plain values and bytes out.

Arrays travel as bytes: R's reticulate reads numpy's arrays only where it was built for the version
of numpy that is installed. Errors and warnings travel as values, so that R can raise its own.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from survtrace import DataError, SavedFileError, SettingError, SurvtraceError, TrainingError
from survtrace.errors import rows_named

# Classes of R's conditions, the first that fits; all others are an error of the program.
KINDS = {
    DataError: "data",
    SettingError: "setting",
    SavedFileError: "saved_file",
    TrainingError: "training",
    OSError: "file",
}
# Ways out that messages name, in the words of R.
IN_R = {
    'SurvTRACE(columns={"name": {"kind": "categorical"}})': (
        'columns = list(name = list(kind = "categorical"))'
    ),
    "times=[12, 60]": "times = c(12, 60)",
    "typicality(X) tells": 'predict(type = "typicality") tells',
    " of X ": " of the data ",
    " If other labels mean that, name them: censored=... in Surv.from_arrays.": "",
}
Columns = Sequence[Mapping[str, Any]]
METHODS = {
    "incidence": "predict_cumulative_incidence",
    "survival": "predict_survival_function",
    "hazard": "predict_cumulative_hazard_function",
}


def answering(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return value, error and warnings of a call; rows count from 1, as in R."""

    @wraps(function)
    def answer(*args: Any, **kwargs: Any) -> dict[str, Any]:
        value, error = None, None
        with warnings.catch_warnings(record=True) as caught, rows_named("row", first=1):
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                value = function(*args, **kwargs)
            except (SurvtraceError, OSError) as raised:
                kind = next((name for each, name in KINDS.items() if isinstance(raised, each)), "")
                error = {"kind": kind, "message": in_r(raised)}
        return {"value": value, "error": error, "warnings": [in_r(each.message) for each in caught]}

    return answer


def in_r(message: Warning | Exception | str) -> str:
    """Give a message in the words of R."""
    text = str(message)
    for python, r in IN_R.items():
        text = text.replace(python, r)
    return text


@answering
def fit(columns: Columns, outcome: Mapping[str, Any], settings: dict[str, Any], path: str) -> None:
    """Fit an estimator and save it to a folder."""
    from survtrace import SurvTRACE

    unknown = sorted(set(settings) - set(SurvTRACE().get_params()))
    if unknown:
        raise SettingError(
            f"{', '.join(map(repr, unknown))} is no setting of survtrace(). Settings are those of "
            f"Python's SurvTRACE: {', '.join(sorted(SurvTRACE().get_params()))}."
        )
    X, y = make_frame(columns), make_outcome(outcome)
    est = SurvTRACE(**settings).fit(X, y, sample_weight=numbers(outcome.get("weights")))
    est.save(path)


@answering
def update(
    folder: str, columns: Columns, outcome: Mapping[str, Any], how: str, seed: int, path: str
) -> None:
    """Update a saved estimator by rows of another place, and save it to another folder."""
    from survtrace import load as load_estimator

    est = load_estimator(folder)
    est.update(make_frame(columns), make_outcome(outcome), how=how, random_state=seed).save(path)


@answering
def load(folder: str) -> dict[str, Any]:
    """Load a folder for predictions: the model, and what R shows of it."""
    from survtrace.portable import load as load_portable

    model = load_portable(folder, compiled=False)  # the same bits in every session
    note = json.loads((Path(folder) / "estimator.json").read_text(encoding="utf-8"))
    about = {
        "codes": [str(cause) for cause in model.causes_],
        "causes": [cause_label(model, cause) for cause in model.causes_],
        "time_grid": model.time_grid_.tolist(),
        "time_unit": model.time_unit_,
        "time_name": model.time_name_ or "time",
        "covariates": [str(name) for name in model.feature_names_in_],
        "left_out": list(model.encoding_.left_out),
        "has_intervals": model.interval_ is not None,
        "card": note.get("card", {}),
        "settings": note["settings"],
        "history": note.get("history", {}),
        "updates": [each["how"] for each in model.updates_],
    }
    return {"model": model, "about": about}


@answering
def predict(model: Any, columns: Columns, kind: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Predict for the rows of a table; several arrays for intervals."""
    rows = {each["name"]: raw_values(each) for each in columns}
    if kind == "typicality":
        return packed(model.typicality(rows))
    if kind == "risk":
        return packed(model.predict(rows))
    after = numbers(asked["conditional_after"])
    known = {"conditional_after": after[0] if after is not None and len(after) == 1 else after}
    if kind == "quantile":
        return packed(model.predict_quantile(rows, numbers(asked["q"]), **known))
    known["extrapolate"] = asked["extrapolate"]
    times = numbers(asked["times"])
    if asked["times_by_row"]:
        times = times.reshape(-1, asked["times_by_row"])
    if kind == "rmst":
        each = [model.predict_rmst(rows, time, **known) for time in times.T]
        return packed(np.stack(each, axis=1))
    place = asked["cause"]
    cause = {} if place is None or kind == "survival" else {"cause": model.causes_[place]}
    found = [getattr(model, METHODS[kind])(rows, times, **cause, **known)]
    if asked["interval"]:
        found += model.predict_interval(
            rows, times, **cause, kind=kind, level=asked["level"], **known
        )
    return packed(*found)


def packed(*arrays: np.ndarray) -> dict[str, Any]:
    """Pack arrays of one shape as bytes, in the order of R: the first axis runs fastest."""
    content = [bytearray(each.astype("<f8").tobytes(order="F")) for each in arrays]
    return {"arrays": content, "shape": list(arrays[0].shape)}


def cause_label(model: Any, cause: Any) -> str:
    """Return the name that was given to a cause, or its own label."""
    name = model.cause_names_[cause]
    return str(cause) if name == f"cause {cause}" else name


def numbers(content: bytearray | None) -> np.ndarray | None:
    """Read numbers of R, NA as NaN; None where there are none."""
    return None if content is None else np.frombuffer(content, "<f8").copy()


def raw_values(column: Mapping[str, Any]) -> np.ndarray:
    """Read a column as plain numbers, or as texts and truth values with None where missing."""
    if column["kind"] == "number":
        return numbers(column["values"])
    levels = [False, True] if column["kind"] == "logical" else column["levels"]
    distinct = np.array([*levels, None], dtype=object)
    return distinct[np.frombuffer(column["values"], "<i4")]


def make_frame(columns: Columns) -> Any:
    """Make a pandas frame; factors are categories with all their levels, in their order."""
    import pandas as pd

    def series(column: Mapping[str, Any]) -> Any:
        if column["kind"] == "factor":
            codes = np.frombuffer(column["values"], "<i4")
            return pd.Categorical.from_codes(codes, column["levels"], ordered=column["ordered"])
        values = raw_values(column)
        if column["kind"] == "logical":
            return pd.array(values, dtype="boolean")
        if column["kind"] == "number" and column["whole"] and not np.isnan(values).any():
            return values.astype(np.int64)
        return values

    return pd.DataFrame({each["name"]: series(each) for each in columns})


def make_outcome(outcome: Mapping[str, Any]) -> Any:
    """Make the outcome; R has already said that 0 is censored."""
    from survtrace import Surv

    event = numbers(outcome["event"]).astype(np.int64)
    return Surv.from_arrays(
        event=event,
        duration=numbers(outcome["duration"]),
        censored=0 if (event == 0).any() else "nobody",
        entry=numbers(outcome.get("entry")),
        id=outcome.get("id"),
    )
