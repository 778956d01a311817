"""The rule of each setting of the estimator, said once; the command line reads it here, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from survtrace.errors import SettingError
from survtrace.rules import (
    PATH,
    SEED,
    Rule,
    between,
    check_value,
    either,
    near_name,
    one_of,
    whole,
)

POSITIVE = between(0, float("inf"), above=True, below=True)
NOT_NEGATIVE = between(0, float("inf"), below=True)
PROBABILITY = between(0, 1, below=True)

IPS_FORMS = ("none", "paper", "events", "stabilised", "covariates", "causes")

# What a study must say and no table holds, by the item of the TRIPOD+AI checklist that asks it.
ABOUT_TOPICS: dict[str, str] = {
    "title": "1",
    "abstract": "2",
    "context": "3a",
    "use": "3b",
    "inequalities": "3c",
    "source": "5a",
    "dates": "5b",
    "place": "6a",
    "eligibility": "6b",
    "treatments": "6c",
    "preparation": "7",
    "outcome": "8a",
    "assessors": "8b",
    "blinding": "8c",
    "choice": "9a",
    "measured": "9b",
    "raters": "9c",
    "sample_size": "10",
    "fairness": "14",
    "thresholds": "15",
    "differences": "16",
    "ethics": "17",
    "funding": "18a",
    "conflicts": "18b",
    "protocol": "18c",
    "registration": "18d",
    "data_sharing": "18e",
    "code_sharing": "18f",
    "involvement": "19",
    "access": "22",
    "interpretation": "25",
    "limitations": "26",
    "poor_input": "27a",
    "expertise": "27b",
    "next_steps": "27c",
}


def _is_about(value: Any) -> bool:
    if value is None:
        return True
    texts = isinstance(value, Mapping) and all(isinstance(t, str) for t in value.values())
    return texts and set(value) <= set(ABOUT_TOPICS)


def _are_columns(value: Any) -> bool:
    if value is None or isinstance(value, str):  # a text is refused with words of its own
        return True
    several = isinstance(value, list | tuple | set | frozenset)
    several = several or (isinstance(value, np.ndarray) and value.ndim == 1)
    # A mask is no list of numbers: True would be column 1, as often as it occurs.
    return several and all(
        isinstance(column, str | Integral) and not isinstance(column, bool) for column in value
    )


RULES: dict[str, Rule] = {
    # Sizes have a largest value, so that a slip of the hand does not ask for all of the memory.
    "n_members": whole(1, 10_000),
    "n_intervals": whole(1, 10_000),
    "width": whole(1, 16_384),
    "depth": whole(0, 1_000),
    "n_heads": whole(1, 16_384),
    "hidden": whole(1, 65_536),
    "head_depth": one_of(1, 2),
    "token_bias": one_of(True, False),
    "proportional": NOT_NEGATIVE,
    "dropout": PROBABILITY,
    "attention_dropout": PROBABILITY,
    "token_dropout": PROBABILITY,
    "unknown_steps": whole(0),
    "head_dropout": PROBABILITY,
    "lr": POSITIVE,
    "weight_decay": NOT_NEGATIVE,
    "clip_norm": POSITIVE,
    "averaging": NOT_NEGATIVE,
    "batch_size": either(whole(1), one_of("auto")),
    "max_epochs": whole(1),
    "patience": whole(1),
    "validation_fraction": between(0, 1, above=True, below=True),
    "mortality_weight": NOT_NEGATIVE,
    "stay_weight": NOT_NEGATIVE,
    "anneal": either(whole(1), one_of(None)),
    "ips": one_of(*IPS_FORMS),
    "ips_clip": between(0, 1, above=True),
    "recalibrate": one_of(True, False, "auto"),
    "intervals": one_of(True, False),
    "categorical": Rule(_are_columns, "a list of columns, by name or number, or None"),
    "checkpoint_dir": Rule(lambda v: v is None or PATH.holds(v), "the path of a folder, or None"),
    "device": Rule(
        lambda v: isinstance(v, str) or type(v).__name__ == "device",
        "a text such as 'cpu' or 'auto'",
    ),
    "columns": Rule(
        lambda v: v is None or isinstance(v, Mapping) or PATH.holds(v),
        "a data dictionary: a mapping from names of columns, or the path of a CSV file, or None",
    ),
    "time_unit": Rule(lambda v: isinstance(v, str), "a text such as 'months'"),
    "time_name": Rule(
        lambda v: v is None or isinstance(v, str), "a text such as 'age', the clock, or None"
    ),
    "cause_names": Rule(
        lambda v: (
            v is None or (isinstance(v, Mapping) and all(isinstance(t, str) for t in v.values()))
        ),
        "a mapping from labels of causes to texts, or None",
    ),
    "about": Rule(
        _is_about,
        f"a mapping to texts from some of {', '.join(ABOUT_TOPICS)}, or None",
    ),
    "zero_duration": one_of("raise", "shift"),
    "prediction_batch_size": either(whole(1), one_of("auto")),
    "n_threads": either(whole(1, 1_024), one_of(None)),
    "random_state": SEED,
    "verbose": one_of(True, False, 0, 1, "auto"),
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse a setting that breaks its rule.

    Examples
    --------
    >>> check_settings({"n_members": 0})
    Traceback (most recent call last):
    survtrace.errors.SettingError: n_members must be a whole number of at least 1 and at \
most 10000; got 0.
    """
    for name, rule in RULES.items():
        if name in settings:
            check_value(name, settings[name], rule)
    if settings.get("checkpoint_dir") and settings["random_state"] is None:
        raise SettingError(
            "a fit with checkpoint_dir is resumed from the same seed, so random_state must be "
            "given; got None."
        )
    if "width" in settings and settings["width"] % settings["n_heads"]:
        raise SettingError(
            f"width must be a multiple of n_heads; got width={settings['width']} and "
            f"n_heads={settings['n_heads']}."
        )


def names_of_causes(causes: Sequence[Any], names: Mapping[Any, str] | None) -> dict[Any, str]:
    """Choose a text to show for each cause: the user's, or the label itself.

    Examples
    --------
    >>> names_of_causes([1, 2, "relapse"], {1: "death"})
    {1: 'death', 2: 'cause 2', 'relapse': 'relapse'}
    """
    given = {str(label): text for label, text in (names or {}).items()}
    unknown = sorted(set(given) - {str(cause) for cause in causes})
    if unknown:
        near = near_name(unknown[0], map(str, causes))
        question = f" (did you mean {near!r}?)" if near else ""
        raise SettingError(
            f"cause_names must name causes of the outcome, which are {list(causes)}; "
            f"{unknown[0]!r} is none{question}."
        )
    plain = {cause: cause if isinstance(cause, str) else f"cause {cause}" for cause in causes}
    return {cause: given.get(str(cause), text) for cause, text in plain.items()}
