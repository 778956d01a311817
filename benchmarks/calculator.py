"""The calculator in real Chromium with the network off, against Python.

Three models of few epochs with eight members each: flchain; twenty covariates and four causes;
sixty covariates, of which twenty have lists of 200 levels. Each is written as one file, opened from
disk, and asked about 200 random patients (values missing, never seen, or up to three ranges
outside), then about edges: nobody known, ten ranges outside. Curves and intervals are compared with
the estimator's, words and typicality with the server's. Then the file is opened on a profile as of
a phone (390 pixels wide, the processor four times slower), and the time until its first answer
taken. Writes results/calculator.json; with --rows, for a quick try on fewer training rows, it only
prints.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, sync_playwright

from survtrace import SurvTRACE, portable
from survtrace.app import write_page
from survtrace.app.answers.answers import Answers, Question
from survtrace.app.answers.limits import Limits
from survtrace.datasets import load_flchain, make_cohort

RESULTS = Path(__file__).parent / "results"
N_PATIENTS, N_OPENED = 200, 9
PHONE, SLOWER = {"width": 390, "height": 844}, 4
# Notes when the first answer stands on the page, in milliseconds since it was opened.
FIRST_ANSWER = """new MutationObserver(() => {
  if (window.first || !document.getElementById("summary")?.textContent) return;
  window.first = performance.now();
}).observe(document, { subtree: true, childList: true });"""


def models(n_rows: int) -> dict[str, tuple[SurvTRACE, pd.DataFrame]]:
    """Fit the three models to so many rows, each with the table it is to be asked about."""
    small: dict[str, Any] = {"max_epochs": 3, "verbose": False, "random_state": 0}
    rng, chain = np.random.default_rng(0), [part[:n_rows] for part in load_flchain()]
    X, y = make_cohort(min(n_rows, 2_000), n_causes=4, missing=0.05, random_state=0)
    twenty = X.assign(score=rng.normal(size=len(X)), ward=rng.choice(list("abcdef"), len(X)))
    levels = np.array([f"diagnosis {k:03d}" for k in range(200)])
    lists = {f"list_{k}": levels[rng.integers(200, size=len(X))] for k in range(20)}
    numbers = {f"number_{k}": rng.normal(size=len(X)) for k in range(22)}
    sixty = pd.concat([X, pd.DataFrame({**lists, **numbers})], axis=1)
    return {
        "flchain": (SurvTRACE(**small).fit(*chain), chain[0]),
        "twenty covariates, four causes": (SurvTRACE(**small).fit(twenty, y), twenty),
        "sixty covariates, lists of 200 levels": (SurvTRACE(**small).fit(sixty, y), sixty),
    }


def random_patients(X: pd.DataFrame, seed: int, farthest: float = 3.0) -> list[dict[str, Any]]:
    """Draw patients, each value on its own; some missing, never seen, or far outside."""
    rng, columns = np.random.default_rng(seed), {}
    for name in X:
        column = X[name].astype(object).to_numpy()[rng.integers(len(X), size=N_PATIENTS)]
        where = rng.random(N_PATIENTS)
        if pd.api.types.is_numeric_dtype(X[name]):
            low, high = X[name].quantile([0.01, 0.99])
            far = rng.uniform(
                low - farthest * (high - low), high + farthest * (high - low), N_PATIENTS
            )
            column = np.where(where > 0.95, far, column)
        else:
            column = np.where(where > 0.98, "never seen", column.astype(object))
        columns[str(name)] = [
            None if place < 0.1 or pd.isna(value) else value
            for place, value in zip(where, column.tolist(), strict=True)
        ]
    return pd.DataFrame(columns, dtype=object).to_dict("records")


def questions(est: SurvTRACE, patients: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask of each patient at ten times, a third of them event-free until a time."""
    rng, end = np.random.default_rng(0), float(est.time_grid_[-1])
    times = np.sort(rng.uniform(0, end, (len(patients), 10)), axis=1).tolist()
    after = np.where(
        rng.random(len(patients)) < 1 / 3, rng.uniform(0, 0.9 * end, len(patients)), 0.0
    )
    return [
        {"subjects": [patient], "times": at, "after": float(start)}
        for patient, at, start in zip(patients, times, after, strict=True)
    ]


def ask_page(browser: Browser, file: Path, asked: list[dict[str, Any]]) -> tuple[list[Any], int]:
    """Ask the engine of an opened file; also count requests beside the file itself."""
    context = browser.new_context(offline=True)
    page, sent = context.new_page(), list[str]()
    page.on("request", lambda request: sent.append(request.url))
    page.goto(file.as_uri())
    engine = re.findall(
        r"^const (module\d+)", file.read_text("utf-8").split("return { access")[0], re.M
    )[-1]
    ask = f"(asked) => Promise.all(asked.map((body) => {engine}.post('predict', body)))"
    answers = page.evaluate(ask, asked)
    page.get_by_role("button", name="Compare with patient B").click()
    page.locator("#survival .b.line").wait_for()
    context.close()
    return answers, len(sent) - 1


def compare(
    est: SurvTRACE, light: Any, asked: list[dict[str, Any]], found: list[Any]
) -> dict[str, Any]:
    """Largest differences to the estimator, and how many answers have other words."""
    names, answers = list(est.feature_names_in_), Answers(light, Limits())
    worst = dict.fromkeys(("curves", "intervals", "typicality"), 0.0)
    other_words = 0
    for body, answer in zip(asked, found, strict=True):
        X = pd.DataFrame([{**dict.fromkeys(names), **body["subjects"][0]}])[names]
        how = {"times": body["times"], "conditional_after": body["after"]}
        curves = np.concatenate(
            [
                est.predict_survival_function(X, **how)[:, None],
                est.predict_cumulative_incidence(X, **how),
            ],
            axis=1,
        )
        mine = np.concatenate(
            [np.array(answer["survival"])[:, None], np.array(answer["incidence"])], axis=1
        )
        worst["curves"] = max(worst["curves"], float(np.abs(mine - curves).max()))
        for side, end in zip(("low", "high"), est.predict_interval(X, **how), strict=True):
            ends = np.array(answer["interval"][f"incidence_{side}"])
            worst["intervals"] = max(worst["intervals"], float(np.abs(ends - end).max()))
        expected = answers.predict(Question(body["subjects"], body["times"], body["after"], 0.95))
        [usual], [own] = expected.typicality or [None], answer["typicality"]
        worst["typicality"] = max(worst["typicality"], abs(usual.share - own["share"]))
        same = (
            sorted(expected.warnings) == sorted(answer["warnings"])
            and usual.because == own["because"]
        )
        other_words += not same
    return {"largest difference": worst, "answers with other words": other_words}


def seconds_to_open(browser: Browser, file: Path) -> dict[str, float]:
    """Seconds until the first answer, on a phone-sized page with a slower processor."""
    taken = []
    for _ in range(N_OPENED):
        context = browser.new_context(viewport=PHONE, device_scale_factor=2, offline=True)
        page = context.new_page()
        page.add_init_script(FIRST_ANSWER)
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.goto(file.as_uri())
        page.locator("#survival svg").wait_for()
        taken.append(page.evaluate("window.first") / 1000)
        context.close()
    return {"best": min(taken), "median": statistics.median(taken), "worst": max(taken)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="training rows; by default all")
    n_rows = parser.parse_args().rows
    found: dict[str, Any] = {"machine": platform.processor() or platform.machine()}
    found["load"] = os.getloadavg()[0]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=chromium, args=as_root)
        for k, (name, (est, X)) in enumerate(models(n_rows or 10**6).items()):
            est.save(f"{folder}/{k}")
            file = write_page(f"{folder}/{k}", f"{folder}/{k}.html")
            light = portable.load(f"{folder}/{k}")
            edges = [{}, *random_patients(X, k + 100, farthest=10.0)[:50]]
            asked = questions(est, random_patients(X, k)), questions(est, edges)
            results = [ask_page(browser, file, each) for each in asked]
            found[name] = {
                "megabytes": file.stat().st_size / 1e6,
                "requests": sum(n_sent for _, n_sent in results),
                "random patients": compare(est, light, asked[0], results[0][0]),
                "nobody known, ten ranges outside": compare(est, light, asked[1], results[1][0]),
                "seconds to the first answer, phone": seconds_to_open(browser, file),
            }
            print(name, json.dumps(found[name], indent=1))
        browser.close()
    if n_rows is not None:
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "calculator.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
