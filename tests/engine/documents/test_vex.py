"""VEX of a site: states of advisories for the locked packages, valid against the schema of CycloneDX."""

from __future__ import annotations

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from document_sources import loaded, record, sources

from sovctl.compliance.bom.vex import State, vex_bytes
from sovctl.engine.catalog.advisories import load_advisories
from sovctl.engine.documents.lock_file import LockedPackage
from sovctl.engine.documents.read_site import read_locks
from sovctl.engine.documents.vex import CHECK, vex_statements


def states(version: str, verdict: str = "", package: str = "vllm") -> dict[str, State]:
    made = sources([record(CHECK, "n1/chat", verdict)] if verdict else None)
    locks = {"engine": (LockedPackage(package, version, ()),)}
    return {each.id: each.state for each in vex_statements(made, locks)}


def test_the_statements_of_a_site_are_valid_and_name_packages_of_its_bill() -> None:
    locks = read_locks(loaded().spec)
    made = vex_statements(sources(), locks)
    text = vex_bytes("bank", made, tool_version="0.1.0").decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert {each.id for each in made} == set(load_advisories())
    refs = {f"pkg:pypi/{p.name}@{p.version}" for packages in locks.values() for p in packages}
    assert {each.purl for each in made} <= refs
    assert vex_bytes("bank", reversed(made), tool_version="0.1.0").decode() == text
    assert json.loads(text)["vulnerabilities"][0]["analysis"]["state"] == "resolved"


@pytest.mark.parametrize(
    ("verdict", "state"),
    [("PASS", State.NOT_AFFECTED), ("FAIL", State.IN_TRIAGE), ("UNKNOWN", State.IN_TRIAGE), ("", State.IN_TRIAGE)],
)
def test_an_open_advisory_is_closed_by_measured_settings_only(verdict: str, state: State) -> None:
    assert states("0.32.0", verdict)["vllm-57157"] is state


def test_an_old_release_is_exploitable() -> None:
    found = states("0.19.0", "PASS")
    assert found["CVE-2026-44222"] is State.EXPLOITABLE
    assert found["CVE-2025-30165"] is State.RESOLVED
    assert states("0.5.1")["CVE-2025-30165"] is State.NOT_AFFECTED
    assert states("2.9.1", package="torch")["CVE-2026-24747"] is State.IN_TRIAGE
    assert states("2.9.1", package="requests") == {}
