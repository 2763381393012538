"""Retires a removed node on the controller: revokes its certificate, and deletes its key and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.errors import InputError
from sovctl.support.operator_name import operator_name

from ..lifecycle import certificate_store, store
from ..spec import Node
from . import baseline_records, counter_records, members, tree_records
from .site import Site

Append = Callable[[Sequence[Mapping[str, Any]]], object]
"""Appends records to the site's ledger."""


@dataclass(frozen=True)
class Cause:
    """Cause of a retirement.

    Args:
        event: `cleaned` by an apply, or `forgotten` by `sovctl node forget`.
        reason: of the operator, or the run of the apply.
    """

    event: str
    reason: str
    operator: str


def retire(site: Site, node: Node, cause: Cause, append: Append) -> str | None:
    """Retire a node. The ledger record is written before the registry entry is removed, which is last.

    Returns:
        Serial number and last day of the revoked certificate; None without one.
    """
    now, root = datetime.now(UTC), site.state.root
    revoked = site.credentials.authority.revoke(node.name, now=now)
    record = {
        "type": "node-removed",
        "time": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "site": site.spec.site.name,
        "node": node.name,
        "address": str(node.address),
        "event": cause.event,
        "reason": cause.reason,
        "operator": cause.operator,
        "revoked": revoked or "",
    }
    append([record])
    tree_records.drop(site.state.trees, node.name)
    counter_records.drop(site.state.counters, node.name)
    baseline_records.drop(site.state.root, node.name)
    (site.state.facts / f"{node.name}.json").unlink(missing_ok=True)
    certificate_store.drop(root, node.name)
    store.drop(root, node.name)
    members.drop(root, members.load(root, site.state.applied), node.name)
    return revoked


def forget(site: Site, name: str, *, reason: str) -> str | None:
    """Retire a removed node that is gone for good, without access to it. The caller holds the site's lock.

    Raises:
        InputError: the name is not one of a removed node.
    """
    found = {node.name: node for node in site.removed()}
    if name not in found:
        known = ", ".join(found) or "none"
        hint = "a node of site.yaml is removed from site.yaml first, and cleaned by: sovctl apply"
        raise InputError(f"expected a removed node, got {name!r}; removed: {known}", where="NODE", hint=hint)
    cause = Cause("forgotten", reason, operator_name())
    key = load_or_create(site.state.keys / "ledger.key")
    with Ledger.open(site.state.ledger, origin=f"sovctl.{site.spec.site.name}/site", key=key) as ledger:
        return retire(site, found[name], cause, ledger.append)
