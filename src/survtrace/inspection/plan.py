"""Inspect a whole table: a finding for each column, and the covariates that are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pandas as pd

from survtrace.errors import Answer, DataError, Words
from survtrace.inspection.column import inspect_column
from survtrace.inspection.dictionary import Entry, read_dictionary, require_names
from survtrace.inspection.entry_columns import find_entry
from survtrace.inspection.finding import Finding
from survtrace.inspection.leaks import find_leak
from survtrace.inspection.numeric import KEY, KEY_BESIDE_ID, SEVERAL_ROWS
from survtrace.inspection.texts import is_named_like_a_key, is_named_like_a_patient
from survtrace.tables.covariates.columns import plain_columns, read_column
from survtrace.tables.covariates.covariate import Covariate, are_positions
from survtrace.tables.covariates.covariates import infer_covariates, names_of
from survtrace.tables.covariates.missing import MARKERS
from survtrace.tables.covariates.summary import summarise
from survtrace.tables.covariates.values import Levels
from survtrace.tables.files.formats import HINTS
from survtrace.tables.files.text_files import find_decimal
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.tasks import Run, map_in_order, one_by_one

OVERRULE = (
    'To overrule it, name the column: SurvTRACE(columns={"name": {"kind": "categorical"}}), kind '
    'also "numerical" or "ignore".'
)
OVERRULE_IN_COMMAND = (
    "To overrule it, name the column: --use COLUMN, --categorical COLUMN, --drop COLUMN, or write "
    "it in a dictionary for --columns, which survtrace check --write drafts."
)
SETTLE = "Write SurvTRACE(columns={{{name!r}: {{...}}}}) with {fields}."
SETTLE_IN_COMMAND = (
    "Say {options}, or write it in a dictionary for --columns, which `survtrace check TABLE "
    "--write dictionary.csv` drafts."
)
ENTRY = "named like the start of a row; if it is, it belongs in y, as entry"


@dataclass(frozen=True)
class Plan:
    """What will be done with each column of a table: a finding for each, in their order."""

    findings: tuple[Finding, ...]

    @property
    def covariates(self) -> tuple[Covariate, ...]:
        """Return the columns that are used, in their order."""
        return tuple(found.covariate for found in self.findings if found.covariate is not None)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the names of the columns that are not used."""
        return tuple(found.name for found in self.findings if found.covariate is None)

    def require_answers(self) -> None:
        """Refuse a table with open questions, or without covariates."""
        open_questions = [found for found in self.findings if found.use == "question"]
        if open_questions:
            raise DataError(
                "\n".join(_question(found) for found in open_questions),
                in_command="\n".join(_question(each, in_command=True) for each in open_questions),
                answers=self.answers,
            )
        if not self.covariates:
            reasons = "; ".join(f"{f.name}: {f.reason}" for f in self.findings)
            raise DataError(
                f"X must have covariates; all its columns are left out ({reasons}). To use one all "
                'the same, name it: columns={"name": {"kind": "categorical"}}.',
                in_command=f"the table must have covariates; all its columns are left out "
                f"({reasons}). To use one all the same, name it: --use COLUMN.",
            )

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Return the options that settle all questions at once, one for each reading of the table.

        Examples
        --------
        >>> from survtrace.tables.covariates.covariates import open_table
        >>> plan = plan_columns(open_table({"lab": ["1,234", "5,678"]}))
        >>> [answer.options for answer in plan.answers]
        [('--decimal', ','), ('--decimal', '.')]
        """
        by_question = [found.answers for found in self.findings if found.use == "question"]
        if not all(by_question):
            return ()
        joined: list[Answer] = []
        for number in range(max(map(len, by_question), default=0)):
            each = dict.fromkeys(some[min(number, len(some) - 1)] for some in by_question)
            options = tuple(part for answer in each for part in answer.options)
            joined.append(Answer(", ".join(answer.when for answer in each), options))
        return tuple(joined)

    def words(self) -> Words:
        """Join all findings worth a warning in one text; "" for a clean table."""
        return Words(
            self._in_words("some columns of X are not used as they are.", OVERRULE),
            in_command=self._in_words(
                "some columns are not used as they are.", OVERRULE_IN_COMMAND, in_command=True
            ),
        )

    def _in_words(self, first: str, last: str, *, in_command: bool = False) -> str:
        left_out, converted, missing, warned = {}, {}, {}, {}
        for found in self.findings:
            if found.use == "left out" and not found.by_user:
                left_out[found.name] = found.reason
            if found.use == "numerical" and found.read_as == "text":
                parts = (found.reason, found.changes_in_words())
                converted[found.name] = ", ".join(part for part in parts if part)
            if found.markers:
                missing[found.name] = found.markers_in_words()
            if warnings := [*found.warnings, *found.sentinels_in_words(in_command=in_command)]:
                warned[found.name] = "; ".join(warnings)
        titles = ("left out", "read as numbers", "read as missing", "look at")
        body = []
        for title, reasons in zip(titles, (left_out, converted, missing, warned), strict=True):
            columns = "; ".join(f"{name} ({reason})" for name, reason in reasons.items())
            body += [f"  {title}: {columns}."] if columns else []
        return "\n".join([first, *body, last]) if body else ""

    def with_idle(self, table: nw.DataFrame[Any]) -> Plan:
        """Return the plan with warnings of columns that are empty, constant, or copies."""
        seen: dict[bytes, str] = {}
        findings = []
        for found in self.findings:
            idle = "" if found.covariate is None else _idle(table, found.covariate, seen)
            findings.append(replace(found, warnings=(idle, *found.warnings)) if idle else found)
        return Plan(tuple(findings))

    def apply(self, table: nw.DataFrame[Any]) -> pd.DataFrame:
        """Convert the columns that are used to plain numbers and categories, for other methods.

        Examples
        --------
        >>> from survtrace.tables.covariates.covariates import open_table
        >>> table = open_table({"crp": ["1,5", "<0,6"], "sex": ["f", "unknown"]})
        >>> plan_columns(table).apply(table).to_dict("list")
        {'crp': [1.5, 0.6], 'sex': ['f', nan]}
        """
        return plain_columns(table, self.covariates)


def plan_columns(
    table: nw.DataFrame[Any],
    outcome: Outcome | None = None,
    *,
    categorical: Sequence[str | int] | None = None,
    columns: Any = None,
    run: Run = one_by_one,
) -> Plan:
    """Inspect every column of a table (see `open_table`) and decide what to do with it.

    The ``outcome`` of the same subjects lets columns be found that give it away; ``categorical``
    and ``columns`` are the user's list and data dictionary. ``run`` may inspect columns in threads.

    Examples
    --------
    >>> from survtrace.tables.covariates.covariates import open_table
    >>> table = open_table({"crp": ["1,5", "<0,6"], "visit": ["2020-01-31", "31.12.2019"]})
    >>> [(found.name, found.use) for found in plan_columns(table).findings]
    [('crp', 'numerical'), ('visit', 'left out')]
    """
    entries = read_dictionary(columns)
    require_names(entries, table.columns)
    if are_positions(table.columns) and all(table[n].dtype.is_numeric() for n in table.columns):
        return Plan(  # an array of numbers has no names to judge by: each is used as it is
            tuple(
                Finding(covariate.name, "numbers", "", 0, covariate.kind, covariate=covariate)
                for covariate in infer_covariates(table, categorical)
            )
        )
    named = names_of(() if categorical is None else categorical, table.columns)
    native = table.to_native()
    hints = native.attrs.get(HINTS, {}) if isinstance(native, pd.DataFrame) else {}
    decimal = hints.get("decimal") or find_decimal(table)
    named |= set(hints.get("categorical") or ()) & set(table.columns)

    def inspect(name: str) -> Finding:
        found = inspect_column(
            table[name],
            entries.get(str(name), Entry()),
            categorical=name in named,
            table=decimal,
            missing=hints.get("missing") or (),
        )
        return found if outcome is None else _against(found, table, outcome)

    return Plan(tuple(map_in_order(inspect, table.columns, run)))


def _against(found: Finding, table: nw.DataFrame[Any], outcome: Outcome) -> Finding:
    """Add to a finding whether the column gives the outcome away."""
    if found.use == "question" or (found.by_user and found.covariate is None):
        return found
    as_levels = Covariate(found.name, "categorical", missing=MARKERS)
    try:
        column = read_column(table, found.covariate or as_levels)
    except DataError:  # raised again where the values are encoded
        return found
    if found.covariate is None:
        return _left_out_against(found, column, table, outcome)
    if KEY in found.warnings and (outcome.id is not None or _names_patients(table, found.name)):
        others = [warning for warning in found.warnings if warning != KEY]
        found = replace(found, warnings=(*others, KEY_BESIDE_ID))
    asked = not found.by_user and outcome.entry is None and not isinstance(column, Levels)
    if asked and find_entry(found.name, column, outcome.duration) is not None:
        found = replace(found, warnings=(*found.warnings, ENTRY))
    leak = find_leak(column, outcome)
    if leak is None:
        return found
    if leak.certain and not found.by_user:
        return replace(
            found,
            use="left out",
            role="leak",
            reason=f"gives the outcome away: {leak.reason}",
            covariate=None,
            markers={},
            changes={},
            warnings=(),
            sentinels={},
        )
    warning = f"seems to give the outcome away: {leak.reason}"
    return replace(found, warnings=(*found.warnings, warning))


def _left_out_against(
    found: Finding, levels: Levels, table: nw.DataFrame[Any], outcome: Outcome
) -> Finding:
    leak = find_leak(levels, outcome)
    if leak is not None and leak.certain:
        return replace(found, reason=f"{found.reason}; {leak.reason}")
    names_subjects = found.role == "identifier" and is_named_like_a_key(found.name)
    repeats = len(levels.text) < (levels.codes >= 0).sum()
    if names_subjects and outcome.id is None and repeats and not _names_patients(table, found.name):
        return replace(found, reason=f"{found.reason}; {SEVERAL_ROWS}")
    return found


def _names_patients(table: nw.DataFrame[Any], name: str) -> bool:
    """Check whether another column than this one names the patients, one row each."""
    others = (other for other in table.columns if other != name and is_named_like_a_patient(other))
    return any(not table[other].is_duplicated().any() for other in others)


def _idle(table: nw.DataFrame[Any], covariate: Covariate, seen: dict[bytes, str]) -> str:
    """Return why a column carries no information; "" if it may."""
    try:
        column = read_column(table, covariate)
    except (DataError, OverflowError):
        return ""
    summary = summarise(column)
    if summary.n == 0:
        return "all missing"
    if summary.is_constant and not summary.n_missing:
        return "one value in all rows"
    content = column.codes if isinstance(column, Levels) else column
    other = seen.setdefault(content.tobytes(), covariate.name)
    return "" if other == covariate.name else f"a copy of {other!r}"


def _question(found: Finding, *, in_command: bool = False) -> str:
    if found.settled_by is None:
        return found.reason
    name, fields = found.name, found.settled_by
    way_out = SETTLE.format(name=name, fields=fields)
    if in_command:
        way_out = SETTLE_IN_COMMAND.format(options=fields.in_command.replace("COLUMN", repr(name)))
    return f"column {name!r}: {found.reason}. {way_out}"
