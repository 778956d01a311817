"""Run a generator of bad input many times: a table of what was seen, and each bug once."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from fuzz.case import BAD, VERDICTS, Case, judge
from fuzz.fitted import fitted

Make = Callable[[np.random.Generator], Case]


def count(make: Make, n: int, seed: int, *, show: int = 20, first: int = 0) -> Counter[str]:
    """Judge ``n`` cases; print one line for each bug, at most ``show`` of them."""
    fitted("two causes")  # kernels are compiled once, which takes long
    seen, places = Counter[str](dict.fromkeys(VERDICTS, 0)), Counter[str]()
    for number in range(first, first + n):
        case = make(np.random.default_rng([seed, number]))
        verdict = judge(case)
        seen[verdict.seen] += 1
        if verdict.seen in BAD:
            places[verdict.place] += 1
            if places[verdict.place] == 1 and len(places) <= show:
                print(f"  {number}: {case.name}\n      {verdict.seen}: {verdict.words}")
                print(f"      at {verdict.place}", flush=True)
    for place, times in places.most_common(show):
        print(f"  {times:>6} x {place}")
    return seen


def as_row(name: str, seen: Counter[str]) -> str:
    """Format counts as a row of the table."""
    return f"| {name} | {seen.total():,} | " + " | ".join(f"{seen[v]:,}" for v in VERDICTS) + " |"


HEADER = (
    "| bad input | tried | " + " | ".join(VERDICTS) + " |\n|---|" + "---|" * (len(VERDICTS) + 1)
)


def main(name: str, make: Make) -> None:
    """Run one generator, as its options say."""
    parser = argparse.ArgumentParser(description=f"Attack: {name}.")
    parser.add_argument("--count", type=int, default=1000, help="cases to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of one case, whose words are printed")
    chosen = parser.parse_args()
    if chosen.only is not None:
        case = make(np.random.default_rng([chosen.seed, chosen.only]))
        print(f"{case.name}\n{judge(case)}")
        return
    began = time.perf_counter()
    seen = count(make, chosen.count, chosen.seed, show=60)
    print(f"\n{HEADER}\n{as_row(name, seen)}\n\n{time.perf_counter() - began:.0f} s")
