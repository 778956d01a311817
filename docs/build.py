"""Runs the code of the guides when the site is built and shows what comes of it.

``python`` blocks of a page share one namespace, as in a notebook: what they print, the value of a
last expression and every figure appear below them. ``bash`` blocks hold `survtrace` commands; all
blocks of a page share one empty folder. An error breaks the build, and the tests. Blocks in
another language, such as ``sh``, are only shown.
"""

from __future__ import annotations

import ast
import base64
import io
import re
import shlex
import tempfile
import warnings
from contextlib import chdir, redirect_stdout
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
LEAVING = re.compile(r"\]\(\.\./((?:\.\./)*benchmarks/)")
ALIGNED = re.compile(r"[│┃━─]|  |^(?=.{,80}$)(array\(|[\s\[\](){}])")  # tables, arrays, JSON


def on_files(files: Any, config: Any) -> Any:
    """Add what lies outside of docs/: the icon, and the tables of the studies."""
    from mkdocs.structure.files import File

    outside = {"icon.svg": ROOT / "src/survtrace/app/page/icon.svg"}
    for path in sorted(ROOT.glob("benchmarks/results/*/tables.md")):
        outside[path.relative_to(ROOT).as_posix()] = path
    for name, path in outside.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Run the guides, describe the commands, name the studies; links lead to what was added."""
    name = page.file.src_uri
    if name == "index.md" or name.startswith("guides/"):
        markdown = run_blocks(markdown)
    elif name == "reference/command-line.md":
        markdown += command_line()
    elif name.startswith("benchmarks/"):
        page.meta["search"] = {"exclude": True}  # thousands of numbers
        markdown = f"# Study {Path(name).parent.name}\n\n{markdown}"
    return LEAVING.sub(r"](\1", markdown)


def run_blocks(markdown: str) -> str:
    """A page with the result of each of its blocks below it."""
    scope: dict[str, Any] = {"__name__": "__main__"}

    def with_result(block: re.Match[str]) -> str:
        language, code = block.groups()
        return block[0] + (run_python(code, scope) if language == "python" else run_commands(code))

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return BLOCK.sub(with_result, markdown)


def run_python(code: str, scope: dict[str, Any]) -> str:
    """What a block prints, its last expression, and its figures, as Markdown."""
    import matplotlib

    matplotlib.use("Agg")
    module = ast.parse(code)
    shown = isinstance(module.body[-1], ast.Expr)
    last = ast.Expression(module.body.pop().value) if shown else ast.parse("None", mode="eval")
    with redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda words, kind, *_: print(f"{kind.__name__}: {words}")
        exec(compile(module, "<guide>", "exec"), scope)
        value = eval(compile(last, "<guide>", "eval"), scope)
    return _as_text(printed.getvalue()) + _as_value(value) + _as_figures()


def run_commands(code: str) -> str:
    """What `survtrace` commands, one a line, say."""
    from typer.testing import CliRunner

    from survtrace.cli import app, screen

    said = []
    for line in code.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        if not program:
            continue
        assert program == "survtrace", f"a bash block holds survtrace commands; got {line!r}"
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = screen.warn_once()
            result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        said.append(result.output)
    return _as_text("".join(said))


def command_line() -> str:
    """Every command with its options, as typer describes them."""
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from survtrace.cli import app

    command = get_command(app)
    with command.make_context("survtrace", [], resilient_parsing=True) as context:
        described = get_docs_for_click(obj=command, ctx=context, name="survtrace")
    return described.partition("\n")[2]  # without its title


def _as_text(text: str) -> str:
    """Text as it is; sentences may be folded by the page, what is aligned may not."""
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    shown = []
    for aligned, some in groupby(lines, key=lambda line: bool(ALIGNED.search(line))):
        kind = ".text .result" if aligned else ".text .result .words"
        shown += ["", f"```{{{kind}}}", *some, "```", ""]
    return "\n".join(shown)


def _as_value(value: Any) -> str:
    import pandas as pd
    from matplotlib.artist import Artist

    if value is None or isinstance(value, Artist):
        return ""
    if not isinstance(value, pd.DataFrame):
        return _as_text(repr(value))
    table = value.to_html(index=False, border=0, na_rep="").replace(' class="dataframe"', "")
    return f'\n<div class="result">\n{table}\n</div>\n'


def _as_figures() -> str:
    """Every open figure, drawn into the page."""
    import matplotlib.pyplot as plt

    shown = ""
    for number in plt.get_fignums():
        figure, drawn = plt.figure(number), io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        labels = [label for ax in figure.axes for label in (ax.get_ylabel(), ax.get_xlabel())]
        alt = " over ".join(label for label in labels if label)
        source = f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"
        shown += f'\n<img class="result" alt="{escape(alt)}" src="{source}">\n'
    plt.close("all")
    return shown
