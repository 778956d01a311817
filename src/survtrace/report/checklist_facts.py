"""What is known to each item of the TRIPOD+AI checklist: from the model, the table, the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from survtrace.estimator import SurvTRACE
from survtrace.evaluation.validation import Validation
from survtrace.naming import Names, follow_up_words, listed
from survtrace.report.description import CohortSummary

MOST_NAMED = 30  # covariates that are named one by one


@dataclass(frozen=True, eq=False)
class Known:
    """All that the checklist is filled from."""

    est: SurvTRACE
    names: Names
    cohort: CohortSummary
    validation: Validation
    about: Mapping[str, str]  # of the validation; of the model it is in its card

    @property
    def card(self) -> Mapping[str, Any]:
        """The card of the model; empty for one of an earlier version."""
        return self.names.card

    @property
    def causes(self) -> str:
        """All causes, by name."""
        return listed([self.names.cause(cause) for cause in self.validation.causes])

    @property
    def horizons(self) -> str:
        """All horizons, with their unit."""
        return self.names.time(listed([f"{each:g}" for each in self.validation.horizons]))


def _title(known: Known) -> list[str]:
    return [
        f"For example: evaluation of a model that predicts {known.causes} by {known.horizons}, in "
        f"{known.cohort.n_subjects:,} subjects."
    ]


def _aim(known: Known) -> list[str]:
    return ["Evaluation of a fitted model on subjects given for it; it was not changed by them."]


def _cleaning(known: Known) -> list[str]:
    left_out = list(known.est.encoding_.left_out)
    dropped = f" Columns left out: {listed(left_out)}." if left_out else ""
    return [
        "Columns are read by kind (number, category); identifiers, dates and free text are left "
        f"out, infinite numbers refused, the same for all subjects.{dropped}"
    ]


def _outcome(known: Known) -> list[str]:
    several = "competing causes, the first to happen counts" if _several(known) else "one cause"
    return [f"Predicted: {known.causes} by {known.horizons} ({several})."]


def _covariates(known: Known) -> list[str]:
    names = [known.names.covariate(str(name)) for name in known.est.feature_names_in_]
    shown = names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], "others"]
    return [f"{len(names)} covariates: {listed(shown)}."]


def _size(known: Known) -> list[str]:
    return [f"Model: {_learned_from(known)}", f"Validation: {_scored(known)}"]


def _missing(known: Known) -> list[str]:
    here = [
        f"{known.names.covariate(c.name)} {c.n_missing / known.cohort.n_rows:.1%}"
        for c in known.cohort.covariates
        if c.n_missing
    ]
    n_missing, n_rows = known.card.get("n_missing", {}), known.card.get("n_rows")
    there = [
        f"{known.names.covariate(name)} {n / n_rows:.1%}" for name, n in n_missing.items() if n
    ] if n_rows else ["not known"]  # fmt: skip
    return [
        "The model has learned what a missing value of each covariate means; no subject is left "
        "out for one, and none is filled in.",
        f"Missing in the training data: {listed(there) if there else 'none'}.",
        f"Missing here: {listed(here) if here else 'none'}.",
    ]


def _data_use(known: Known) -> list[str]:
    share, members = known.est.validation_fraction, known.est.network_.shape.n_members
    return [
        f"Training data: each of {members} members set aside {share:.0%} of the subjects to stop "
        "by, drawn anew. The subjects of this validation must be others; whether they seem to be "
        "is said at the top."
    ]


def _covariate_form(known: Known) -> list[str]:
    return [
        "Numbers are standardised, categories embedded, without cuts or selection; interactions "
        "and non-linear effects are learned by attention between covariates."
    ]


def _kind_of_model(known: Known) -> list[str]:
    est, defaults = known.est, type(known.est)().get_params()
    changed = [
        f"{name}={value}"
        for name, value in sorted(est.get_params().items())
        if repr(value) != repr(defaults[name]) and name not in ("about", "verbose", "columns")
    ]
    return [
        f"SurvTRACE (Wang and Sun 2022): {est.network_.shape.n_members} transformers over "
        "covariates, averaged, each with a hazard for every cause that is constant within "
        f"{len(est.time_grid_) - 1} intervals; version {known.card.get('survtrace_version', '?')}.",
        f"Settings other than the defaults: {', '.join(changed) or 'none'}.",
    ]


def _centres(known: Known) -> list[str]:
    if known.validation.centre is None:
        return ["Not examined. If the table names centres: --centre COLUMN."]
    return [
        f"Each score by {known.validation.centre}, summarised by a random-effects model with the "
        "spread between centres and an interval for a new centre."
    ]


def _measures(known: Known) -> list[str]:
    return [
        "Calibration: observed/expected ratio, intercept, slope and their joint test, smooth curve "
        "with band, ICI, E50, E90 and Emax. Ranking: cause-specific concordance and AUC. Both "
        "together: Brier score and IPA. Usefulness: decision curve. As in the guide for competing "
        "events (van Geloven et al., BMJ 2022;377:e069249), for censored data, with 95 % "
        "intervals."
    ]


def _updates(known: Known) -> list[str]:
    updates = getattr(known.est, "updates_", None) or []
    if not updates:
        return ["The model was not updated."]
    return [
        f"Updated on {each['date']} with {each['subjects']:,} subjects: "
        f"{'nothing was changed' if each['how'] == 'none' else each['how']}."
        for each in updates
    ]


def _computed(known: Known) -> list[str]:
    return ["By the saved model itself (survtrace predict, or SurvTRACE.predict_proba)."]


def _imbalance(known: Known) -> list[str]:
    ips = known.est.ips
    if ips == "none":
        return ["Nothing was resampled or reweighted."]
    again = "fitted again" if known.est.recalibrate else "not fitted again"
    return [f"Losses were weighted (ips={ips!r}); the level of the hazards was {again}."]


def _fairness(known: Known) -> list[str]:
    columns = _group_columns(known.validation)
    if not columns:
        return ["No group of people was examined by itself. To do so: --by COLUMN."]
    return [f"Every score was examined by {listed(columns)}, with tests of their difference."]


def _output(known: Known) -> list[str]:
    levels = known.validation.decisions["threshold"]
    shown = f" Decision curves from {levels.min():g} to {levels.max():g}." if len(levels) else ""
    return [f"Probabilities of each cause by any time; no classes.{shown}"]


def _against_training(known: Known) -> list[str]:
    outside = [
        f"{known.names.covariate(c.name)} {c.n_outside / known.cohort.n_rows:.0%}"
        for c in known.cohort.covariates
        if c.n_outside > 0.05 * known.cohort.n_rows
    ]
    return [
        "The table “Covariates” compares each with the training data.",
        "More than 5 % of the subjects lie outside of what 98 % of the training data had: "
        f"{listed(outside) if outside else 'in no covariate'}.",
    ]


def _flow(known: Known) -> list[str]:
    counts = known.validation.counts
    rows = counts[counts["cause"] == known.validation.causes[0]]
    texts = [
        f"by {known.names.time(f'{row.horizon:g}')} {row.events + row.other_events:,} had an "
        f"event, {row.censored:,} were censored, {row.event_free:,} event-free"
        for row in rows.itertuples()
    ]
    follow_up = f"{known.cohort.median_follow_up:.4g}"
    return [
        f"{known.cohort.n_subjects:,} subjects: {'; '.join(texts)}.",
        f"Median follow-up (reverse Kaplan-Meier): {known.names.time(follow_up)}.",
    ]


def _characteristics(known: Known) -> list[str]:
    return ["See “Subjects”: events, follow-up, covariates and gaps."]


def _numbers(known: Known) -> list[str]:
    return [*_size(known), *_data_use(known)]


def _specification(known: Known) -> list[str]:
    return ["The saved folder (JSON and safetensors) holds the whole model and no subject's data."]


def _performance(known: Known) -> list[str]:
    scores = known.validation.scores
    middle = known.validation.horizons[len(known.validation.horizons) // 2]
    texts = []
    for cause in known.validation.causes:
        here = scores[(scores["cause"] == cause) & (scores["horizon"] == middle)]
        parts = [_with_interval(here, name) for name in ("O/E", "slope", "AUC", "IPA")]
        by = known.names.time(f"{middle:g}")
        texts.append(f"{known.names.cause(cause)} by {by}: {', '.join(parts)}.")
    return [*texts, "All others, and those of groups, are in the tables."]


def _between_centres(known: Known) -> list[str]:
    spread = known.validation.spread
    several = spread[(spread["score"] == "O/E") & spread["new_low"].notna()]
    texts = [
        f"{known.names.cause(row.cause)} by {known.names.time(f'{row.horizon:g}')}: O/E in a new "
        f"centre {row.new_low:.2f} to {row.new_high:.2f} ({row.n_centres} centres)."
        for row in several.itertuples()
    ]
    if len(spread) and not texts:
        return ["Fewer than two centres could be scored."]
    return texts or ["Not examined."]


def _poor_input(known: Known) -> list[str]:
    return [
        "A missing value and a category never seen have learned meanings of their own, and a "
        "prediction is given with a warning; columns that are absent are refused."
    ]


def _several(known: Known) -> bool:
    return len(known.validation.causes) > 1


def _learned_from(known: Known) -> str:
    card = known.card
    if "n_subjects" not in card:
        return "a version that kept no card fitted it; on whom is not known."
    by_text = {str(label): text for label, text in known.names.causes.items()}
    events = [f"{n:,} of {by_text.get(c, c)}" for c, n in card.get("n_events", {}).items()]
    follow_up = follow_up_words(card.get("follow_up"), known.names.time_unit)
    behind = f"; follow-up: {follow_up}" if follow_up else ""
    return f"{card['n_subjects']:,} subjects with events {listed(events)}{behind}."


def _scored(known: Known) -> str:
    counts = known.validation.counts
    names = known.names
    events = [
        f"{row.events:,} of {names.cause(row.cause)} by {names.time(f'{row.horizon:g}')}"
        for row in counts.itertuples()
    ]
    return f"{int(counts['n'].max()):,} subjects with events {listed(events)}."


def _group_columns(validation: Validation) -> list[str]:
    return list(dict.fromkeys(validation.groups["column"]))


def _with_interval(scores: pd.DataFrame, name: str) -> str:
    row = scores[scores["score"] == name].iloc[0]
    return f"{name} {row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


FOUND = {
    "1": _title,
    "4": _aim,
    "7": _cleaning,
    "8a": _outcome,
    "9b": _covariates,
    "10": _size,
    "11": _missing,
    "12a": _data_use,
    "12b": _covariate_form,
    "12c": _kind_of_model,
    "12d": _centres,
    "12e": _measures,
    "12f": _updates,
    "12g": _computed,
    "13": _imbalance,
    "14": _fairness,
    "15": _output,
    "16": _against_training,
    "20a": _flow,
    "20b": _characteristics,
    "20c": _against_training,
    "21": _numbers,
    "22": _specification,
    "23a": _performance,
    "23b": _between_centres,
    "24": _updates,
    "27a": _poor_input,
}
