"""Finds errors in a package of OSCAL documents that schema validation misses. Imports the standard library only.

Schema validators accept a reference to nothing, an unknown control, times in the wrong order, and a resource that
differs from its file (measured with jsonschema-rs 0.60 and trestle 5.2). Rules:

- A UUID names one thing. References resolve in the package, and have the right kind.
- Controls, statements and objectives exist in the catalog, and controls in the profile.
- Times are in order. A resource names the SHA-256 of its file.
- Every control has one finding. A finding has an observation or a reason. Only the state `pass` is satisfied.
- A waiver is a risk with a deadline and an item of the POA&M.

    problems = lint({"catalog.json": {...}, ...}, digest_of)      # ["assessment-results.json: results[0]...: ..."]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .findings_lint import lint_findings, lint_waivers
from .package_index import Node, PackageIndex, place
from .time_lint import lint_times

DigestOf = Callable[[str], str | None]

# Key of a reference: kind of its target, which is the name of the array that contains it.
_KINDS = {
    "activity-uuid": "activities",
    "component-uuid": "components",
    "finding-uuid": "findings",
    "implementation-statement-uuid": "statements",
    "observation-uuid": "observations",
    "party-uuid": "parties",
    "party-uuids": "parties",
    "risk-uuid": "risks",
    "task-uuid": "tasks",
}
# Kind of a target by the `type` next to the reference.
_TYPED = {
    "actor-uuid": {"tool": "components", "assessment-platform": "assessment-platforms", "party": "parties"},
    "subject-uuid": {
        "component": "components",
        "inventory-item": "inventory-items",
        "location": "locations",
        "party": "parties",
        "user": "users",
        "resource": "resources",
    },
}
_SAME_THING = {"components"}  # a component is defined in one document, and part of the system in another one
_IDS = {
    "control-id": "controls",
    "with-ids": "controls",
    "statement-id": "parts",
    "statement-ids": "parts",
    "objective-id": "parts",
}


def lint(documents: Mapping[str, Mapping[str, Any]], digest_of: DigestOf) -> list[str]:
    """Return the problems of a package, each with its document and place; empty if it is clean.

    Args:
        documents: valid by the schema, by file name.
        digest_of: returns the SHA-256 of a file by its path relative to the documents; None if it does not exist.
    """
    index = PackageIndex(documents)
    return [
        *_unique(index),
        *_references(index, digest_of),
        *_controls(index),
        *lint_times(index),
        *lint_findings(index),
        *lint_waivers(index),
    ]


def _unique(index: PackageIndex) -> Iterator[str]:
    for uuid, nodes in index.by_uuid.items():
        first = nodes[0]
        for other in nodes[1:]:
            is_same = other.file != first.file and other.kind == first.kind
            if not is_same:
                yield f"{other}: uuid {uuid} is also that of {first}"
            elif first.kind not in _SAME_THING and other.value != first.value:
                yield f"{other}: differs from {first} with the same uuid {uuid}"


def _references(index: PackageIndex, digest_of: DigestOf) -> Iterator[str]:
    for node in index.nodes:
        for key, value in node.value.items():
            if key == "href" or (key == "source" and node.kind == "control-implementations"):
                yield from _href(index, node, str(value), digest_of)
            elif key in ("role-id", "role-ids"):
                for each in _listed(value):
                    if each not in index.roles(node.file):
                        yield f"{node}.{key}: unknown role {each}"
            elif key.endswith(("-uuid", "-uuids")):
                kind = _KINDS.get(key) or _TYPED.get(key, {}).get(str(node.value.get("type")))
                for each in _listed(value):
                    kinds = {target.kind for target in index.by_uuid.get(each, ())}
                    if not kinds or (kind and kind not in kinds):
                        found = f"got one of {', '.join(sorted(kinds))}" if kinds else "none has it"
                        yield f"{node}.{key}: expected the uuid of one of {kind or 'the package'}, {found}: {each}"


def _href(index: PackageIndex, node: Node, href: str, digest_of: DigestOf) -> Iterator[str]:
    if href.startswith("#"):
        kinds = {(each.file, each.kind) for each in index.by_uuid.get(href[1:], ())}
        if (node.file, "resources") not in kinds:
            yield f"{node}.href: the document has no resource {href}"
    elif node.kind == "rlinks":
        listed = {each.get("algorithm"): str(each.get("value")) for each in node.value.get("hashes", ())}
        expected, found = listed.get("SHA-256"), digest_of(href)
        if expected is None:
            yield f"{node}: the resource {href} has no SHA-256"
        elif found is None:
            yield f"{node}: no file {href}"
        elif found != expected:
            yield f"{node}: expected {href} with SHA-256 {expected[:16]}, got {found[:16]}"
    elif href not in index.documents and (node.key.startswith("import-") or digest_of(href) is None):
        yield f"{node}.href: no document {href}"


def _controls(index: PackageIndex) -> Iterator[str]:
    if not index.controls:
        yield "catalog: expected controls, got none"
    for node in index.nodes:
        for key, kind in _IDS.items():
            for each in _listed(node.value[key]) if key in node.value else ():
                known = index.controls if kind == "controls" else index.parts
                if each not in known:
                    yield f"{node}.{key}: the catalog has no {each}"
                elif key == "control-id" and each not in index.selected:
                    yield f"{node}.{key}: the profile does not select {each}"
        if node.key == "target" and str(node.value.get("target-id")) not in index.parts:
            yield f"{place(node)}.target-id: the catalog has no {node.value.get('target-id')}"


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
