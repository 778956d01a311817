"""Writes a software bill of materials: what is installed for survtrace, as CycloneDX JSON.

    python docs/sbom.py dist/sbom.json                 # survtrace alone
    python docs/sbom.py dist/sbom.json app parquet     # with extras

Packages, versions, licences and who needs whom are those of the environment it runs in.
"""

from __future__ import annotations

import json
import sys
import uuid
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from licences import licence, needed


def bill(extras: list[str]) -> dict[str, Any]:
    """Describe survtrace with some extras, and all it leads to, in CycloneDX's words."""
    found = needed("survtrace", extras)
    components = {name: component(name) for name in sorted(found)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": components.pop("survtrace") | {"type": "application"},
        },
        "components": list(components.values()),
        "dependencies": [
            {"ref": reference(name), "dependsOn": sorted(map(reference, found[name]))}
            for name in sorted(found)
        ],
    }


def component(name: str) -> dict[str, Any]:
    """Describe a package; a licence is an expression where its metadata has one."""
    about = distribution(name).metadata
    if expression := about.get("License-Expression"):
        licences: list[dict[str, Any]] = [{"expression": expression}]
    else:
        licences = [{"license": {"name": licence(name)}}]
    return {
        "type": "library",
        "bom-ref": reference(name),
        "name": name,
        "version": about["Version"],
        "purl": reference(name),
        "licenses": licences,
    }


def reference(name: str) -> str:
    """Give the package URL, by which components name each other."""
    return f"pkg:pypi/{name}@{distribution(name).version.replace('+', '%2B')}"


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "dist/sbom.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    found = bill(sys.argv[2:])
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"wrote {out}: {len(found['components'])} packages")
