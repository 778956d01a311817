"""Modules become one script: in order, with names kept apart, and nothing half understood."""

import shutil
import subprocess

import pytest

from survtrace.app.calculator.bundle import bundle
from survtrace.app.calculator.write import ENGINE, PAGE
from survtrace.errors import DataError


def modules(folder, **sources):
    for name, source in sources.items():
        (folder / f"{name}.js").write_text(source, encoding="utf-8")
    return folder / "main.js"


def test_equal_names_in_two_modules_stay_apart_and_each_runs_once(tmp_path):
    shared = """
const log = [];
export const say = (word) => log.push(word);
export const said = () => log.join(" ");
"""
    one = """
import { say } from "./shared.js";
const own = 1;
say(`one ${own}`);
export const $ = own;
"""
    two = """
import { say } from "./shared.js";
const own = 2;
say(`two ${own}`);
export async function wait() {}
export class Two {}
export { own };
"""
    main = """
import { $ } from "./one.js";
import { own, Two, wait } from "./two.js";
import { said } from "./shared.js";
console.log(said(), $, own, typeof Two, typeof wait);
"""
    entry = modules(tmp_path, shared=shared, one=one, two=two, main=main)
    script = bundle(entry)
    assert script.count("const log = [];") == 1
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the script was written and not run")
    run = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert run.stdout == "one 1 two 2 1 2 function function\n"


def test_one_module_can_stand_in_the_place_of_another(tmp_path):
    entry = modules(
        tmp_path,
        server="export const ask = 1;\n",
        engine="export const ask = 2;\n",
        main='import { ask } from "./server.js";\nask;\n',
    )
    script = bundle(entry, {tmp_path / "server.js": tmp_path / "engine.js"})
    assert "const ask = 2;" in script
    assert "const ask = 1;" not in script


@pytest.mark.parametrize(
    "source",
    [
        'import * as all from "./one.js";\n',
        'import one from "./one.js";\n',
        'import "./one.js";\n',
        'const one = await import("./one.js");\n',
        "export default 1;\n",
        'export * from "./one.js";\n',
        'import { one } from "https://elsewhere.example/one.js";\n',
    ],
)
def test_other_forms_of_import_and_export_are_refused(tmp_path, source):
    entry = modules(tmp_path, one="export const one = 1;\n", main=source)
    with pytest.raises(DataError, match=r"main\.js has a form of import or export not known"):
        bundle(entry)


def test_modules_in_a_circle_are_refused(tmp_path):
    entry = modules(
        tmp_path,
        one='import { main } from "./main.js";\nexport const one = main;\n',
        main='import { one } from "./one.js";\nexport const main = one;\n',
    )
    with pytest.raises(DataError, match=r"must not import each other in a circle; main\.js does"):
        bundle(entry)


def test_the_script_of_the_page_cannot_end_its_element():
    script = bundle(PAGE / "app.js", {PAGE / "server.js": ENGINE / "server.js"})
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert "fetch(" not in script
    assert "XMLHttpRequest" not in script
