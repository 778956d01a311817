"""The command doctor tells what this machine offers."""

import json
from importlib.metadata import version

from survtrace.cli.commands import doctor
from survtrace.ops.support import OPERATIONS


def test_it_tells_versions_devices_threads_kernels_and_extras(survtrace):
    code, out, err = survtrace("doctor")
    assert (code, err) == (0, "")
    assert f"survtrace {version('survtrace')}, torch {version('torch')}" in out
    assert "devices:  cpu" in out
    assert "OMP_WAIT_POLICY=" in out
    assert all(operation in out for operation in OPERATIONS)
    assert "by a kernel" in out
    assert all(package in out for package in doctor.EXTRAS)


def test_programs_get_the_same_as_json(survtrace):
    code, out, _ = survtrace("doctor", "--json")
    facts = json.loads(out)
    assert code == 0
    assert set(facts) == {"versions", "devices", "threads", "kernels", "extras"}
    on_cpu = {row["operation"]: row for row in facts["kernels"] if row["device"] == "cpu"}
    assert set(on_cpu) == set(OPERATIONS)
    assert on_cpu["gradient"] == {
        "device": "cpu",
        "operation": "gradient",
        "kernel": True,
        "reason": None,
    }
    assert all(row["kernel"] == (row["reason"] is None) for row in facts["kernels"])
    assert facts["threads"]["automatic"] >= 1


def test_an_extra_that_is_absent_is_named_with_its_way_out(survtrace, monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda package: None)
    assert "no: pip install 'survtrace[tune]'" in survtrace("doctor").out


def test_a_package_that_is_absent_is_said_to_be(survtrace, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("survtrace", "no_such_package"))
    assert "no_such_package absent" in survtrace("doctor").out


def test_every_extra_has_a_purpose():
    assert set(doctor.EXTRAS.values()) == set(doctor.PURPOSES)
