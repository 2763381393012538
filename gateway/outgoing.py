"""The body that leaves: tokens instead of identifiers, and a second look before it goes.

    outgoing = tokenize_body(body, inspector, policy, mint, model="big", dropped={"user"})
    outgoing.data        # for the cloud
    outgoing.issued      # token -> what it stands for: first into the vault, then into the restorers

The second look reads what was rewritten as a stranger would: no identifier may be found in it outside of our own
tokens, and none of the replaced values may occur anywhere in the bytes that leave. Otherwise `Leak` is raised and
nothing leaves. Strings that were not rewritten are what the first look read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson

from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.inspection import Finder, Inspector
from sovctl.gateway.kinds import Mark
from sovctl.gateway.replace import replace
from sovctl.gateway.settings import Action, PolicySettings
from sovctl.gateway.tokens import Mint, find_tokens

_SHORTEST_CHECKED = 5  # characters; shorter values also occur inside ordinary words


class Leak(Exception):
    """The outgoing body still holds an identifier. The message names its kind, never the value."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What may leave."""

    data: bytes
    issued: Mapping[str, str]


def tokenize_body(
    body: dict[str, Any],
    inspector: Inspector,
    policy: PolicySettings,
    mint: Mint,
    *,
    model: str,
    dropped: Collection[str],
    told: Mapping[str, Any] = MappingProxyType({}),
) -> Outgoing:
    """The body for a cloud. `body` itself is as it was when this returns.

    Args:
        inspector: the one that inspected `body`.
        model: what the cloud calls the model.
        dropped: top-level fields that stay here.
        told: top-level fields that are as we say.

    Raises:
        Leak: it would still hold an identifier.
    """
    leaves, issued = inspector.leaves, dict[str, str]()
    rewritten: list[str] = []
    try:
        for leaf in (*leaves.texts, *leaves.numbers):
            if leaf.path[0] in dropped:
                continue
            found = [f for f in inspector.findings(leaf) if policy.action_for(f.kind) is not Action.ALLOW]
            if not found and "_" not in leaf.text:
                continue
            text, tokens = replace(leaf.text, found, mint, escapes=leaf.escapes if leaf.document else 0)
            if tokens:
                issued.update(tokens)
                leaf.put(text)
                rewritten.append(text)
        leaves.close()
        new = {key: value for key, value in body.items() if key not in dropped}
        new.update(told, model=model)
        data = orjson.dumps(new)
    finally:
        leaves.undo()
    if issued:
        _look_again(rewritten, data, issued, inspector.finder, policy)
    return Outgoing(data, issued)


def _look_again(
    texts: list[str], data: bytes, issued: Mapping[str, str], finder: Finder, policy: PolicySettings
) -> None:
    for text in texts:
        found = finder.find(text)
        if not found:
            continue
        ours = [(token.start, token.end) for token in find_tokens(text) if token.token in issued]
        for finding in found:
            if policy.action_for(finding.kind) is not Action.ALLOW and not _is_ours(finding, ours):
                raise Leak(f"{finding.kind.value} by {finding.rule}")
    for token, surface in issued.items():
        # As JSON has it, in a string and in a string that holds JSON.
        written = orjson.dumps(surface)[1:-1]
        if len(surface) < _SHORTEST_CHECKED or token.startswith(Mark.TEXT):
            continue
        if written in data or (b"\\" in written and orjson.dumps(written.decode())[1:-1] in data):
            raise Leak(f"a value of {token.rpartition('_')[0]} a second time")


def _is_ours(finding: Finding, ours: list[tuple[int, int]]) -> bool:
    return any(start <= finding.start and finding.end <= end for start, end in ours)
