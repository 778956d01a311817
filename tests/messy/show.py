"""Print every messy table with the answers that are acceptable and the one that was seen.

Run from the root: ``python tests/messy/show.py [part of a name] [--words] [--seed 1]``.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from messy.judge import judge  # noqa: E402
from messy.tables import TABLES, make  # noqa: E402


def main() -> None:
    """Judge the tables whose name has the given part, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="", help="of the names to show")
    parser.add_argument("--words", action="store_true", help="also print what was said")
    parser.add_argument("--seed", type=int, default=0, help="of the cohort that is spoiled")
    chosen = parser.parse_args()
    began, n, n_bad = time.perf_counter(), 0, 0
    print("|  | table | by | expected | seen |\n|---|---|---|---|---|")
    for name, entry in TABLES.items():
        if chosen.part not in name:
            continue
        for way in (table := make(name, chosen.seed)).ways:
            verdict = judge(entry, table, way)
            good = verdict.within(entry.expected)
            n, n_bad = n + 1, n_bad + (not good)
            mark, expected = " " if good else "X", " or ".join(entry.expected)
            print(f"| {mark} | {name} | {way} | {expected} | {verdict.seen} |", flush=True)
            if chosen.words:
                print("\n".join(f"        {line}" for line in verdict.words.splitlines()))
    print(f"\n{n} runs, {n_bad} not as expected, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
