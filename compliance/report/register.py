"""Evidence register of a report: the records of each check, with like records together. Pure.

Records of one check are alike if verdict, rule, command, method, versions, circumstances and population are equal,
apart from the name of their own target. Their common properties are stated once. Every record keeps its row, with
target, index in the ledger, digest, earlier result, and link to its raw output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .heat_map import natural_order

VERDICT_ORDER = ("FAIL", "UNKNOWN", "WARN", "PASS", "N/A")
_SHARED = (
    *("check_version", "check_sha256", "title", "method", "exit_code", "rule", "simulated", "population_sha256"),
    *("actor", "tool", "clock", "spec_sha256", "plan_sha256", "apply_run"),
)
_NODE = "{node}"


@dataclass(frozen=True)
class Row:
    """One record."""

    number: int
    item: Mapping[str, Any]
    reason: str
    """Empty if all reasons of the group are equal."""


@dataclass(frozen=True)
class Group:
    """Like records of one check."""

    verdict: str
    is_stale: bool
    record: Mapping[str, Any]
    """Any of the records, for the common properties."""
    population: Mapping[str, Any]
    command: str
    """`{node}` replaces the name of the node, if the commands differ in it only."""
    reason: str
    """Empty if the reasons of the records differ."""
    rows: tuple[Row, ...]
    started: str
    """Earliest start; UTC."""
    ended: str
    expires: tuple[str, str]
    """Earliest and latest expiry; UTC."""


@dataclass(frozen=True)
class CheckBlock:
    """All records of one check."""

    id: str
    title: str
    groups: tuple[Group, ...]
    """Worst verdict first."""
    missing: tuple[str, ...]
    """Targets of the population without a record; sorted."""
    population: tuple[str, ...]

    @property
    def records(self) -> int:
        """Number of records."""
        return sum(len(group.rows) for group in self.groups)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """Number of targets by verdict, worst first; `not-run` for expired records, `no record` for missing ones."""
        found: dict[str, int] = {}
        for group in self.groups:
            word = "expired" if group.is_stale else group.verdict
            found[word] = found.get(word, 0) + len(group.rows)
        if self.missing:
            found["no record"] = len(self.missing)
        return list(found.items())

    @property
    def notable(self) -> list[tuple[Group, Row]]:
        """Records that are neither PASS nor N/A, and expired ones."""
        return [(g, row) for g in self.groups if g.is_stale or g.verdict not in ("PASS", "N/A") for row in g.rows]


def check_blocks(
    by_check: Mapping[str, Sequence[Mapping[str, Any]]], numbers: Mapping[str, int]
) -> dict[str, CheckBlock]:
    """Return the block of each check with a record, sorted by check id.

    Args:
        by_check: evidence items of the report by check id, each with `stale` and `population`.
        numbers: number of a record by its SHA-256.
    """
    return {check: _block(check, by_check[check], numbers) for check in sorted(by_check)}


def _block(check: str, items: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]) -> CheckBlock:
    groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for item in sorted(items, key=lambda each: (natural_order(each["record"]["target"]), each["leaf_index"])):
        record = item["record"]
        shared = tuple(str(record[name]) for name in _SHARED)
        key = (record["verdict"], item["stale"], _general(record["command"], record["target"]), shared)
        groups.setdefault(key, []).append(item)
    found = sorted(
        (_group(members, numbers) for members in groups.values()),
        key=lambda group: (group.is_stale, VERDICT_ORDER.index(group.verdict), group.rows[0].number),
    )
    population = {target for item in items for target in (*item["population"]["declared"], item["record"]["target"])}
    missing = population - {item["record"]["target"] for item in items}
    return CheckBlock(
        id=check,
        title=items[0]["record"]["title"],
        groups=tuple(found),
        missing=tuple(sorted(missing, key=natural_order)),
        population=tuple(sorted(population, key=natural_order)),
    )


def _group(items: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]) -> Group:
    records = [item["record"] for item in items]
    reason = _common(records, "reason")
    return Group(
        verdict=records[0]["verdict"],
        is_stale=items[0]["stale"],
        record=records[0],
        population=items[0]["population"],
        command=_common(records, "command"),
        reason=reason,
        rows=tuple(Row(numbers[i["sha256"]], i, "" if reason else i["record"]["reason"]) for i in items),
        started=min(record["started"] for record in records),
        ended=max(record["ended"] for record in records),
        expires=(min(record["expires"] for record in records), max(record["expires"] for record in records)),
    )


def _common(records: Iterable[Mapping[str, Any]], name: str) -> str:
    """Return the text that all records share, exactly or apart from the name of the node; empty if they differ."""
    pairs = [(record[name], record["target"]) for record in records]
    exact = {text for text, _ in pairs}
    if len(exact) > 1:
        exact = {_general(text, target) for text, target in pairs}
    return str(exact.pop()) if len(exact) == 1 else ""


def _general(text: str, target: str) -> str:
    """Return a text in which `{node}` replaces the name of the node of the target."""
    node = target.partition("/")[0]
    return text if node == "site" else re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", _NODE, text)
