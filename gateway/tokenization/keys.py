"""Replaces keys of an object that are identifiers by tokens or masks. A key is replaced as a whole.

    new = new_keys(keyed, inspector.keys, permissions, issuer)
    new.names        # {"Anna_Kowalska": "PERSON_7K2M..."}

A key that is one identifier has the token of that identifier, as a value has. A key that contains one
(`balance.Anna_Kowalska`) becomes a `TEXT` token.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..body.keyed_objects import KeyedObject
from ..domain.entities import EntityType, Mark
from ..inspection.object_keys import ObjectKeys
from ..policy.permissions import Permissions
from ..tokens.token import TokenIssuer
from .text import mask_of


class NewKeys(NamedTuple):
    """Keys of one object that are replaced."""

    names: dict[str, str]
    """New keys by the old ones; all keys of the object remain different."""
    issued: dict[str, str]
    """Values by token."""
    replaced: list[tuple[EntityType, str]]
    """Old keys, with the entity type of a finding in them."""


def new_keys(keyed: KeyedObject, keys: ObjectKeys, permissions: Permissions, issuer: TokenIssuer) -> NewKeys:
    """Return the new keys of an object."""
    escapes = keyed.document.escapes if keyed.document is not None else 0
    taken = set(keyed.holder)
    new = NewKeys({}, {}, [])
    for key in keyed.keys:
        findings, masks = permissions.to_replace(keys.found[key])
        if not findings:
            continue
        if masks:
            name = _different(mask_of(masks[0].entity_type), taken)
        else:
            surface = key
            for _ in range(escapes):
                surface = json.dumps(surface, ensure_ascii=False)[1:-1]
            whole = keys.whole.get(key)
            label, value = (whole.entity_type, whole.value) if whole is not None else (Mark.TEXT, key)
            about = tuple({key: None, **{finding.value: None for finding in findings}})
            name = issuer.token(label, value, surface, about)
            if name in taken:  # the client wrote the token itself
                name = issuer.token(Mark.TEXT, key, surface, about)
            new.issued[name] = surface
        taken.add(name)
        new.names[key] = name
        new.replaced.append((findings[0].entity_type, key))
    return new


def _different(name: str, taken: set[str]) -> str:
    """Return the name, with a number if an object already has such a key."""
    number, numbered = 1, name
    while numbered in taken:
        number += 1
        numbered = f"{name} {number}"
    return numbered
