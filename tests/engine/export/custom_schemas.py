"""Schemas of custom kinds, made strict: a field that a definition lacks is an error, as with `fieldValidation=Strict`.

The definitions are not part of the project; see SOURCES.md next to them for repository and commit.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

DEFINITIONS = Path(__file__).resolve().parents[3].parent / "shared" / "crds"


@cache
def strict_schema(api_version: str, kind: str) -> dict[str, Any]:
    """Return the strict JSON schema of a kind. Rules in CEL are not part of it."""
    group, _, version = api_version.partition("/")
    for path in sorted(DEFINITIONS.glob(f"{group}_*.json")):
        spec = json.loads(path.read_text())["spec"]
        if spec["names"]["kind"] == kind:
            found = next(each for each in spec["versions"] if each["name"] == version and each["served"])
            made = _strict(found["schema"]["openAPIV3Schema"])
            made["properties"] |= {"apiVersion": {"const": api_version}, "kind": {"const": kind}, "metadata": {}}
            return made
    raise LookupError(f"{api_version} {kind}")


def _strict(schema: Any) -> Any:
    """Return a schema of Kubernetes as JSON Schema.

    Source: kubernetes.io, "Extend the Kubernetes API with CustomResourceDefinitions", structural schemas.
    """
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _strict(value) for key, value in schema.items() if key not in ("properties", "default", "enum")}
    if "enum" in schema:
        made["enum"] = schema["enum"]
    if "properties" in schema:
        made["properties"] = {name: _strict(each) for name, each in schema["properties"].items()}
    keeps_unknown = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if schema.get("type") == "object" and not keeps_unknown:
        made["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("anyOf", None)
        made["type"] = ["integer", "string"]
    if schema.get("nullable") and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made
