"""Check what a saved folder says before anything is made of it: kinds, ranges, sizes, order.

A digest tells that files are as they were saved, not that whoever wrote them meant well: what is
written and signed by others is checked here, and nothing is allocated for a size that no tensor
has. Every function raises ValueError, or KeyError, TypeError and such where a part is missing or of
another kind; `saved_folder.read_folder` makes one error of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from survtrace.rules import Rule, between, one_of, whole
from survtrace.saved_tensors import Arrays, check_tensors, require
from survtrace.settings import NOT_NEGATIVE, RULES, names_of_causes
from survtrace.strict_json import has_numbers_only
from survtrace.tables.covariates.encoding import Encoding

INFINITY = float("inf")
ROUNDING = 1e-9  # by which values of a constant covariate differ, of their size

FINITE = between(-INFINITY, INFINITY, above=True, below=True)
TEXT = Rule(lambda v: isinstance(v, str), "a text")
FLAG = one_of(True, False)
NUMBER = Rule(lambda v: isinstance(v, int | float), "a number")
LABEL = Rule(lambda v: isinstance(v, str | int) or FINITE.holds(v), "a number or a text")
MAPPING = Rule(lambda v: isinstance(v, dict), "a mapping")


def list_of(rule: Rule, length: int | None = None) -> Rule:
    """Make the rule: a list of a length whose items follow a rule."""
    return Rule(
        lambda v: (
            isinstance(v, list) and (length is None or len(v) == length) and all(map(rule.holds, v))
        ),
        f"a list, each {rule.description}" if length is None else f"a list of {length}",
    )


def mapping_to(rule: Rule) -> Rule:
    """Make the rule: a mapping whose values follow a rule."""
    return Rule(
        lambda v: isinstance(v, dict) and all(map(rule.holds, v.values())),
        f"a mapping to values, each {rule.description}",
    )


def optional(rule: Rule) -> Rule:
    """Make the rule that holds for None, too."""
    return Rule(lambda v: v is None or rule.holds(v), f"{rule.description}, or none")


NOTE_RULES = {
    "settings": MAPPING,
    "causes": list_of(LABEL),
    "encoding": MAPPING,
    "shape": MAPPING,
    "median_event_time": NOT_NEGATIVE,
    "censoring_floor": between(0, 1, above=True),
    "history": MAPPING,
}
# What folders of earlier versions do not have.
LATER_RULES = {
    "censored": list_of(LABEL),
    "left_out": list_of(TEXT),
    "card": MAPPING,
    "interval": optional(MAPPING),
    "entry": optional(list_of(FINITE, 3)),
    "has_start_stop": FLAG,
    "updates": list_of(MAPPING),
}
CARD_RULES = {
    "fitted_on": TEXT,
    "n_subjects": whole(0),
    "n_events": mapping_to(whole(0)),
    "n_censored": whole(0),
    "n_missing": mapping_to(whole(0)),
    "n_rows": whole(0),
    "follow_up": mapping_to(optional(FINITE)),
    "entry": optional(list_of(FINITE, 3)),
    "has_start_stop": FLAG,
    "about": mapping_to(TEXT),
    "interrupted": FLAG,
    "survtrace_version": TEXT,
    "table": MAPPING,
}
FOLLOW_UP_RULES = {"longest": FINITE} | dict.fromkeys(
    ("first_quartile", "median", "third_quartile"), optional(FINITE)
)
TABLE_RULES = {"left_out": list_of(TEXT)} | dict.fromkeys(
    ("duration", "event", "entry", "id"), optional(TEXT)
)
UPDATE_RULES = {
    "date": TEXT,
    "subjects": whole(0),
    "events": mapping_to(whole(0)),
    "asked": TEXT,
    "how": TEXT,
}
HISTORY_RULES = {
    "epoch": list_of(whole(0)),
    "member": list_of(whole(0)),
    "validation_loss": list_of(optional(NUMBER)),
    "improved": list_of(FLAG),
    "seconds": list_of(NOT_NEGATIVE),
}
MORE_SETTINGS = {
    "time_grid": optional(list_of(FINITE)),
    "categorical": optional(list_of(LABEL)),
    "checkpoint_dir": optional(TEXT),
    "device": TEXT,
    "random_state": optional(whole(0)),
}
SCALE_RULES = dict.fromkeys(("mean", "low", "typical", "high"), FINITE) | {
    "deviation": NOT_NEGATIVE
}
WRITTEN_RULES = {
    "decimal": one_of(".", ",", "any"),
    "thousands": FLAG,
    "missing": list_of(TEXT),
    "unit": TEXT,
    "label": TEXT,
    "low": optional(FINITE),
    "high": optional(FINITE),
    "in_text": FLAG,
    "levels": list_of(TEXT),
}
SIZES = ("n_members", "n_rows", "n_tokens", "n_causes", "n_intervals")
OF_SETTINGS = (
    "width", "depth", "n_heads", "hidden", "head_depth", "dropout", "attention_dropout",
    "token_dropout", "head_dropout",
)  # fmt: skip


def check_saved(note: Mapping[str, Any], arrays: Arrays) -> None:
    """Refuse plain values and arrays that no estimator of ours has."""
    _check_fields("", note, NOTE_RULES, LATER_RULES)
    loosely = ("history", "updates")  # losses and scores may be unknown
    if not has_numbers_only({k: v for k, v in note.items() if k not in loosely}):
        raise ValueError("a number is NaN or infinite")
    _check_fields("settings: ", note["settings"], {}, {**RULES, **MORE_SETTINGS})
    _check_record(note.get("card", {}), note.get("updates", []))
    encoding = _checked_encoding(note["encoding"], note.get("left_out", []))
    _check_causes(note)
    _check_history(note["history"])
    shape = note["shape"]
    _check_shape(shape, len(note["causes"]), encoding, len(arrays))
    _check_interval(note.get("interval"), shape)
    check_tensors(arrays, encoding, shape)


def _check_fields(
    place: str,
    values: Any,
    rules: Mapping[str, Rule],
    later: Mapping[str, Rule] | None = None,
) -> None:
    """Check that a mapping has all values of ``rules``, and that those and ``later`` hold."""
    require(isinstance(values, dict), f"{place or 'the file'} must be a mapping")
    for name in rules:
        require(name in values, f"{place}{name} is missing")
    for name, rule in {**rules, **(later or {})}.items():
        if name in values:
            require(rule.holds(values[name]), f"{place}{name} must be {rule.description}")


def _check_record(card: Mapping[str, Any], updates: Sequence[Any]) -> None:
    """Check what is told of the fit and of later updates."""
    _check_fields("card: ", card, {}, CARD_RULES)
    if card.get("follow_up"):
        _check_fields("card: follow_up: ", card["follow_up"], FOLLOW_UP_RULES)
    _check_fields("card: table: ", card.get("table", {}), {}, TABLE_RULES)
    for each in updates:
        _check_fields("updates: ", each, UPDATE_RULES)


def _checked_encoding(plain: Mapping[str, Any], left_out: Sequence[str]) -> Encoding:
    require(len(plain) > 0, "encoding has no covariate")
    for name, entry in plain.items():
        place = f"encoding of {name[:50]!r}: "
        _check_fields(place, entry, {}, {"written": MAPPING})
        _check_fields(place, entry.get("written", {}), {}, WRITTEN_RULES)
        if "levels" in entry:
            levels, typical = entry["levels"], entry.get("typical")
            _check_fields(place, entry, {"levels": list_of(TEXT)})
            require(len(set(levels)) == len(levels), f"{place}levels must differ")
            require(typical is None or typical in levels, f"{place}typical must be a level")
        else:
            _check_fields(place, entry, SCALE_RULES)
            _check_scale(place, entry)
    return Encoding.from_dict(dict(plain), left_out)


def _check_scale(place: str, scale: Mapping[str, float]) -> None:
    low, high = scale["low"], scale["high"]
    require(low <= scale["typical"] <= high, f"{place}low, typical, high must rise")
    same = high - low <= ROUNDING * max(abs(low), abs(high))
    require(scale["deviation"] > 0 or same, f"{place}deviation must be above 0")


def _check_causes(note: Mapping[str, Any]) -> None:
    causes = note["causes"]
    require(len(causes) > 0 and len(set(causes)) == len(causes), "causes must differ")
    names_of_causes(causes, note["settings"].get("cause_names"))


def _check_history(history: Mapping[str, Any]) -> None:
    _check_fields("history: ", history, HISTORY_RULES)
    require(len(history["epoch"]) > 0, "history must have an epoch")
    columns = list(history.values())
    require(
        all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns),
        "history must be lists of one length",
    )
    require(
        all(isinstance(value, int | float | None) for column in columns for value in column),
        "history must be numbers",
    )


def _check_shape(
    shape: Mapping[str, Any], n_causes: int, encoding: Encoding, n_arrays: int
) -> None:
    rules = {name: whole(1) for name in SIZES} | {name: RULES[name] for name in OF_SETTINGS}
    later = {name: RULES[name] for name in ("token_bias", "proportional")}
    _check_fields("shape: ", shape, rules, later)
    # Each layer and each cause has tensors of its own: no loop below runs longer than over these.
    for name in ("depth", "n_causes"):
        require(shape[name] <= n_arrays, f"shape: {name} is larger than the number of tensors")
    require(shape["n_causes"] == n_causes, "shape: n_causes must be the number of causes")
    require(shape["n_tokens"] == len(encoding.columns), "shape: n_tokens must be that of encoding")
    require(shape["n_rows"] == encoding.first_rows[-1], "shape: n_rows must be that of encoding")
    silent = list(encoding.silent_rows)
    require(shape.get("silent_rows") == silent, "shape: silent_rows must be those of encoding")
    require(shape["width"] % shape["n_heads"] == 0, "shape: n_heads must divide width")


def _check_interval(interval: Mapping[str, Any] | None, shape: Mapping[str, Any]) -> None:
    if interval is None:
        return
    n_states, levels = 1 + shape["n_causes"], interval.get("levels")
    inside = between(0, 1, above=True, below=True)
    _check_fields("interval: ", interval, {"levels": list_of(inside)})
    assert levels is not None
    rules = {
        "floor": list_of(list_of(NOT_NEGATIVE, shape["n_intervals"]), n_states),
        "factor": list_of(NOT_NEGATIVE, n_states),
        "quantiles": list_of(list_of(NOT_NEGATIVE, len(levels)), n_states),
    }
    _check_fields("interval: ", interval, rules)
    require(len(levels) > 0 and levels == sorted(set(levels)), "interval: levels must rise")
    require(all(0.5 < (1 + level) / 2 < 1 for level in levels), "interval: levels are too extreme")
    rise = all(each == sorted(each) for each in interval["quantiles"])
    require(rise, "interval: quantiles must rise")
