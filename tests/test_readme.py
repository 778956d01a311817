"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_its_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks, "the README has no Python code"
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)


def test_its_tree_names_every_file_of_the_package():
    package = Path(__file__).parents[1] / "src" / "survtrace"
    missing = [
        path.name
        for path in package.rglob("*")
        if path.suffix in (".py", ".js") and path.name != "__init__.py" and path.name not in README
    ]
    assert not missing


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_its_links_lead_somewhere(link):
    assert link.startswith("http") or (Path(__file__).parents[1] / link).exists()
