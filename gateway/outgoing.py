"""The body that leaves: tokens instead of identifiers, and a second look before it goes.

    outgoing = tokenize_body(body, inspector, policy, mint, model="big")
    outgoing.body        # for the cloud
    outgoing.issued      # token -> what it stands for: first into the vault, then into the restorers

The second look reads the finished body as a stranger would: no identifier may be found in it outside of our own
tokens, and none of the replaced values may occur anywhere in it. Otherwise `Leak` is raised and nothing leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sovctl.gateway import body as json_body
from sovctl.gateway.body import Path
from sovctl.gateway.inspection import Inspector
from sovctl.gateway.replace import replace
from sovctl.gateway.settings import Action, PolicySettings
from sovctl.gateway.tokens import TOKEN, Mint, canonical

# Fields about the end user or for a provider's own bookkeeping. A cloud needs none of them to answer.
DROPPED = ("user", "safety_identifier", "prompt_cache_key", "metadata", "store", "cache_salt")

_SHORTEST_CHECKED = 5  # characters; shorter values also occur inside ordinary words


class Leak(Exception):
    """The outgoing body still holds an identifier. The message names its kind, never the value."""


@dataclass(frozen=True)
class Outgoing:
    """What may leave."""

    body: dict[str, Any]
    issued: Mapping[str, str]


def tokenize_body(
    body: Mapping[str, Any], inspector: Inspector, policy: PolicySettings, mint: Mint, *, model: str
) -> Outgoing:
    """The body for a cloud.

    Args:
        inspector: the one that inspected `body`.
        model: what the cloud calls the model.

    Raises:
        Leak: it would still hold an identifier.
    """
    kept = {key: value for key, value in body.items() if key not in DROPPED}
    rewrite = _Rewrite(inspector, policy, mint)
    new = {**json_body.walk(kept, rewrite, max_depth=inspector.max_depth), "model": model}
    look = _SecondLook(inspector, policy, rewrite.issued)
    json_body.walk({**new, "model": ""}, look, max_depth=inspector.max_depth)
    look.finish()
    return Outgoing(new, rewrite.issued)


class _Rewrite:
    def __init__(self, inspector: Inspector, policy: PolicySettings, mint: Mint) -> None:
        self._inspector = inspector
        self._policy = policy
        self._mint = mint
        self.issued: dict[str, str] = {}

    def text(self, path: Path, text: str) -> str:
        findings = [
            finding
            for finding in self._inspector.findings(path, text)
            if self._policy.action_for(finding.kind) is not Action.ALLOW
        ]
        tokenized, issued = replace(text, findings, self._mint)
        self.issued.update(issued)
        return text if not issued else tokenized

    def key(self, path: Path, key: str) -> None:
        """Keys are never rewritten; one with an identifier keeps its request on-prem."""

    def number(self, path: Path, number: float) -> float | str:
        text = str(number)
        tokenized = self.text((*path, "number"), text)
        return number if tokenized == text else tokenized

    def part(self, path: Path, part: Mapping[str, Any]) -> None:
        """Content parts are judged when the request is inspected."""


class _SecondLook:
    def __init__(self, inspector: Inspector, policy: PolicySettings, issued: Mapping[str, str]) -> None:
        self._inspector = inspector
        self._policy = policy
        self._issued = issued
        self._seen: list[str] = []

    def text(self, path: Path, text: str) -> str:
        self._seen.append(text)
        findings = self._inspector.findings(path, text)
        if findings:
            ours = [match.span() for match in TOKEN.finditer(text) if canonical(match) in self._issued]
            for finding in findings:
                if self._policy.action_for(finding.kind) is Action.ALLOW:
                    continue
                if not any(start <= finding.start and finding.end <= end for start, end in ours):
                    raise Leak(f"{finding.kind.value} by {finding.rule}")
        return text

    def key(self, _path: Path, key: str) -> None:
        self._seen.append(key)

    def number(self, path: Path, number: float) -> float:
        self.text((*path, "number"), str(number))
        return number

    def part(self, path: Path, part: Mapping[str, Any]) -> None:
        """Nothing: its fields follow."""

    def finish(self) -> None:
        everything = "\n".join(self._seen)
        for token, surface in self._issued.items():
            if len(surface) >= _SHORTEST_CHECKED and not TOKEN.fullmatch(surface) and surface in everything:
                raise Leak(f"a value of {token.rpartition('_')[0]} a second time")
