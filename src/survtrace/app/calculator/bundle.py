"""Put modules of JavaScript into one script that needs no server: imports become functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from survtrace.errors import DataError

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\./[\w/.]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|let|class|function|async function)\b)", re.MULTILINE)
_NAME = re.compile(r"^export (?:const|let|class|async function|function)\s+([\w$]+)", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{([^}]*)\};$", re.MULTILINE)
_LEFT_OVER = re.compile(r"^\s*(?:import|export)\b.*$|\bimport\(", re.MULTILINE)


def bundle(entry: Path, instead: Mapping[Path, Path] | None = None) -> str:
    r"""Join a module and all that it imports into one strict script.

    Every module becomes a function that is called once, those it imports before it, and returns
    what it exports: so their names stay apart. ``instead`` puts one file in the place of another.
    Forms of import and export that the page does not use are refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "one.js").write_text("export const one = 1;\n")
    ...     main = Path(folder, "main.js")
    ...     _ = main.write_text('import { one } from "./one.js";\nconsole.log(one);\n')
    ...     print(bundle(main))
    "use strict";
    const module0 = (() => {
    const one = 1;
    return { one };
    })();
    const module1 = (() => {
    const { one } = module0;
    console.log(one);
    return {  };
    })();
    """
    replaced = {old.resolve(): new.resolve() for old, new in (instead or {}).items()}
    written, parts = dict[Path, str](), ['"use strict";']
    _add(entry.resolve(), replaced, written, [], parts)
    return "\n".join(parts)


def _add(
    path: Path,
    replaced: Mapping[Path, Path],
    written: dict[Path, str],
    waiting: list[Path],
    parts: list[str],
) -> str:
    """Write a module after those that it imports; return the name of what it exports."""
    path = replaced.get(path, path)
    if path in written:
        return written[path]
    if path in waiting:
        raise DataError(f"modules must not import each other in a circle; {path.name} does.")
    source = path.read_text(encoding="utf-8")
    found = [
        (names, _add((path.parent / target).resolve(), replaced, written, [*waiting, path], parts))
        for names, target in _IMPORT.findall(source)
    ]
    names = iter(found)
    body = _IMPORT.sub(lambda _: "const {%s} = %s;" % next(names), source)  # noqa: UP031
    exported = _NAME.findall(body)
    for group in _EXPORT_LIST.findall(body):
        exported += [name.strip() for name in group.split(",")]
    body = _EXPORT_LIST.sub("", _EXPORT.sub("", body)).strip()
    if left := _LEFT_OVER.search(body):
        raise DataError(f"{path.name} has a form of import or export not known: {left[0].strip()}")
    written[path] = f"module{len(written)}"
    parts += [f"const {written[path]} = (() => {{", body, f"return {{ {', '.join(exported)} }};"]
    parts.append("})();")
    return written[path]
