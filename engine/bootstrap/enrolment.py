"""Enrolment of a node: its host key enters `access.known_hosts_file` if it has the fingerprint that a person read.

- The fingerprint comes from the node's console or its management controller, not from the network. The key itself comes
  from the network, because a fingerprint is its SHA-256 only.
- A node whose key is already in the file keeps it. Another key is refused, unless the caller names the fingerprint of
  the key to replace.
- The ledger gets the record before the file is written.
- The first key that a node offers is refused, unless its fingerprint was read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError, SovctlError
from sovctl.support.operator_name import operator_name

from ..site.site import Site
from ..spec import Access, Node
from . import known_hosts
from .host_key import HostKey, checked_fingerprint, offered_keys
from .ledger import record

RECORD_TYPE = "host-key-enrolled"
_WITNESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{1,63}")


@dataclass(frozen=True)
class Reading:
    """A fingerprint, with the way in which it reached the controller.

    Args:
        fingerprint: of the host key.
        read_at: `console`, `bmc`, `seed` for a key that the controller made, or `export` of another manager.
        witness: account or role of the second person who compared it; None for a key that the controller made.
    """

    fingerprint: str
    read_at: str
    witness: str | None


@dataclass(frozen=True)
class Enrolled:
    """Result of an enrolment.

    Args:
        is_new: False if the key was already in the file.
        replaced: fingerprint of the replaced key.
    """

    node: str
    address: str
    key: HostKey
    is_new: bool
    replaced: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "node": self.node,
            "address": self.address,
            "key_type": self.key.kind,
            "fingerprint": self.key.fingerprint,
            "is_new": self.is_new,
            "replaced": self.replaced,
        }


def node_of(site: Site, name: str) -> Node:
    """Return a node of site.yaml.

    Raises:
        InputError: unknown node.
    """
    try:
        return site.spec.node(name)
    except KeyError:
        names = ", ".join(node.name for _, node in site.spec.nodes())
        raise InputError(f"no node {name!r} in site.yaml", where="NODE", hint=f"nodes: {names}") from None


def checked_witness(name: str) -> str:
    """Return the account or role of a witness.

    Raises:
        InputError: not a name, or the operator's own.
    """
    if not _WITNESS.fullmatch(name):
        hint = "use an account or a role, such as anna or security-officer"
        raise InputError("expected 2 to 64 letters, digits and . _ @ -", where="--witness", hint=hint)
    if name.casefold() == operator_name().casefold():
        hint = "name the second person who compared the fingerprint"
        raise InputError("the witness is the operator of this command", where="--witness", hint=hint)
    return name


def enrol(site: Site, node: Node, reading: Reading, *, replaces: str | None = None) -> Enrolled:
    """Write the host key of a node into the file of host keys, and a record into the ledger.

    The caller holds the site's lock. Idempotent for a key that is already in the file.

    Args:
        replaces: fingerprint of the key to replace.

    Raises:
        InputError: invalid fingerprint or witness.
        NodeUnreachable: the node offers no key.
        SovctlError: the node offers another key, or has another one in the file.
    """
    wanted = checked_fingerprint(reading.fingerprint, where="--fingerprint")
    witness = None if reading.witness is None else checked_witness(reading.witness)
    access, path = site.spec.access, _file(site)
    pattern = known_hosts.host_pattern(str(node.address), access.port)
    entries = known_hosts.entries_of(path, pattern)
    if present := [entry for entry in entries if entry.key.fingerprint == wanted]:
        if any(entry.marker for entry in present):
            raise SovctlError(f"the host key of {node.name} is revoked", where=f"{path}:{present[0].number}")
        return Enrolled(node.name, str(node.address), present[0].key, is_new=False, replaced=None)
    old = tuple(entry for entry in entries if not entry.marker)
    if replaces is not None:
        replaces = checked_fingerprint(replaces, where="--replaces")
    _check_replaced(node, path, old, replaces)
    key = _matching(node, access, wanted)
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    record(
        site, RECORD_TYPE, node=node.name, address=str(node.address), port=access.port, key_type=key.kind,
        fingerprint=wanted, read_at=reading.read_at, witness=witness,
        replaced=[entry.key.fingerprint for entry in old],
    )  # fmt: skip
    origin = f"{node.name} enrolled={now} by={operator_name()}"
    origin += f" witness={witness}" if witness else ""
    known_hosts.add(path, pattern, key, origin=f"{origin} read-at={reading.read_at}", without=old)
    return Enrolled(node.name, str(node.address), key, is_new=True, replaced=replaces)


def _file(site: Site) -> Path:
    return site.folder / site.spec.access.known_hosts_file


def _check_replaced(node: Node, path: Path, old: Sequence[known_hosts.Entry], replaces: str | None) -> None:
    """Raise if the file has another key of the node, and the caller did not name exactly that key."""
    present = {entry.key.fingerprint for entry in old}
    if replaces is not None and replaces not in present:
        raise InputError(f"{node.name} has no host key with this fingerprint", where=f"--replaces: {path}")
    if present and replaces is None:
        raise SovctlError(
            f"{node.name} has another host key: {', '.join(sorted(present))}",
            where=str(path),
            hint="find the reason first; for a reinstalled node: --replaces FINGERPRINT",
        )


def _matching(node: Node, access: Access, wanted: str) -> HostKey:
    offered = offered_keys(str(node.address), access.port, timeout_s=access.connect_timeout_s)
    for key in offered:
        if key.fingerprint == wanted:
            return key
    raise SovctlError(
        f"{node.name} offers other host keys: " + ", ".join(f"{key.fingerprint} ({key.kind})" for key in offered),
        where=str(node.address),
        hint="read the fingerprint again on the console; if it is the same, another machine answers at this address",
    )
