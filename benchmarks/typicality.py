"""How often patients are called unlike those learned from: held-out ones, and ones made up.

Learns `tables.typicality` from three quarters of each table and judges the last quarter as it is
(1 % should be unlike), with all columns shuffled, with a random half of the columns from another
patient, with one number a whole range beyond the largest, and with two levels that never met
though ten patients at least would have both by chance. The AUC tells shuffled rows from real ones;
beside it that of boosted trees (scikit-learn) trained for just this on as many shuffled rows.
Then held-out rows of small parts of the tables. Writes results/typicality.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from survtrace.datasets import load_flchain, load_metabric, load_public, load_support, make_cohort
from survtrace.datasets.public import PUBLIC
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import Categories, Encoded, Encoding, learn_encoding
from survtrace.tables.typicality.typicality import UNLIKE, Typicality

RESULTS = Path(__file__).parent / "results" / "typicality.json"
TABLES: dict[str, Callable[[], Any]] = {
    **{name: partial(load_public, name) for name in PUBLIC},
    "flchain": load_flchain,
    "metabric": load_metabric,
    "support": load_support,
    "simulated": partial(make_cohort, 20_000, random_state=0),
}
SIZES = (50, 100, 200, 500)
ENOUGH_TO_MEET = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    cells, small = [], []
    for name, load in TABLES.items():
        X = load()[0]
        found = pd.DataFrame([judge_split(X, seed) for seed in range(asked.repeats)])
        means = {key: None if np.isnan(v) else round(v, 4) for key, v in found.mean().items()}
        cells.append({"table": name, "rows": len(X), "columns": X.shape[1], **means})
        print(cells[-1], flush=True)
        for n in SIZES:
            shares = [held_out_share(X, seed, n) for seed in range(3 * asked.repeats)]
            small.append({"table": name, "learned_from": n, "held_out": float(np.mean(shares))})
    print(pd.DataFrame(cells).to_string(index=False))
    by_size = pd.DataFrame(small).groupby("learned_from")["held_out"]
    print(by_size.agg(["mean", "min", "max"]))
    report = {"unlike": UNLIKE, "repeats": asked.repeats, "tables": cells, "small": small}
    asked.out.write_text(json.dumps(report, indent=1) + "\n")


def judge_split(X: pd.DataFrame, seed: int) -> dict[str, float]:
    """Learn from three quarters of a table; which share of the last quarter is unlike."""
    rng = np.random.default_rng(seed)
    learned, new, encoding = split(X, rng, 3 * len(X) // 4)
    start = time.perf_counter()
    usual = Typicality.learn(encoding, learned, rng.permutation(len(learned.rows)))
    seconds = time.perf_counter() - start
    assert usual is not None
    shuffled, mixed = shuffle(new, rng), half_of_another(new, rng)
    shares, of_shuffled = usual.of(new), usual.of(shuffled)
    return {
        "held_out": unlike(shares),
        "shuffled": unlike(of_shuffled),
        "half_of_another": unlike(usual.of(mixed)),
        "beyond_range": unlike(usual.of(beyond_range(learned, new, encoding, rng))),
        "never_met": unlike(usual.of(never_met(learned, new, encoding, rng))),
        "auc": auc(-shares, -of_shuffled),
        "auc_trained": trained_auc(learned, new, shuffled, rng),
        "seconds": seconds,
    }


def held_out_share(X: pd.DataFrame, seed: int, n: int) -> float:
    """Learn from a few rows; which share of all others is unlike."""
    rng = np.random.default_rng([seed, n])
    learned, new, encoding = split(X, rng, min(n, len(X) // 2))
    usual = Typicality.learn(encoding, learned, np.arange(len(learned.rows)))
    assert usual is not None
    return unlike(usual.of(new))


def split(X: pd.DataFrame, rng: np.random.Generator, n: int) -> tuple[Encoded, Encoded, Encoding]:
    order = rng.permutation(len(X))
    learned, new = (open_table(X.iloc[rows]) for rows in (order[:n], order[n:]))
    encoding = learn_encoding(learned, infer_covariates(learned))
    return encoding.encode(learned), encoding.encode(new), encoding


def unlike(shares: NDArray[np.float64]) -> float:
    return float(np.mean(shares < UNLIKE)) if len(shares) else np.nan


def shuffle(encoded: Encoded, rng: np.random.Generator) -> Encoded:
    order = rng.permuted(
        np.tile(np.arange(len(encoded.rows))[:, None], encoded.rows.shape[1]), axis=0
    )
    return Encoded(*(np.take_along_axis(each, order, 0) for each in encoded))


def half_of_another(encoded: Encoded, rng: np.random.Generator) -> Encoded:
    other = rng.permutation(len(encoded.rows))
    from_other = rng.random(encoded.rows.shape) < 0.5
    return Encoded(*(np.where(from_other, each[other], each) for each in encoded))


def beyond_range(
    learned: Encoded, new: Encoded, encoding: Encoding, rng: np.random.Generator
) -> Encoded:
    """Put one number of each subject a whole range above the largest learned from."""
    numbers = np.flatnonzero(np.ptp(learned.values, axis=0) > 0)
    if not len(numbers):
        return Encoded(new.rows[:0], new.values[:0])
    rows, values = new.rows.copy(), new.values.copy()
    subject, column = np.arange(len(rows)), rng.choice(numbers, len(rows))
    largest, smallest = learned.values.max(axis=0), learned.values.min(axis=0)
    values[subject, column] = (2 * largest - smallest)[column]
    rows[subject, column] = encoding.first_rows[column] + 1
    return Encoded(rows, values)


def never_met(
    learned: Encoded, new: Encoded, encoding: Encoding, rng: np.random.Generator
) -> Encoded:
    """Give each subject two levels that nobody has together, though by chance some should."""
    n, first = len(learned.rows), encoding.first_rows
    columns = [j for j, kind in enumerate(encoding.columns) if isinstance(kind, Categories)]
    pairs = list[tuple[int, int, int, int]]()
    for i in columns:
        for j in columns[: columns.index(i)]:
            counts = np.zeros((encoding.columns[i].n_rows, encoding.columns[j].n_rows))
            np.add.at(counts, (learned.rows[:, i] - first[i], learned.rows[:, j] - first[j]), 1)
            counts = counts[2:, 2:]
            expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
            for a, b in np.argwhere((counts == 0) & (expected >= ENOUGH_TO_MEET)).tolist():
                pairs.append((i, first[i] + 2 + a, j, first[j] + 2 + b))
    if not pairs:
        return Encoded(new.rows[:0], new.values[:0])
    rows = new.rows.copy()
    for subject, pair in enumerate(rng.integers(len(pairs), size=len(rows)).tolist()):
        i, a, j, b = pairs[pair]
        rows[subject, i], rows[subject, j] = a, b
    return Encoded(rows, new.values)


def auc(real: NDArray[np.float64], shuffled: NDArray[np.float64]) -> float:
    is_shuffled = np.repeat([0, 1], [len(real), len(shuffled)])
    return float(roc_auc_score(is_shuffled, np.concatenate([real, shuffled])))


def trained_auc(
    learned: Encoded, new: Encoded, shuffled: Encoded, rng: np.random.Generator
) -> float:
    """How well trees tell shuffled rows that were trained on as many shuffled rows."""
    # Drawn with replacement: columns that were only shuffled differ in no split of the root.
    drawn = rng.integers(len(learned.rows), size=learned.rows.shape)
    made_up = Encoded(*(np.take_along_axis(each, drawn, 0) for each in learned))
    x = np.concatenate([flat(learned), flat(made_up)])
    trees = HistGradientBoostingClassifier(random_state=0)
    trees.fit(x, np.repeat([0, 1], len(learned.rows)))
    return auc(*(trees.predict_proba(flat(each))[:, 1] for each in (new, shuffled)))


def flat(encoded: Encoded) -> NDArray[np.float64]:
    """Values of numbers and rows of levels, as columns for trees."""
    return np.concatenate([encoded.values, encoded.rows], axis=1)


if __name__ == "__main__":
    main()
