"""Certificates of nodes from the evidence of a run, and their end when a part changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sovctl.compliance.evidence.runs import read_raw
from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.compliance.signing import load_or_create
from sovctl.support.errors import InputError

from ...facts.inventory import Inventory
from ...facts.unreadable import Unreadable
from ...lifecycle import certificate_store
from ...lifecycle.evidence import node_of
from ...lifecycle.node_certificate import certificate, changed_parts, inventory_of, signed_by
from ...spec import SiteSpec
from ..model.fleet_check import SOURCE
from ..model.result import output_of
from ..probes import inventory


@dataclass(frozen=True)
class Issuer:
    """Issues certificates of a site.

    Args:
        root: state folder.
        gpu_nodes: nodes with GPUs.
    """

    spec: SiteSpec
    root: Path
    gpu_nodes: frozenset[str]

    def prepare(self, nodes: Sequence[str], run: str, stored: Sequence[StoredEvidence]) -> dict[str, dict[str, Any]]:
        """Return the signed certificate of each node, without storing it.

        Raises:
            InputError: the run has no complete inventory of a node.
        """
        parts = self.inventories(stored)
        if missing := [node for node in nodes if node not in parts]:
            raise InputError(
                f"expected a result of {SOURCE} of {missing[0]}, got none", where=f"run {run}", hint="sovctl verify"
            )
        platforms = {node.name: group.platform for group, node in self.spec.nodes()}
        key, now = load_or_create(self.root / "keys" / "ledger.key"), datetime.now(UTC)
        return {
            node: signed_by(
                certificate(
                    site=self.spec.site.name,
                    node=node,
                    platform=platforms[node],
                    level=self.spec.lifecycle.certification,
                    run=run,
                    inventory=parts[node],
                    evidence=[each.evidence for each in stored if node_of(each.evidence) == node],
                    now=now,
                    valid=timedelta(days=self.spec.lifecycle.certificate_days),
                    waivers=self.spec.verify.waivers,
                ),
                key,
            )
            for node in nodes
        }

    def store(self, certificates: Mapping[str, dict[str, Any]]) -> list[Path]:
        """Store certificates, and return their files."""
        return [certificate_store.save(self.root, node, signed) for node, signed in certificates.items()]

    def void_changed(self, run: str, stored: Iterable[StoredEvidence]) -> dict[str, list[str]]:
        """Void the certificates of nodes whose parts changed, and return the changes by node."""
        found: dict[str, list[str]] = {}
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for node, present in self.inventories(stored).items():
            path = self.root / certificate_store.FOLDER / f"{node}.json"
            if not path.exists():
                continue
            try:
                certified = inventory_of(certificate_store.read(path)["certificate"])
            except InputError:
                continue  # a damaged certificate is not valid: `problems_of` names the cause
            if changes := list(changed_parts(certified, present)):
                certificate_store.void(self.root, node, time=now, run=run, changes=changes)
                found[node] = changes
        return found

    def inventories(self, stored: Iterable[StoredEvidence]) -> dict[str, Inventory]:
        """Return the complete inventories of a run by node."""
        found: dict[str, Inventory] = {}
        for each in stored:
            record = each.evidence
            if record.check_id == SOURCE and not record.verdict.blocks:
                output = output_of(read_raw(self.root / "evidence", record.raw_sha256))
                try:
                    found[record.target] = inventory.inventory_of(output, has_gpus=record.target in self.gpu_nodes)
                except Unreadable:
                    continue
        return found


def issuer_of(spec: SiteSpec, root: Path, platforms: Mapping[str, Any]) -> Issuer:
    """Return the issuer of a site.

    Args:
        platforms: of the catalogue, by name.
    """
    gpu_nodes = frozenset(node.name for group, node in spec.nodes() if platforms[group.platform].has_gpus)
    return Issuer(spec, root, gpu_nodes)
