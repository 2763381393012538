"""Names in OSCAL documents: ids from stable names, tokens of controls, namespaced properties. Pure.

A UUID is computed from the names of the thing (RFC 9562, version 5), so that two reports of one site use the same ids
and can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

NAMESPACE = "https://sovctl.example/ns/oscal/1"
"""Namespace of the properties that OSCAL has no field for, such as the population. A name, not an address."""

_ROOT = uuid5(NAMESPACE_URL, NAMESPACE)
_NOT_TOKEN = re.compile(r"[^0-9A-Za-z._-]+")
FOREIGN_RESULT = "foreign-result"
"""Type of an observation of another tool."""
MISSING = "MISSING"
"""Beginning of a text that a person must replace."""


def uuid_of(*names: str) -> str:
    """Return the UUID of a thing with the given names, such as `("finding", site, pack, control)`."""
    return str(uuid5(_ROOT, "\x1f".join(names)))


def control_token(control_id: str) -> str:
    """Return the id of a control as an OSCAL token: `164.306(a)` is `_164.306.a`, `ac-2.1` is unchanged."""
    token = _NOT_TOKEN.sub(".", control_id).strip(".")
    return token if token[:1].isalpha() else f"_{token}"


def statement_token(control_id: str) -> str:
    """Return the id of the statement of a control, as in the catalogs of NIST: `ac-2_smt`."""
    return f"{control_token(control_id)}_smt"


def objective_token(control_id: str, objective: str) -> str:
    """Return the id of an objective of a control, such as `sc-7_obj.default-drop`."""
    return f"{control_token(control_id)}_obj.{objective}"


def line(text: object) -> str:
    """Return a text as one line without spaces at its ends, as OSCAL strings must be; `-` if it is empty."""
    return " ".join(str(text).split()) or "-"


def prop(name: str, value: object, *, remarks: str = "") -> dict[str, Any]:
    """Return a property in the namespace of sovctl."""
    found = {"name": name, "ns": NAMESPACE, "value": line(_word(value))}
    return found | ({"remarks": remarks} if remarks else {})


def label(value: str) -> dict[str, Any]:
    """Return the property of OSCAL for the id that people use."""
    return {"name": "label", "value": line(value)}


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not empty, with hyphens in their names: OSCAL has no empty arrays and objects."""
    return {name.replace("_", "-"): value for name, value in fields.items() if value not in (None, "", [], {}, ())}


def select(control_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return the selection of controls by id, as in `include-controls`."""
    return [{"control-id": control_token(each)} for each in control_ids]


def _word(value: object) -> object:
    return ("no", "yes")[value] if isinstance(value, bool) else value
