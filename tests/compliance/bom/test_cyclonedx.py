"""Bills of materials: valid CycloneDX 1.6, deterministic, honest about unknown parts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from sovctl.compliance.bom.component import Bill, Component, ComponentKind, ModelCard
from sovctl.compliance.bom.cyclonedx import bom_bytes

WHEEL = Component(
    ComponentKind.LIBRARY,
    "pkg:pypi/a@1",
    "a",
    "1",
    purl="pkg:pypi/a@1",
    permitted_sha256=("1" * 64, "2" * 64),
    spdx="MIT OR Apache-2.0",
    source="http://10.0.0.1/wheels/",
    properties=(("lock", "gateway"),),
)
PACKAGE = Component(ComponentKind.LIBRARY, "pkg:deb/debian/b@2", "b", "2", purl="pkg:deb/debian/b@2")
MODEL = Component(
    ComponentKind.MODEL,
    "model:m",
    "vendor/m",
    "abc",
    licence="Community License",
    card=ModelCard("text-generation", "gqa", ("chat",), ("8192 tokens",), (("conditions", "display the name"),)),
    parts=(Component(ComponentKind.FILE, "file:m/w", "m/w", sha256="3" * 64),),
)
BILL = Bill("bank", "0.1.0", (WHEEL, PACKAGE, MODEL), simulated=True, incomplete=("no packages of n1",))


def test_the_strict_validator_accepts_the_bill() -> None:
    text = bom_bytes(BILL).decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_the_strict_validator_rejects_a_wrong_key() -> None:
    value = json.loads(bom_bytes(BILL))
    value["components"][0]["licence"] = "MIT"
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(value)) is not None


def test_equal_bills_have_equal_bytes_in_any_order() -> None:
    turned = replace(BILL, components=tuple(reversed(BILL.components)))
    assert bom_bytes(BILL) == bom_bytes(turned)
    other = replace(BILL, components=BILL.components[:1])
    assert json.loads(bom_bytes(BILL))["serialNumber"] != json.loads(bom_bytes(other))["serialNumber"]


def test_unknown_licences_and_missing_parts_are_stated() -> None:
    value = json.loads(bom_bytes(BILL))
    by_ref = {each["bom-ref"]: each for each in value["components"]}
    assert {"name": "sovctl:licence", "value": "unknown"} in by_ref["pkg:deb/debian/b@2"]["properties"]
    assert "licenses" not in by_ref["pkg:deb/debian/b@2"]
    assert by_ref["pkg:pypi/a@1"]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert by_ref["model:m"]["licenses"] == [{"license": {"name": "Community License"}}]
    assert value["compositions"][0]["aggregate"] == "incomplete"
    assert {"name": "sovctl:incomplete", "value": "no packages of n1"} in value["metadata"]["properties"]
    assert {"name": "sovctl:simulated", "value": "true"} in value["metadata"]["properties"]
    whole = json.loads(bom_bytes(replace(BILL, incomplete=())))
    assert whole["compositions"][0]["aggregate"] == "unknown"


def test_two_components_with_one_reference_are_refused() -> None:
    with pytest.raises(ValueError, match="pkg:pypi/a@1"):
        bom_bytes(replace(BILL, components=(WHEEL, WHEEL)))
