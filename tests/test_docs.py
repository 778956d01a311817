"""What the guides show is what happens; the site is whole and stands alone."""

import importlib
import importlib.util
import re
import shlex
import tomllib
import warnings
from pathlib import Path

import pytest
from typer.main import get_command

from survtrace import SurvTRACE
from survtrace.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
PACKAGES = (
    *("", ".app", ".baselines", ".conformal", ".datasets", ".distributed"),
    *(".explain", ".export", ".metrics", ".plots", ".portable", ".report"),
)
SHOWN = re.compile(r"^survtrace (?:(?:serve|benchmark) .*|.* --ray.*)$", re.MULTILINE)
with_the_site = pytest.mark.xdist_group("site")  # in one process, which builds it once
WIDTH = 80  # of code; the page cuts longer lines off


@pytest.fixture(scope="module")
def hook():
    """The module that runs the guides when the site is built."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, its guides not run."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        config.hooks["docs/build.py"].run_blocks = lambda markdown: markdown
        build(config)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_runs(page, hook):
    markdown = page.read_text(encoding="utf-8")
    assert hook.BLOCK.search(markdown), "a guide shows code"
    assert "Traceback" not in hook.run_blocks(markdown)


def test_commands_that_are_only_shown_are_understood():
    shown = [
        shlex.split(line)[1:]
        for page in PAGES
        for line in SHOWN.findall(page.read_text("utf-8").replace("\\\n", " "))
    ]
    assert shown
    for name, *arguments in shown:
        get_command(app).commands[name].make_context(name, arguments)


def test_what_check_says_of_the_raw_files_is_what_their_guide_shows(tmp_path, monkeypatch):
    """The fits of the transcript take minutes, so it is made by hand; this tells when to."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    transcript = importlib.import_module("transcript")
    transcript.hospital.write(tmp_path)
    page = transcript.PAGE.read_text(encoding="utf-8")
    for story in transcript.STORIES:
        seen = transcript._run(story.first, tmp_path)
        assert f"$ {story.first}\n{seen}```" in page, "run python docs/examples/transcript.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_fits_the_page(page):
    blocks = re.findall(r"^```\w+\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert not [line for block in blocks for line in block.splitlines() if len(line) > WIDTH]


def test_results_stand_below_the_code_that_gave_them(hook):
    page = "```python\nx = 20\nprint(x)\n```\n\n```python\nx + 1\n```\n\n```sh\nexit 1\n```\n"
    shown = hook.run_blocks(page)
    assert shown.index("print(x)") < shown.index("\n20\n") < shown.index("x + 1")
    assert shown.index("x + 1") < shown.index("\n21\n") < shown.index("exit 1")


def test_frames_become_tables_and_figures_pictures(hook):
    frame = hook.run_blocks("```python\nimport pandas as pd\npd.DataFrame({'a': [1]})\n```\n")
    assert "<td>1</td>" in frame
    drawn = "```python\nimport matplotlib.pyplot as plt\nplt.plot([1])\nplt.ylabel('a')\n```\n"
    assert '<img class="result" alt="a" src="data:image/svg+xml;base64,' in hook.run_blocks(drawn)


def test_arrays_and_json_stand_in_one_box(hook):
    """Lines without two spaces in a row, such as the first of an array, had a box of their own."""
    shown = hook.run_blocks("""\
```python
import json
import numpy as np
print(json.dumps({"title": "age", "type": ["number", "null"]}, indent=1))
```

```python
np.array([[0.25, 0.5], [0.75, 1.0]])
```
""")
    assert shown.count("{.text .result}") == 2
    assert ".words" not in shown


def test_an_example_that_fails_breaks_the_build(hook):
    with pytest.raises(ZeroDivisionError):
        hook.run_blocks("```python\n1 / 0\n```\n")
    with pytest.raises(AssertionError, match="No such command 'fly'"):
        hook.run_blocks("```bash\nsurvtrace fly\n```\n")


def test_the_first_page_names_every_extra_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(declared["optional-dependencies"]) - {"dev", "docs"}
    assert extras <= set(re.findall(r"`(\w+)`", PAGES[0].read_text(encoding="utf-8")))


def test_the_layers_shown_are_those_that_are_checked():
    shown = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Layers")[2]
    lines = shown.split("```")[1].split("\n")[1:-1]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    checked = contracts["contracts"][0]["layers"]
    assert [set(line.split(", ")) for line in lines] == [
        {re.sub(r"[()]", "", name) for name in layer.split(" | ")} for layer in checked
    ]


def test_every_result_has_a_date_in_a_list():
    listed = set()
    for page in ("results.md", "speed.md"):
        text = (ROOT / "docs" / page).read_text("utf-8")
        row = r"^\| ([\w./-]+\.\w+) \| \d{4}-\d\d-\d\d \| \w+ \| (?:\d{4}-\d\d-\d\d, \w+)? \|$"
        listed |= set(re.findall(row, text, re.M))
    results = ROOT / "benchmarks" / "results"
    kept = [path for path in results.iterdir() if path.is_file()] + [*results.glob("*/scores.csv")]
    assert {path.relative_to(results).as_posix() for path in kept} <= listed


@with_the_site
def test_the_site_loads_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        tags = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text("utf-8"))
        assert not [tag for tag in tags if re.search(r'(?:src|href)="(?:https?:)?//', tag)]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text("utf-8"))


@with_the_site
def test_the_reference_has_every_public_function_and_class(site):
    pages = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    described = set(re.findall(r'id="(survtrace\.[\w.]+)"', pages))
    for package in PACKAGES:
        module = importlib.import_module(f"survtrace{package}")
        for name in module.__all__:
            if callable(getattr(module, name)):
                assert any(
                    each.startswith(f"{module.__name__}.") and each.endswith(f".{name}")
                    for each in described
                ), f"{module.__name__}.{name}"


@with_the_site
def test_the_reference_has_every_setting_and_every_command(site):
    estimator = (site / "reference" / "estimator.html").read_text("utf-8")
    names = re.findall(r"<b><code>([\w, ]+)</code></b>", estimator)
    assert set(SurvTRACE().get_params()) <= {each for group in names for each in group.split(", ")}
    commands = (site / "reference" / "command-line.html").read_text("utf-8")
    assert {"survtrace-fit", "survtrace-report"} <= set(re.findall(r'<h2 id="([\w-]+)"', commands))
