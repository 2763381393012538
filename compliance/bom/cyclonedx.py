"""Renders a bill of materials as CycloneDX 1.6 JSON. Pure and deterministic.

- Components and properties are sorted. The serial number is a UUID (version 5) of the content, and no time is
  written, so that equal bills have equal bytes.
- A licence that is unknown is not written; the property `sovctl:licence` states `unknown`.
- The property `sovctl:simulated` and the missing parts are in the metadata.

Source: CycloneDX 1.6, ECMA-424 (1st edition, June 2024), https://cyclonedx.org/docs/1.6/json/.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from sovctl.support.canonical_json import digest

from .component import Bill, Component, ComponentKind, ModelCard

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/schema/bom-1.6.schema.json")


def bom_bytes(bill: Bill) -> bytes:
    """Return the JSON of a bill of materials.

    Raises:
        ValueError: two components have the same reference.
    """
    value = _bom(bill)
    value["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, digest(value))}"
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _bom(bill: Bill) -> dict[str, Any]:
    components = sorted(bill.components, key=lambda each: each.ref)
    refs = [each.ref for top in components for each in (top, *top.parts)]
    if len(refs) != len(set(refs)):
        raise ValueError(f"two components have the reference {next(ref for ref in refs if refs.count(ref) > 1)}")
    properties = [("simulated", str(bill.simulated).lower()), *(("incomplete", each) for each in bill.incomplete)]
    site = f"site:{bill.site}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "platform", "bom-ref": site, "name": bill.site},
            "tools": {"components": [{"type": "application", "name": "sovctl", "version": bill.tool_version}]},
            "properties": _properties(properties),
        },
        "components": [_component(each) for each in components],
        # `unknown`: sovctl does not list firmware and files outside packages.
        "compositions": [{"aggregate": "incomplete" if bill.incomplete else "unknown", "assemblies": [site]}],
        "dependencies": [{"ref": site, "dependsOn": [each.ref for each in components]}],
    }


def _component(each: Component) -> dict[str, Any]:
    properties = list(each.properties)
    if not each.spdx and not each.licence and each.kind is not ComponentKind.FILE:
        properties.append(("licence", "unknown"))
    value = {
        "type": each.kind.value,
        "bom-ref": each.ref,
        "name": each.name,
        "version": each.version,
        "purl": each.purl,
        "hashes": _hashes([each.sha256] if each.sha256 else []),
        "licenses": list(_licences(each)),
        "externalReferences": list(_references(each)),
        "properties": _properties(properties),
        "modelCard": _card(each.card) if each.card else {},
        "components": [_component(part) for part in sorted(each.parts, key=lambda part: part.ref)],
    }
    return {key: content for key, content in value.items() if content}


def _licences(each: Component) -> Iterator[dict[str, Any]]:
    if each.spdx:
        yield {"expression": each.spdx}
    elif each.licence:
        yield {"license": {"name": each.licence}}


def _references(each: Component) -> Iterator[dict[str, Any]]:
    if each.source:
        reference: dict[str, Any] = {"type": "distribution", "url": each.source}
        if each.permitted_sha256:
            reference["comment"] = "one of the files with these digests is installed"
            reference["hashes"] = _hashes(sorted(each.permitted_sha256))
        yield reference


def _hashes(digests: Iterable[str]) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": each} for each in digests]


def _properties(values: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": f"sovctl:{name}", "value": value} for name, value in sorted(values)]


def _card(card: ModelCard) -> dict[str, Any]:
    parameters = {"task": card.task, "architectureFamily": card.architecture}
    considerations = {
        "useCases": list(card.use_cases),
        "technicalLimitations": list(card.limits),
        "ethicalConsiderations": [{"name": name, "mitigationStrategy": text} for name, text in card.considerations],
    }
    value = {
        "modelParameters": {key: text for key, text in parameters.items() if text},
        "considerations": {key: items for key, items in considerations.items() if items},
    }
    return {key: content for key, content in value.items() if content}
