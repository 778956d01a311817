"""Run every fuzzer and write the table of what was seen, with its seed.

Run from the root: ``python tests/fuzz/bad_input.py --seed 0 --share 1.0``.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT / "tests")

from fuzz import arguments, commands, new_rows, scores, settings, tables  # noqa: E402
from fuzz.case import BAD, VERDICTS  # noqa: E402
from fuzz.run import HEADER, as_row, count  # noqa: E402

KINDS = {
    "fit on hostile tables": (tables.make, 5000),
    "predict on changed tables": (new_rows.make, 5000),
    "arguments": (arguments.make, 5000),
    "scores": (scores.make, 10000),
    "settings": (settings.make, 2000),
    "the command": (commands.make, 2000),
}
RESULTS = ROOT / "benchmarks" / "results" / "bad_input.json"


def main() -> None:
    """Count by kind; the exit code tells whether anything was foreign or silent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of a whole run")
    parser.add_argument("--only", choices=KINDS, action="append", help="a kind, or several")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    rows, found, began = [], {}, time.perf_counter()
    for name in chosen.only or KINDS:
        make, n = KINDS[name]
        seen = count(make, round(n * chosen.share), chosen.seed)
        rows.append(as_row(name, seen))
        found[name] = {"tried": seen.total(), **{verdict: seen[verdict] for verdict in VERDICTS}}
        print(rows[-1], flush=True)
        _write(chosen, found, time.perf_counter() - began)
    print("\n".join(["", HEADER, *rows]))
    sys.exit(any(counts[verdict] for counts in found.values() for verdict in BAD))


def _write(chosen: argparse.Namespace, found: dict[str, dict[str, int]], seconds: float) -> None:
    ask = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(
        ask, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    command = f"python tests/fuzz/bad_input.py --seed {chosen.seed} --share {chosen.share:g}"
    result = {"command": command, "seed": chosen.seed, "share": chosen.share, "commit": commit}
    result |= {"seconds": round(seconds), "kinds": found}
    chosen.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
