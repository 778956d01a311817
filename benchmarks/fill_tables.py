"""Fill the tables of docs/speed.md and docs/results.md from the result files they are of.

A table lies between ``<!-- table: SCRIPT RESULT -->`` and ``<!-- end of table -->``: the script's
`markdown` writes it from benchmarks/results/RESULT. A result file that is not there yet leaves its
table as it is, and is named.

    python benchmarks/fill_tables.py
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

HERE = Path(__file__).parent
PAGES = [HERE.parent / "docs" / name for name in ("speed.md", "results.md")]
TABLE = re.compile(r"(<!-- table: (\S+) (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def filled(table: re.Match[str]) -> str:
    """Give a table with today's figures."""
    first, script, result, last = table.groups()
    file = HERE / "results" / result
    if not file.exists():
        print(f"{file} is not there: python benchmarks/{script} writes it")
        return table.group()
    markdown = runpy.run_path(str(HERE / script))["markdown"]
    return f"{first}\n{markdown(json.loads(file.read_text()))}\n\n{last}"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(TABLE.sub(filled, page.read_text()), encoding="utf-8")
