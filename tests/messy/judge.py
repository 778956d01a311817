"""Come with a messy table as a user does, and compare what was learned with the clean table."""

from __future__ import annotations

import io
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from messy.table import DURATION, QUESTION, RIGHT, WARNED, Entry, Messy, as_csv
from survtrace import DataError, SurvTRACE, load
from survtrace.cli import main
from survtrace.errors import SettingError

TIMES = [6.0, 24.0]
TINY: dict[str, Any] = {
    "n_members": 1,
    "n_intervals": 3,
    "width": 4,
    "depth": 1,
    "n_heads": 1,
    "hidden": 4,
    "head_depth": 1,
    "max_epochs": 1,
    "unknown_steps": 5,
    "device": "cpu",
    "n_threads": 1,
    "random_state": 0,
    "verbose": False,
}
AS_OPTIONS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
PREDICT = ["--times", ",".join(map(str, TIMES))]


class Verdict(NamedTuple):
    """What a user saw, and the words that were said."""

    seen: str
    words: str = ""

    def within(self, expected: Sequence[str]) -> bool:
        """Whether it is acceptable; more words than asked for are."""
        return self.seen in expected or (self.seen == WARNED and RIGHT in expected)


class Answer(NamedTuple):
    """A fitted estimator, its predictions, what was said, and the folder it was saved to."""

    est: SurvTRACE
    predictions: np.ndarray
    words: str
    folder: Path


class QuestionError(Exception):
    """The user was asked a question."""


def judge(entry: Entry, table: Messy, way: str) -> Verdict:
    """Give the table to Python or to the command, and say what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        come = {"python": _in_python, "command": _by_command}[way]
        try:
            answer = come(table, Path(folder))
        except QuestionError as question:
            said = str(question)
            unsaid = _unsaid(table.says, said)
            return Verdict(QUESTION if not unsaid else f"unclear: no word of {unsaid}", said)
        except Exception as error:  # no error of ours: the user sees a traceback
            return Verdict(f"crash: {type(error).__name__}", str(error))
        warned = bool(table.says) and not _unsaid(table.says, answer.words)
        lenient = table if warned else replace(table, loose=(), optional=())
        differences = list(_differences(lenient, answer))
    if set(entry.expected) == {QUESTION}:
        learned = f"causes {list(answer.est.causes_)[:4]}, covariates {list(_columns(answer.est))}"
        return Verdict(f"no question: {learned}", answer.words)
    if differences:
        return Verdict(f"wrong: {'; '.join(differences)}", answer.words)
    return Verdict(WARNED if warned else RIGHT, answer.words)


def _unsaid(says: Sequence[str], words: str) -> list[str]:
    flat = " ".join(words.split())
    return [pattern for pattern in says if not re.search(pattern, flat, re.IGNORECASE)]


def _in_python(table: Messy, folder: Path) -> Answer:
    y: Any = (
        {"event": table.event_column, "duration": DURATION, **table.roles}
        if table.y is None
        else table.y
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            est = SurvTRACE(**TINY, **table.settings).fit(table.raw, y)
            new = table.raw if table.new is None else table.new
            predictions = est.predict_cumulative_incidence(new, times=TIMES)
        except (DataError, SettingError) as error:
            raise QuestionError(str(error)) from error
        est.save(folder / "model")
    words = "\n".join(str(warning.message) for warning in said)
    return Answer(est, np.asarray(predictions), words, folder / "model")


def _by_command(table: Messy, folder: Path) -> Answer:
    raw, new, model = folder / "table.csv", folder / "new.csv", folder / "model"
    raw.write_bytes(table.raw if isinstance(table.raw, bytes) else as_csv(table.raw))
    outcome = ["--duration", DURATION, "--event", table.event_column]
    words = run_command("fit", raw, *outcome, *table.options, "--out", model, *AS_OPTIONS)
    if table.new is not None:
        new.write_bytes(as_csv(table.new))
    source = raw if table.new is None else new
    words += run_command("predict", model, source, *PREDICT, "--out", folder / "risks.csv")
    risks = pd.read_csv(folder / "risks.csv")
    return Answer(load(model), risks.to_numpy(dtype=float), words, model)


def run_command(*arguments: Any) -> str:
    """Run the command in this process; what it says, or a question."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    handler, code = signal.getsignal(signal.SIGTERM), 0
    sys.argv = ["survtrace", *map(str, arguments)]
    try:
        with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
            warnings.simplefilter("default")
            main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.argv = argv
        signal.signal(signal.SIGTERM, handler)
    words = out.getvalue() + err.getvalue()
    if code == 2:
        raise QuestionError(words)
    if code:
        raise RuntimeError(f"exit code {code}: {words}")
    return words


def _differences(table: Messy, answer: Answer) -> Iterator[str]:
    """Each way in which what was learned is not what the clean table gives."""
    truth = _clean(table, answer)
    if _labels(answer.est) != _labels(truth.est):
        yield f"causes {list(answer.est.causes_)}, not {list(truth.est.causes_)}"
    yield from _different_counts(table, answer.est, truth.est)
    seen, clean = _columns(answer.est), _columns(truth.est)
    free = set(table.optional)
    if [name for name in seen if name not in free] != [name for name in clean if name not in free]:
        yield f"covariates {list(seen)}, not {list(clean)}"
    for name in (name for name in seen if name in clean):
        yield from _different_column(name, seen[name], clean[name], loose=name in table.loose)
    stored = b"".join(path.read_bytes() for path in answer.folder.rglob("*") if path.is_file())
    if kept := [secret for secret in table.secrets if secret.encode() in stored]:
        yield f"the model keeps {kept[:3]}"
    if not np.isfinite(answer.predictions).all():
        yield "predictions are not finite"
    elif list(seen) == list(clean) and not table.loose:
        yield from _different_predictions(answer.predictions, truth.predictions)


def _labels(est: SurvTRACE) -> list[str]:
    """Causes in words that do not depend on type and case."""
    words = [str(cause).strip().casefold() for cause in est.causes_]
    return [{"true": "1", "1.0": "1"}.get(word, word) for word in words]


def _columns(est: SurvTRACE) -> dict[str, tuple[str, Any]]:
    encoding = est.encoding_
    pairs = zip(encoding.covariates, encoding.columns, strict=True)
    return {covariate.name: (covariate.kind, column) for covariate, column in pairs}


def _different_counts(table: Messy, est: SurvTRACE, clean: SurvTRACE) -> Iterator[str]:
    """The model card counts the censored, and gaps by covariate."""
    card = est.card_
    n = sum(event == 0 for event in table.event)
    if table.id is not None:  # of subjects, not of rows
        n = clean.card_["n_censored"]
    if card["n_censored"] != n:
        yield f"{card['n_censored']} censored, not {n}"
    for name, n in table.X.isna().sum().items():
        counted = card["n_missing"].get(name, 0)
        if name not in (*table.loose, *table.optional) and counted != n:
            yield f"{name!r} is missing {counted} times, not {n}"


def _different_column(name: str, seen: Any, clean: Any, *, loose: bool) -> Iterator[str]:
    if seen[0] != clean[0]:
        yield f"{name!r} is {seen[0]}, not {clean[0]}"
    elif not loose and seen[0] == "numerical":
        scales = [(column.mean, column.deviation) for column in (seen[1], clean[1])]
        if not np.allclose(*scales, rtol=1e-6):
            yield f"{name!r} has mean and deviation {scales[0]}, not {scales[1]}"
    elif not loose and list(seen[1].levels) != list(clean[1].levels):
        yield f"{name!r} has levels {list(seen[1].levels)[:6]}, not {list(clean[1].levels)[:6]}"


def _different_predictions(seen: np.ndarray, clean: np.ndarray) -> Iterator[str]:
    if seen.shape != clean.shape:
        yield f"predictions of shape {seen.shape}, not {clean.shape}"
    elif not np.allclose(seen, clean, atol=1e-5):
        yield f"predictions differ by {np.abs(seen - clean).max():.2g}"


_fitted: dict[str, SurvTRACE] = {}
_predicted: dict[tuple[str, str, str], np.ndarray] = {}


def _clean(table: Messy, answer: Answer) -> Answer:
    """The same fit and predictions, from the clean table; each is made once."""
    X, y = table.X, pd.DataFrame({"event": list(table.event), "duration": table.duration})
    if table.entry is not None:
        y = y.assign(entry=table.entry)
    if table.id is not None:
        y = y.assign(id=table.id)
    new = X if table.clean_new is None else table.clean_new
    way = "command" if answer.predictions.ndim == 2 else "python"
    cohort = X.to_csv() + y.to_csv()
    key = cohort, new.to_csv(index=False), way
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if cohort not in _fitted:
            _fitted[cohort] = SurvTRACE(**TINY).fit(X, y)
        est = _fitted[cohort]
        if key not in _predicted:
            predict = _predict_by_command if way == "command" else _predict_in_python
            _predicted[key] = predict(est, new)
    return Answer(est, _predicted[key], "", answer.folder)


def _predict_in_python(est: SurvTRACE, new: pd.DataFrame) -> np.ndarray:
    return np.asarray(est.predict_cumulative_incidence(new, times=TIMES))


def _predict_by_command(est: SurvTRACE, new: pd.DataFrame) -> np.ndarray:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        est.save(folder / "model")
        new.to_csv(folder / "new.csv", index=False)
        run_command(
            "predict", folder / "model", folder / "new.csv", *PREDICT, "--out", folder / "risks.csv"
        )
        return pd.read_csv(folder / "risks.csv").to_numpy(dtype=float)
