"""Write the risk explorer of a model as one HTML file that opens without a server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from survtrace.app.answers.importance import read_importance
from survtrace.app.answers.limits import Limits
from survtrace.app.answers.schema import describe
from survtrace.app.calculator.bundle import bundle
from survtrace.app.calculator.pack import pack_model
from survtrace.app.calculator.pack_network import pack_network
from survtrace.files import replacing, require_apart
from survtrace.portable import load
from survtrace.rules import TEXT, Rule, check_value, either, one_of, read_path
from survtrace.saved_folder import network_arrays, read_folder

if TYPE_CHECKING:
    from survtrace.estimator import SurvTRACE

PAGE = Path(__file__).parent.parent / "page"
ENGINE = Path(__file__).parent / "engine"
# What the page says or loads on a server, and what stands there in a file.
SERVER_PART = re.compile(r"<!-- server: (\w+) -->.*?<!-- end -->", re.DOTALL)
NO_SCRIPT = (
    '<noscript><p class="problem">This file computes with JavaScript, which is switched off here. '
    "Switch it on for this file.</p></noscript>"
)
FOOTER = (
    "<p>Everything is computed by this file: what is typed or opened here does not leave this "
    "browser and is not kept. It was written by survtrace {version}.</p>"
)


def write_page(
    model: str | Path | SurvTRACE,
    path: str | Path,
    *,
    units: Mapping[str, str] | None = None,
    time_unit: str = "",
    name: str | None = None,
    importance: str | Path | None = None,
) -> Path:
    """Write a model's risk explorer as one HTML file, with the model in it; return its path.

    The file opens in a browser from anywhere, makes no request, and its numbers are those of the
    estimator to 1e-5. It holds the network and what was learned of the covariates, and nothing of
    a single subject.

    Parameters
    ----------
    model
        Folder that `SurvTRACE.save` wrote, or a fitted estimator.
    path
        File to write; one that exists is replaced.
    units, time_unit
        Units of covariates by name, and of durations; only shown. By default those that the
        estimator was fitted with.
    name
        Of the model, shown on the page and on prints; by default that of its folder.
    importance
        CSV that ``survtrace explain`` wrote: cause, covariate, importance, low, high.

    Examples
    --------
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(est, f"{folder}/calculator.html", name="breast cancer").stat().st_size < 1e6
    True
    """
    if hasattr(model, "save"):
        with tempfile.TemporaryDirectory(prefix="survtrace-") as folder:
            model.save(f"{folder}/model")
            saved, name = f"{folder}/model", name or ""
            options: dict[str, Any] = {"units": units, "time_unit": time_unit}
            return write_page(saved, path, **options, name=name, importance=importance)
    path, folder_path = read_path("path", path), read_path("model", model)
    require_apart(path, folder_path)
    check_value("name", name, either(TEXT, one_of(None)))
    check_value("units", units, Rule(lambda v: v is None or isinstance(v, Mapping), "a mapping"))
    if importance is not None:
        importance = read_path("importance", importance)
        require_apart(path, importance)
    name = folder_path.resolve().name if name is None else name
    light = load(folder_path)
    rows = None if importance is None else [asdict(row) for row in read_importance(importance)]
    schema = describe(
        light,
        light._predictor().network.n_members,
        Limits(),
        units=units,
        time_unit=time_unit,
        name=name,
        has_importance=rows is not None,
    )
    note, arrays = read_folder(folder_path)
    network = pack_network(note["shape"], network_arrays(arrays, len(light.causes_)))
    packed = {**pack_model(light, asdict(schema)), "network": network, "importance": rows}
    with replacing(path) as part:
        content = page_text(packed, name)
        part.write_text(content, encoding="utf-8", errors="replace", newline="\n")
    return path


def page_text(packed: Mapping[str, Any], name: str) -> str:
    """Put page, engine and packed model into one text of HTML.

    Scripts and styles run only if their hash stands in the policy, which allows nothing to be
    loaded or sent; the model is data that no browser executes.
    """
    script = bundle(PAGE / "app.js", {PAGE / "server.js": ENGINE / "server.js"})
    style = (PAGE / "style.css").read_text(encoding="utf-8")
    icon = base64.b64encode((PAGE / "icon.svg").read_bytes()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "head": f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'  <link rel="icon" href="data:image/svg+xml;base64,{icon}">\n  <style>{style}</style>',
        "noscript": NO_SCRIPT,
        "footer": FOOTER.format(version=escape(version("survtrace"))),
    }
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    html = SERVER_PART.sub(lambda found: parts[found[1]], html)
    title = f"{name} · Risk explorer" if name else "Risk explorer"
    html = html.replace(
        "<title>Risk explorer · survtrace</title>", f"<title>{escape(title)}</title>"
    )
    model = f'<script type="application/json" id="packed-model">{json_text(packed)}</script>'
    return html.replace("</body>", f"{model}\n<script>{script}</script>\n</body>")


def json_text(value: Any) -> str:
    r"""Write JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> json_text({"name": "</script><b>"})
    '{"name":"\\u003c/script>\\u003cb>"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
