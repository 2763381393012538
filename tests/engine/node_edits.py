"""Facts of a node with one value added or changed, and handles of observed values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sovctl.engine.facts.node import NodeFacts, Unit
from sovctl.support.canonical_json import sha256_hex

WRITTEN_S = 1_763_700_000
STARTED_S = WRITTEN_S + 100
OTHER_SHA256 = "ab" * 32

Change = Callable[[NodeFacts], NodeFacts]


@dataclass(frozen=True)
class Handle:
    """One observed value: where a plan must name it, and how to change it."""

    kind: str
    name: str
    key: str
    change: Change


def with_file(facts: NodeFacts, path: str, sha256: str = OTHER_SHA256, **fields: Any) -> NodeFacts:
    """The same with a file, or with some of its properties changed."""
    new = {"mode": "0644", "uid": 0, "size": 10, "mtime_ns": WRITTEN_S * 10**9, "sha256": sha256}
    return replace(facts, files={**facts.files, path: {**new, **fields}})


def with_text(facts: NodeFacts, path: str, text: str) -> NodeFacts:
    """The same with a file whose text is read."""
    facts = with_file(facts, path, sha256_hex(text))
    return replace(facts, texts={**facts.texts, path: text})


def with_unit(facts: NodeFacts, name: str, active: str = "active", enabled: str = "enabled") -> NodeFacts:
    """The same with a unit."""
    return replace(facts, units={**facts.units, name: Unit(active, enabled, STARTED_S)})


def with_answer(facts: NodeFacts, name: str, text: str) -> NodeFacts:
    """The same with another output of a command."""
    answer = {"exit_code": 0, "stdout": text, "stderr": ""}
    return replace(facts, answers={**facts.answers, name: answer})
