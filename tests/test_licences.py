"""What survtrace installs: licences are named, and the bill of materials is whole."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def licences(monkeypatch):
    """The script that writes the page of licences."""
    monkeypatch.syspath_prepend(str(DOCS))
    import licences

    yield licences
    sys.modules.pop("licences")


def test_survtrace_alone_brings_no_copyleft(licences):
    packages = licences.needed("survtrace")
    assert {"torch", "numpy", "pandas"} <= set(packages)
    assert [name for name in packages if licences.is_copyleft(name)] == []


def test_every_copyleft_package_of_an_extra_is_named_on_the_page(licences):
    extras = licences.extras_of()
    bound = [name for name in licences.needed("survtrace", extras) if licences.is_copyleft(name)]
    page = licences.PAGE.read_text().partition("## survtrace alone")[0]
    assert [name for name in bound if f" {name} (" not in page] == []


def test_the_extras_of_a_server_are_free_of_copyleft(licences):
    packages = licences.needed("survtrace", ["app", "parquet", "excel", "plots", "report", "tune"])
    assert [name for name in packages if licences.is_copyleft(name)] == []


def test_packages_said_to_be_quiet_are_still_installed(licences):
    packages = licences.needed("survtrace", licences.extras_of())
    assert set(licences.QUIET) <= set(packages)


def test_a_bill_of_materials_names_nobody_it_does_not_describe(licences):
    import sbom

    bill = sbom.bill(["app"])
    described = [each["bom-ref"] for each in [bill["metadata"]["component"], *bill["components"]]]
    assert len(described) == len(set(described))
    assert {each["ref"] for each in bill["dependencies"]} == set(described)
    needed = {ref for each in bill["dependencies"] for ref in each["dependsOn"]}
    assert needed <= set(described)
    assert any(ref.startswith("pkg:pypi/fastapi@") for ref in needed)
    assert all(each["licenses"] for each in bill["components"])
    sys.modules.pop("sbom")


def test_tests_of_a_file_stay_in_one_process_where_groups_are_asked_for(request):
    """A version of pytest of which pytest-xdist sees no groups makes every fixture twice."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests run one after the other, or are handed out one by one")
    assert request.node.nodeid.endswith("@test_licences.py")
