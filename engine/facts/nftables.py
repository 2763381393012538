"""Parser of `nft -j list ruleset`: tables, chains with hooks and policies, and rules without conditions.

nft prints `{"nftables": [{"metainfo": ...}, ...]}` for an empty ruleset too, so empty output is an error.
Format: libnftables-json(5), JSON schema version 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .unreadable import MALFORMED, Unreadable

_TOOL = "nft -j list ruleset"
# Statements without condition: a rule with only these and a verdict matches every packet.
_WITHOUT_CONDITION = frozenset({"counter", "log", "limit", "quota"})


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain. `hook`, `type` and `policy` are None for a chain that is only the target of jumps."""

    family: str
    table: str
    name: str
    type: str | None
    hook: str | None
    priority: int | None
    policy: str | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, with its verdict and without its conditions."""

    family: str
    table: str
    chain: str
    handle: int
    comment: str | None
    verdict: str | None
    """"accept", "drop", "reject", "jump", "goto", ...; None for a rule without one."""
    matches_all: bool
    """Whether the rule has no conditions."""


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Tables, chains and rules, in the order of the kernel."""

    tables: tuple[tuple[str, str], ...]
    """(family, name)."""
    chains: tuple[Chain, ...]
    rules: tuple[Rule, ...]

    def base_chains(self, family: str, table: str) -> dict[str, Chain]:
        """Return the filter chains of a table by hook."""
        return {
            chain.hook: chain
            for chain in self.chains
            if (chain.family, chain.table) == (family, table) and chain.type == "filter" and chain.hook
        }


def parse_ruleset(text: str) -> Ruleset:
    """Parse nft's JSON.

    Raises:
        Unreadable: the text has another format, or no metainfo.
    """
    try:
        entries = json.loads(text)["nftables"]
        keys = {key for entry in entries for key in entry}
    except MALFORMED:
        raise Unreadable('JSON with "nftables"', text, where=_TOOL) from None
    if "metainfo" not in keys:
        raise Unreadable("metainfo", "none", where=_TOOL, is_description=True)
    try:
        return Ruleset(
            tables=tuple((each["family"], each["name"]) for each in _all(entries, "table")),
            chains=tuple(_chain(each) for each in _all(entries, "chain")),
            rules=tuple(_rule(each) for each in _all(entries, "rule")),
        )
    except MALFORMED:
        raise Unreadable("tables, chains and rules with their names", text, where=_TOOL) from None


def _all(entries: list[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [entry[kind] for entry in entries if kind in entry]


def _chain(value: Mapping[str, Any]) -> Chain:
    return Chain(
        family=value["family"],
        table=value["table"],
        name=value["name"],
        type=value.get("type"),
        hook=value.get("hook"),
        priority=value.get("prio"),
        policy=value.get("policy"),
    )


def _rule(value: Mapping[str, Any]) -> Rule:
    parts = [key for expression in value["expr"] for key in expression]
    verdicts = [part for part in parts if part in ("accept", "drop", "reject", "jump", "goto", "return", "queue")]
    return Rule(
        family=value["family"],
        table=value["table"],
        chain=value["chain"],
        handle=int(value["handle"]),
        comment=value.get("comment"),
        verdict=verdicts[-1] if verdicts else None,
        matches_all=all(part in _WITHOUT_CONDITION for part in parts if part not in verdicts),
    )
