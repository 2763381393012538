"""Renders statements about vulnerabilities as CycloneDX 1.6 JSON (VEX). Pure and deterministic.

A scanner reads the statements with the bill of materials, whose package URLs they name, and omits findings that do not
affect the site. Source: CycloneDX 1.6, `vulnerabilities[].analysis`, https://cyclonedx.org/docs/1.6/json/.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sovctl.support.canonical_json import digest

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/schema/bom-1.6.schema.json")


class State(StrEnum):
    """Values of `analysis.state` that sovctl writes."""

    RESOLVED = "resolved"
    NOT_AFFECTED = "not_affected"
    IN_TRIAGE = "in_triage"
    EXPLOITABLE = "exploitable"


@dataclass(frozen=True)
class Statement:
    """One vulnerability on one package.

    Args:
        purl: package URL of the bill of materials.
        justification: for NOT_AFFECTED; empty otherwise.
        detail: reason of the state.
        source: where the advisory was read.
    """

    id: str
    title: str
    purl: str
    state: State
    detail: str
    source: str
    justification: str = ""


def vex_bytes(site: str, statements: Iterable[Statement], *, tool_version: str) -> bytes:
    """Return the JSON of the statements, sorted by id and package URL."""
    ordered = sorted(statements, key=lambda each: (each.id, each.purl))
    purls = sorted({each.purl for each in ordered})
    value: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "platform", "bom-ref": f"site:{site}", "name": site},
            "tools": {"components": [{"type": "application", "name": "sovctl", "version": tool_version}]},
        },
        "components": [_component(purl) for purl in purls],
        "vulnerabilities": [_vulnerability(each) for each in ordered],
    }
    value["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, digest(value))}"
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _component(purl: str) -> dict[str, str]:
    name, _, version = purl.rpartition("/")[2].partition("@")
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _vulnerability(each: Statement) -> dict[str, Any]:
    analysis = {"state": each.state.value, "detail": each.detail}
    if each.justification:
        analysis["justification"] = each.justification
    return {
        "bom-ref": f"{each.id}:{each.purl}",
        "id": each.id,
        "source": {"name": each.source},
        "description": each.title,
        "analysis": analysis,
        "affects": [{"ref": each.purl}],
    }
