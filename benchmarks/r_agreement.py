"""Largest absolute difference between our scores and R's, each on ten tables.

Tables and R's numbers are in tests/agreement/r, each .json beside the .R that made it: pbc, mgus2,
flchain, veteran and simulated ones with ties, heavy censoring, n = 14, text labels, many causes.

Run as: python benchmarks/r_agreement.py
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.errors import DataWarning
from survtrace.metrics import (
    aalen_johansen,
    auc,
    auc_at,
    brier_score,
    brier_score_at,
    calibration_errors,
    calibration_intercept_slope,
    censoring_survival,
    centre_spread,
    concordance_cause_specific,
    concordance_paper,
    integrated_brier_score,
    kaplan_meier,
    nelson_aalen,
    net_benefit,
    net_benefit_difference,
    observed_expected_ratio,
    pseudo_values,
    scaled_brier_score,
    smooth_calibration_curve,
)
from survtrace.tables.outcome.outcome import Outcome, read_outcome

HERE = Path(__file__).parent
STORED = HERE.parent / "tests" / "agreement" / "r"
RESULTS = HERE / "results" / "r_agreement.json"
Pairs = Iterator[tuple[str, Any, Any]]  # score, our values, R's values


def main() -> None:
    stored = {name: json.loads((STORED / f"{name}.json").read_text()) for name in SOURCES}
    tables = stored["reference"]["tables"]
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for source, pairs in SOURCES.items():
        for name, theirs in stored[source]["tables"].items():
            if name.startswith("entry_"):  # late entry: tests/agreement
                continue
            for score, gap in largest(pairs(tables.get(name), theirs, stored[source])).items():
                found[score][name] = gap
    summary = {score: max(gaps.values()) for score, gaps in found.items()}
    versions = {k: v for each in stored.values() for k, v in each["versions"].items()}
    report = {"largest": summary, "by_table": found, "versions": versions}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    for score, gaps in found.items():
        print(f"{score:66} {len(gaps):3d} tables  {summary[score]:.1e}")


def differences(table: dict[str, Any]) -> dict[str, float]:
    """The largest absolute difference of a table of reference.json, for each score."""
    return largest(_reference(table, table, {}))


def largest(pairs: Pairs) -> dict[str, float]:
    """The largest absolute difference to R for each score; relative where the name says so."""
    found: dict[str, float] = defaultdict(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # where follow-up ends early, both have NaN
        for score, ours, theirs in pairs:
            expected, value = _numbers(theirs), np.asarray(ours, dtype=float)
            known = np.isfinite(expected)  # R has no AUC without cases
            gap = np.abs(value - expected)[known]
            if "relative" in score:
                gap = gap / expected[known]
            found[score] = max(found[score], float(np.nan_to_num(gap, nan=np.inf).max(initial=0)))
    return dict(found)


def _numbers(values: Any) -> Any:
    """R's numbers, NaN where it has none."""
    flat = [np.nan if v is None or isinstance(v, str) else v for v in np.ravel(values).tolist()]
    return np.array(flat, dtype=float).reshape(np.shape(values))


def _outcome(table: dict[str, Any]) -> tuple[Outcome, list[Any]]:
    labels = np.atleast_1d(table["labels"]).tolist()
    censored = "censored" if isinstance(labels[0], str) else 0
    event = np.array([labels[k - 1] if k else censored for k in table["event"]], dtype=object)
    return read_outcome({"event": event, "duration": np.array(table["duration"])}), labels


def _reference(table: dict[str, Any], theirs: dict[str, Any], _: Any) -> Pairs:
    (outcome, labels), x = _outcome(table), np.array(table["x"])
    times, incidence = np.array(table["times"], dtype=float), np.outer(x, table["factors"])
    curves = theirs["curves"]
    yield "Kaplan-Meier (survival)", kaplan_meier(outcome).at(times), curves["kaplan_meier"]
    aalen = aalen_johansen(outcome).at(times)
    yield "Aalen-Johansen (cmprsk)", aalen, curves["aalen_johansen"]
    G = censoring_survival(outcome).at(times)
    yield "censoring survival (prodlim)", G, curves["censoring_survival"]
    first = np.sort(outcome.duration[outcome.event > 0])[:40]
    weights = censoring_survival(outcome).inverse_before(first)
    yield "event weights 1 / G(t-) (pec)", weights, curves["event_weights"]
    for label, found in zip(labels, theirs["causes"], strict=True):
        yield from _scores(outcome, incidence, x, times, label, found)


def _scores(
    y: Any, incidence: Any, x: Any, times: Any, cause: Any, theirs: dict[str, Any]
) -> Pairs:
    by_time = brier_score(y, incidence, times, cause=cause)
    yield "Brier (riskRegression)", by_time, theirs["brier"]
    yield "Brier (pec)", by_time, theirs["brier_pec"]
    integral = integrated_brier_score(y, incidence, times, cause=cause)
    yield "IBS, trapezoidal (riskRegression)", integral, theirs["integrated_brier"]
    yield "AUC (riskRegression)", auc(y, incidence, times, cause=cause), theirs["auc"]
    columns = list(zip(incidence.T, times, strict=True))
    errors = [brier_score_at(y, p, t, cause=cause).standard_error for p, t in columns]
    yield "Brier, relative difference of standard error", errors, theirs["brier_error"]
    if "auc_error" in theirs:
        errors = [auc_at(y, p, t, cause=cause).standard_error for p, t in columns]
        yield "AUC, relative difference of standard error", errors, theirs["auc_error"]
    if "concordance_pec" in theirs:
        ours = concordance_cause_specific(y, x, times[3], cause=cause)
        yield "cause-specific concordance (pec)", ours, theirs["concordance_pec"]
    if "uno" in theirs:
        ours = concordance_paper(y, x, np.nextafter(times[3], np.inf), cause=cause)
        yield "Uno's concordance (survival)", ours, theirs["uno"]


def _concordance(table: dict[str, Any], theirs: list[Any], _: Any) -> Pairs:
    """Of durations without ties, since pec has other rules for them."""
    outcome, labels = _outcome(table)
    order = np.lexsort([outcome.event == 0, outcome.duration])
    duration = np.empty(len(outcome))
    duration[order] = np.arange(1, len(outcome) + 1)
    untied = replace(outcome, duration=duration)
    for label, found in zip(labels, theirs, strict=True):
        for time, expected in zip(table["times"][2:], found, strict=True):
            end = (outcome.duration <= time).sum() + 0.5
            ours = concordance_cause_specific(untied, table["x"], end, cause=label)
            yield "cause-specific concordance, untied (pec)", ours, expected


def _curves(table: dict[str, Any], theirs: dict[str, Any], _: Any) -> Pairs:
    (outcome, labels), times = _outcome(table), np.array(theirs["times"], dtype=float)
    named = [("Kaplan-Meier", kaplan_meier(outcome), "log_log", theirs["kaplan_meier"])]
    for k, label in enumerate(labels):
        named += [
            ("Nelson-Aalen", nelson_aalen(outcome, label), "log", theirs["nelson_aalen"][k]),
            ("Aalen-Johansen", aalen_johansen(outcome, label), "cloglog",
             theirs["aalen_johansen"][k]),
        ]  # fmt: skip
    for name, curve, scale, found in named:
        yield f"{name}, standard error (survival)", curve.standard_error(times), found["error"]
        inside = (curve.at(times) > 1e-12) & ((curve.at(times) < 1 - 1e-12) | (scale == "log"))
        for end, side in zip(curve.interval(times), ("low", "high"), strict=True):
            ends = np.where(inside, _numbers(found[scale][side]), np.nan)
            yield f"{name}, {scale.replace('_', '-')} interval (survival)", end, ends


def _benefit(table: dict[str, Any], theirs: list[Any], stored: dict[str, Any]) -> Pairs:
    (outcome, labels), levels = _outcome(table), stored["thresholds"]
    x, factors = np.array(table["x"]), table["factors"]
    for label, found in zip(labels, theirs, strict=True):
        for j, (time, factor) in enumerate(zip(table["times"], factors, strict=True)):
            where, by_cause = (outcome, x * factor, time), {"cause": label}
            ratio = observed_expected_ratio(*where, **by_cause)
            yield "observed/expected (survival)", ratio, found["ratio"][j]
            error = ratio.observed.standard_error
            yield "observed, standard error (survival)", error, found["observed_error"][j]
            if found["ratio"][j]:
                error, expected = ratio.standard_error / ratio, found["ratio_error_of_log"][j]
                yield "log observed/expected, standard error (survival)", error, expected
            ipa = scaled_brier_score(*where, **by_cause)
            yield "scaled Brier, IPA (riskRegression)", ipa, found["scaled_brier"][j]
            curve = net_benefit(*where, levels, **by_cause)
            other = np.sqrt(x) * factor
            gains = net_benefit_difference(*where[:2], other, time, levels, **by_cause)
            strategies = {
                "benefit": curve.by_prediction,
                "treat_all": curve.treat_all,
                "difference": gains,
            }
            for key, ours in strategies.items():
                name = "net benefit" + {"benefit": "", "treat_all": " of treating all"}.get(
                    key, ", difference of two predictions"
                )
                yield f"{name} (survival)", ours, found[key][j]
                errors = [each.standard_error for each in ours]
                yield f"{name}, standard error (survival)", errors, found[f"{key}_error"][j]


def _calibration(_: Any, theirs: dict[str, Any], __: Any) -> Pairs:
    y = {"event": theirs["event"], "duration": theirs["duration"]}
    for case in theirs["cases"]:
        given = {"horizon": case["horizon"], "cause": case["cause"]}
        line = calibration_intercept_slope(y, case["predicted"], **given)
        yield "pseudo-values (prodlim, leaving one out)", pseudo_values(y, **given), case["pseudo"]
        for name, score in (("intercept", line.intercept), ("slope", line.slope)):
            yield f"calibration {name} (geepack)", score, case[name]
            error, expected = score.standard_error, case[f"{name}_error"]
            yield f"calibration {name}, standard error (geepack)", error, expected
        yield "joint test of calibration, p-value (geepack)", line.p_value, case["p_value"]
        if "at" in case:  # else geese has no curve
            curve = smooth_calibration_curve(y, case["predicted"], **given, at=case["at"])
            yield "smooth calibration curve (geepack, rms)", curve.observed, case["observed"]
            for side in ("low", "high"):
                yield "its band (geepack, rms)", getattr(curve, side), case[side]
            errors = asdict(calibration_errors(y, case["predicted"], **given))
            for key, name in zip(
                ["ici", "e50", "e90", "emax"], ["ICI", "E50", "E90", "Emax"], strict=True
            ):
                yield f"{name} (geepack, rms)", errors[key], case[key]


def _centres(table: dict[str, Any], theirs: dict[str, Any], _: Any) -> Pairs:
    (outcome, labels), n_centres = _outcome(table), theirs["n_centres"]
    centre = np.arange(len(outcome)) % n_centres + 1
    predicted = np.array(table["x"]) * table["factors"][2]
    predicted = predicted * np.exp(theirs["off"] * (centre % 3 - 1))
    ratios = [
        observed_expected_ratio(
            outcome.take(centre == k), predicted[centre == k], theirs["horizon"], cause=labels[0]
        )
        for k in range(1, n_centres + 1)
    ]
    errors = [ratio.standard_error for ratio in ratios]
    yield "observed/expected by centre (survival)", ratios, theirs["ratio"]
    yield "observed/expected by centre, error (survival)", errors, theirs["ratio_error"]
    spreads = [(centre_spread(ratios, errors, scale="log", tau_known=True), theirs["spread"])]
    if "auc" in theirs:
        spread = centre_spread(theirs["auc"], theirs["auc_error"], scale="logit", tau_known=True)
        spreads.append((spread, theirs["auc_spread"]))
    for ours, found in spreads:
        for key, name in SPREAD.items():
            yield f"{name} (metafor)", getattr(ours, key), found[key]


SPREAD = {
    "mean": "mean over centres",
    "low": "mean over centres, Hartung-Knapp interval",
    "high": "mean over centres, Hartung-Knapp interval",
    "tau": "standard deviation between centres, REML",
    "new_low": "interval for a new centre, tau known",
    "new_high": "interval for a new centre, tau known",
    "statistic": "difference between centres, Cochran's Q",
    "p_value": "difference between centres, p-value",
}
SOURCES: dict[str, Callable[..., Pairs]] = {
    "reference": _reference,
    "concordance": _concordance,
    "curves": _curves,
    "benefit": _benefit,
    "calibration": _calibration,
    "centres": _centres,
}


if __name__ == "__main__":
    main()
