"""Newest facts of each node for documents: parsed facts with their source, or the reason of their absence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sovctl.compliance.documents.document import NotCollected
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import SovctlError

from ..facts.node import NodeFacts, parse_node

_GATHER = "run `sovctl facts` or `sovctl plan`"


@dataclass(frozen=True)
class KnownFacts:
    """Facts of one node with their source."""

    facts: NodeFacts
    source: str


FactsByNode = Mapping[str, KnownFacts | NotCollected]


def facts_of(captures: Mapping[str, bytes | str]) -> dict[str, KnownFacts | NotCollected]:
    """Return facts by node.

    Args:
        captures: content of the capture file of each node, or the reason why it is unreadable.
    """
    return {node: _known(node, capture) for node, capture in captures.items()}


def _known(node: str, capture: bytes | str) -> KnownFacts | NotCollected:
    if isinstance(capture, str):
        return NotCollected(capture, _GATHER)
    try:
        facts = parse_node(json.loads(capture))
    except SovctlError as error:
        return NotCollected(f"the facts are unreadable: {error.message}", _GATHER)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return NotCollected("the facts are not a capture of a node", _GATHER)
    if facts.node != node:
        return NotCollected("the facts are those of another node", _GATHER)
    return KnownFacts(facts, f"facts of {node}, captured {facts.captured}, SHA-256 {sha256_hex(capture)[:16]}")
