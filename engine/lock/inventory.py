"""Inventory of the nodes of a closed site: the status that a lock is computed from, as one signed JSON document.

    document = read_inventory(Path("inventory.json"), key)     # refuses an unsigned or altered file
    document.nodes[0].glibc                                    # "2.36"
    document.bases[document.nodes[0].base].status              # stanzas of dpkg's status, or lines of rpm

- Nodes with the same package status share one base.
- Serial numbers, addresses, users and configuration files are not part of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from sovctl.compliance.signing import BadSignature, SigningKey, VerifyKey, sign_document, verify_document
from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import canonical_json, digest
from sovctl.support.errors import InputError

LIMIT_BYTES = 256 << 20
"""Largest inventory that `read_inventory` reads, bytes. One base of Debian 12 with 400 packages has 0.3 MB."""


@dataclass(frozen=True)
class PackageBase:
    """Package status of one or more nodes.

    Args:
        status: stanzas of dpkg's status with the fields of `collect.STATUS_FIELDS`, or lines of `RPM_PACKAGES`.
        preferences: apt preferences by path; a solver without them selects other versions.
    """

    manager: Literal["apt", "dnf"]
    status: str
    preferences: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest that names the base."""
        return digest(asdict(self))


@dataclass(frozen=True)
class PciDevice:
    """PCI devices of one type. Ids are four lower-case hex digits; `pci_class` is six."""

    pci_class: str
    vendor: str
    device: str
    count: int


@dataclass(frozen=True)
class Firmware:
    """Firmware of a part; None if the part does not state it."""

    part: str
    model: str | None
    version: str | None


@dataclass(frozen=True)
class NodeStatus:
    """Status of one node. A value that was not measured is None, and a lock that needs it is refused.

    Args:
        name: node of site.yaml, or its pseudonym `node-N`, the N-th node of site.yaml.
        system: `id`, `version`, `title`, `kernel`, `architecture`, and `dgx_release` on DGX OS.
        kernels: releases of all installed kernels, sorted.
        glibc, python: `2.36`, `3.11.2`.
        repositories: URIs of enabled package sources, without credentials.
        base: digest of its package status in `SiteInventory.bases`.
    """

    name: str
    system: Mapping[str, str]
    virtualization: str
    simulated: bool
    kernels: tuple[str, ...] | None
    glibc: str | None
    python: str | None
    repositories: tuple[str, ...]
    devices: tuple[PciDevice, ...] | None
    firmware: tuple[Firmware, ...] | None
    base: str


@dataclass(frozen=True)
class SiteInventory:
    """Status of the nodes of a site.

    Args:
        collected: time of the last measurement, RFC 3339, UTC.
        not_measured: reason by node that did not answer.
    """

    site: str
    collected: str
    nodes: tuple[NodeStatus, ...]
    bases: Mapping[str, PackageBase]
    not_measured: Mapping[str, str] = field(default_factory=dict)
    has_pseudonyms: bool = False
    format: Literal["sovctl-inventory/1"] = "sovctl-inventory/1"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(json.loads(json.dumps(asdict(self))))

    @property
    def sha256(self) -> str:
        """Digest of the canonical JSON."""
        return digest(self.as_json())


_ADAPTER = TypeAdapter(SiteInventory)


def parse_inventory(value: Any, *, where: str) -> SiteInventory:
    """Return the inventory of plain values.

    Raises:
        InputError: another format, or a node refers to an absent or altered base.
    """
    try:
        found = _ADAPTER.validate_python(value, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        field_name = ".".join(str(each) for each in first["loc"]) or "(document)"
        raise InputError(f"not an inventory: {first['msg'].lower()}", where=f"{where}: {field_name}") from None
    for name, base in found.bases.items():
        if base.sha256 != name:
            raise InputError("the package status differs from its digest", where=f"{where}: bases.{name[:16]}")
    if absent := {node.base for node in found.nodes} - found.bases.keys():
        raise InputError(f"no package status {min(absent)[:16]}", where=f"{where}: bases")
    return found


def save(inventory: SiteInventory, path: Path) -> None:
    """Write an unsigned inventory, readable by the owner only."""
    write_atomic(path, canonical_json(inventory.as_json()), mode=0o600)


def load(path: Path) -> SiteInventory:
    """Return the inventory that `save` wrote.

    Raises:
        InputError: absent or another format.
    """
    return parse_inventory(_json(path, hint="run `sovctl inventory collect` first"), where=str(path))


def write_signed(inventory: SiteInventory, path: Path, key: SigningKey) -> None:
    """Write an inventory with its signature, as canonical JSON. Equal inventories have equal bytes."""
    content = inventory.as_json()
    document = {"inventory": content, "signature": sign_document(content, key)}
    write_atomic(path, canonical_json(document) + b"\n", mode=0o600)


def read_inventory(path: Path, key: VerifyKey) -> SiteInventory:
    """Return the inventory of a signed file.

    Raises:
        InputError: absent, unsigned, altered, signed by another key, or another format.
    """
    document = _json(path, hint="write it with `sovctl inventory export`")
    is_signed = isinstance(document, dict) and document.keys() == {"inventory", "signature"}
    if not is_signed or not isinstance(document["signature"], dict):
        raise InputError("the inventory is not signed", where=str(path), hint="sovctl inventory export --sign KEY")
    try:
        verify_document(document["inventory"], document["signature"], key)
    except BadSignature as error:
        hint = "export it again at the site, or pass the site's key with --inventory-key"
        raise InputError(
            f"the inventory was altered, or another key signed it: {error}", where=str(path), hint=hint
        ) from None
    return parse_inventory(document["inventory"], where=str(path))


def _json(path: Path, *, hint: str) -> Any:
    try:
        return json.loads(read_bounded(path, LIMIT_BYTES))
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), hint=hint) from None
    except (ValueError, RecursionError):
        raise InputError("not JSON, or too large", where=str(path), hint=hint) from None
