"""Names that people read: columns of a table of predictions, causes, covariates and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from survtrace.errors import DataError
from survtrace.tables.table import is_pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Names:
    """How a fitted estimator's causes, covariates and times are called, and what its card says.

    The card has ``fitted_on``, ``n_subjects``, ``n_events`` and so on; it is empty for a model
    saved by an earlier version.
    """

    causes: dict[Any, str]  # by label
    covariates: dict[str, str]  # by name; with the unit
    time_unit: str = ""  # empty if it is not known
    card: dict[str, Any] = field(default_factory=dict)
    time_name: str = ""  # of the clock, such as "age"; empty if it is not known

    def cause(self, label: Any) -> str:
        """Return the text of a cause."""
        return self.causes.get(label) or default_cause_name(label)

    def covariate(self, name: str) -> str:
        """Return the text of a covariate."""
        return self.covariates.get(name) or name

    def time(self, shown: str) -> str:
        """Put the unit behind a time."""
        return f"{shown} {self.time_unit}" if self.time_unit else shown

    @property
    def clock(self) -> str:
        """What an axis of times is called: the name of the clock, or "time"."""
        return self.time_name or "time"


def names_of(est: Any) -> Names:
    """Read the names and the card of a fitted estimator, with defaults for what it lacks.

    Examples
    --------
    >>> class Fitted:
    ...     causes_, feature_names_in_, time_unit_ = [1, 2], ["age"], "months"
    >>> names = names_of(Fitted())
    >>> names.cause(2), names.covariate("age"), names.time("12")
    ('cause 2', 'age', '12 months')
    """
    causes = {label: default_cause_name(label) for label in getattr(est, "causes_", ())}
    covariates = {str(name): str(name) for name in getattr(est, "feature_names_in_", ())}
    return Names(
        {**causes, **(getattr(est, "cause_names_", None) or {})},
        {**covariates, **(getattr(est, "covariate_labels_", None) or {})},
        getattr(est, "time_unit_", "") or "",
        dict(getattr(est, "card_", None) or {}),
        getattr(est, "time_name_", "") or getattr(est, "time_name", "") or "",
    )


def card_words(names: Names) -> str:
    """Say in a sentence from whom and when a model learned; empty without a card.

    Examples
    --------
    >>> card = {"fitted_on": "2026-03-01", "n_subjects": 1200, "n_events": {"1": 310}}
    >>> card_words(Names({1: "relapse"}, {}, card=card))
    'Learned on 2026-03-01 from 1,200 subjects with 310 events.'
    """
    card = names.card
    if "n_subjects" not in card:
        return ""
    day = f" on {str(card['fitted_on'])[:10]}" if card.get("fitted_on") else ""
    n_events = sum(card.get("n_events", {}).values())
    broken_off = " Training was interrupted." if card.get("interrupted") else ""
    return (
        f"Learned{day} from {card['n_subjects']:,} subjects with {n_events:,} "
        f"event{'' if n_events == 1 else 's'}.{broken_off}"
    )


def follow_up_words(follow_up: dict[str, Any] | None, unit: str = "") -> str:
    """Say how long the subjects of a card were followed; empty where it does not say.

    Examples
    --------
    >>> quartiles = {"first_quartile": 2.5, "median": 4.0, "third_quartile": None}
    >>> follow_up_words({**quartiles, "longest": 9.25}, "years")
    'median 4 years (quartiles 2.5 and not reached) by reverse Kaplan-Meier, longest 9.25 years'
    >>> follow_up_words(None)
    ''
    """
    if not follow_up:
        return ""
    behind = f" {unit}" if unit else ""
    first, middle, third = (
        "not reached" if follow_up[name] is None else f"{follow_up[name]:.4g}"
        for name in ("first_quartile", "median", "third_quartile")
    )
    return (
        f"median {middle}{behind if follow_up['median'] is not None else ''} (quartiles {first} "
        f"and {third}) by reverse Kaplan-Meier, longest {follow_up['longest']:.4g}{behind}"
    )


def card_events(names: Names) -> list[tuple[str, int]]:
    """List how many training subjects had an event of each cause, and how many were censored."""
    by_text = {str(label): text for label, text in names.causes.items()}
    events = names.card.get("n_events", {})
    rows = [(by_text.get(label, label), int(n)) for label, n in events.items()]
    censored = names.card.get("n_censored")
    return rows + ([] if censored is None else [("censored", int(censored))])


def listed(texts: list[str]) -> str:
    """Join texts as a sentence does.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def capital(text: str) -> str:
    """Write the first letter large, and the others as they are.

    Examples
    --------
    >>> capital("death of AML")
    'Death of AML'
    """
    return f"{text[:1].upper()}{text[1:]}"


def default_cause_name(label: Any) -> str:
    """Name a cause by its text, or by "cause" and its number.

    Examples
    --------
    >>> default_cause_name("relapse"), default_cause_name(2)
    ('relapse', 'cause 2')
    """
    return label if isinstance(label, str) else f"cause {label}"


def column_names(
    kind: str, times: ArrayLike, causes: Sequence[Any] = (), mark: str = ""
) -> list[str]:
    """Name the columns of predictions: by cause (where there are any), then by time.

    A time is written with as many digits as tell it from every other, behind a ``mark``.

    Examples
    --------
    >>> column_names("survival", [365.0, 1234567, 0.1])
    ['survival_365', 'survival_1234567', 'survival_0.1']
    >>> column_names("incidence", [12, 60], ["heart", "other"])[1:3]
    ['incidence_heart_60', 'incidence_other_12']
    """
    points = np.atleast_1d(np.asarray(times, dtype=np.float64))
    labels = [np.format_float_positional(time, trim="-") for time in points]
    states = [f"{kind}_{cause}" for cause in causes] or [kind]
    return [f"{state}_{mark}{label}" for state in states for label in labels]


def state_names(times: ArrayLike, causes: Sequence[Any], mark: str = "") -> list[str]:
    """Name the columns of all states: event-free at each time, then each cause at each time.

    Examples
    --------
    >>> state_names([12], ["heart", "other"])
    ['survival_12', 'incidence_heart_12', 'incidence_other_12']
    """
    of_causes = column_names("incidence", times, causes, mark) if causes else []
    return [*column_names("survival", times, mark=mark), *of_causes]


def prediction_frame(
    X: Any,
    columns: Sequence[str],
    values: NDArray[np.float64],
    deviation: NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """Put predictions into a frame, a row for each subject, with the index of X if it has one.

    Values and deviation have as many numbers a subject as there are columns, by `column_names`. A
    deviation stands beside what it belongs to, with ``_std`` behind its name.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [61, 47]}, index=["ann", "bob"])
    >>> prediction_frame(X, ["survival_12"], np.array([[0.9], [0.8]]))
         survival_12
    ann          0.9
    bob          0.8
    """
    if len(set(columns)) < len(columns):
        twice = sorted({name for name in columns if list(columns).count(name) > 1})
        raise DataError(
            f"with as_frame=True the times must differ; {twice} would be written twice. Ask for "
            "each time once."
        )
    try:
        import pandas
    except ModuleNotFoundError:
        raise DataError(
            "as_frame=True gives a frame of pandas, which is not installed. Install it, or leave "
            "as_frame out: names of columns are in survtrace.naming.column_names."
        ) from None
    names = list(columns)
    if deviation is not None:
        values = np.stack([values, deviation], axis=-1)
        names = [each for name in columns for each in (name, f"{name}_std")]
    rows = values.reshape(len(values), -1)
    return pandas.DataFrame(rows, columns=names, index=_index_of(X))


def _index_of(X: Any) -> Any:
    """Return the row labels of a table, None if it has none."""
    if isinstance(X, Mapping):
        X = next((values for values in X.values() if is_pandas(values, "Series")), None)
    return X.index if is_pandas(X, "DataFrame", "Series") else None
