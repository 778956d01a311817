"""Read settings of the estimator from a file and from the command line."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from survtrace.errors import SettingError

LITERALS = {"true": True, "false": False, "none": None, "null": None}


def gather_settings(
    config: Path | None, pairs: Sequence[str], seed: int | None = None
) -> dict[str, Any]:
    """Merge the settings of a file, of ``key=value`` pairs, and the seed, the later ones first.

    Examples
    --------
    >>> gather_settings(None, ["n_members=4", "batch_size=auto"], seed=7)
    {'random_state': 7, 'n_members': 4, 'batch_size': 'auto'}
    >>> gather_settings(None, ["n_member=4"])
    Traceback (most recent call last):
    survtrace.errors.SettingError: there is no setting 'n_member'; did you mean 'n_members'?
    """
    from survtrace.estimator import SurvTRACE
    from survtrace.settings import check_settings

    settings = {"random_state": 0, **(read_config(config) if config else {}), **_of_pairs(pairs)}
    if seed is not None:
        settings["random_state"] = seed
    defaults = SurvTRACE().get_params()
    _require_known(settings, defaults)
    check_settings({**defaults, **settings})
    return settings


def read_config(path: Path) -> dict[str, Any]:
    """Read settings from a JSON or TOML file, such as the settings.json that tune writes."""
    if path.suffix not in (".json", ".toml"):
        raise SettingError(f"--config must end in .json or .toml; got {path.name}.")
    try:
        content = path.read_text(encoding="utf-8")
        settings = json.loads(content) if path.suffix == ".json" else tomllib.loads(content)
    except FileNotFoundError:
        raise SettingError(f"{path} does not exist. Pass a file of settings.") from None
    except ValueError as error:
        raise SettingError(f"{path} could not be read as settings ({error}).") from None
    if not isinstance(settings, dict):
        raise SettingError(f"{path} must map names of settings to values, such as {{'width': 16}}.")
    return settings


def read_value(name: str, text: str) -> Any:
    """Convert a text to the number, boolean or list it is, unless the rule wants the text.

    Examples
    --------
    >>> read_value("lr", "1e-3"), read_value("batch_size", "auto"), read_value("anneal", "none")
    (0.001, 'auto', None)
    """
    from survtrace.settings import RULES

    value: Any = text
    if text.lower() in LITERALS:
        value = LITERALS[text.lower()]
    else:
        with suppress(SyntaxError, ValueError):
            value = ast.literal_eval(text)
    rule = RULES.get(name)
    return text if rule and rule.holds(text) and not rule.holds(value) else value


def _of_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    settings = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise SettingError(f"--set takes name=value, such as n_members=4; got {pair!r}.")
        settings[name.strip()] = read_value(name.strip(), text.strip())
    return settings


def _require_known(names: Iterable[str], settings: Iterable[str]) -> None:
    from survtrace.rules import near_name

    for name in names:
        if name not in settings:
            near = near_name(name, settings)
            way_out = f"did you mean {near!r}?" if near else f"they are {sorted(settings)}."
            raise SettingError(f"there is no setting {name!r}; {way_out}")
