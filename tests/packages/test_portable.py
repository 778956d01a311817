"""The small distribution has the modules that predicting and serving import, and no others."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = tomllib.loads((ROOT / "packages/portable/pyproject.toml").read_text())
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text())
IMPORTED = """
import sys
for name in ("torch", "pandas", "sklearn", "scipy", "narwhals", "jaxtyping", "typer", "rich"):
    sys.modules[name] = None   # whoever imports it fails
import survtrace.app.command, survtrace.app.service.server
import survtrace.ops.cpu.logits, survtrace.portable
for name, module in sys.modules.items():
    if name.partition(".")[0] == "survtrace":
        print(module.__file__)
"""


def included():
    return SMALL["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]


def test_the_wheel_has_the_modules_that_are_imported_and_no_others():
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    package = Path(done.stdout.split()[0]).parent
    imported = {Path(line).relative_to(package).as_posix() for line in done.stdout.split()}
    listed = {name.removeprefix("survtrace/") for name in included().values() if ".py" in name}
    assert listed - {"py.typed"} == imported


def test_what_is_listed_is_there_under_the_same_name():
    for source, name in included().items():
        path = ROOT / "packages/portable" / source
        assert path.exists(), source
        assert source == "../../LICENSE" or path.resolve() == ROOT / "src" / name


def test_both_distributions_have_one_version_and_one_server():
    small, whole = SMALL["project"], WHOLE["project"]
    assert small["version"] == whole["version"]
    assert small["requires-python"] == whole["requires-python"]
    assert set(small["dependencies"]) <= set(whole["dependencies"])
    assert small["optional-dependencies"]["serve"] == whole["optional-dependencies"]["app"]
    assert set(small["optional-dependencies"]["fast"]) <= set(whole["dependencies"])
