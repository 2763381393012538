"""Writes and signs the TUF metadata of a store: targets by the holders, snapshot and timestamp by the builder.

    write_targets(store, manifest, root_versions, now=now)
    sign(store, [key_of_anna])            # SignatureState(missing=1, ...)
    sign(store, [key_of_ben, builder])    # writes snapshot and timestamp

Versions of targets, snapshot and timestamp equal the sequence of the bundle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tuf.api.metadata import Metadata, MetaFile, Snapshot, TargetFile, Targets, Timestamp

from sovctl.compliance.signing import SigningKey
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from . import manifest, root
from .keys import KeySigner
from .manifest import Manifest
from .store import TIMESTAMP, Store

EXPIRES_DAYS = 180  # a medium can be in transit for weeks


@dataclass(frozen=True)
class SignatureState:
    """Missing signatures of a bundle."""

    targets_missing: int
    online_missing: bool

    @property
    def is_complete(self) -> bool:
        """Whether media can be written."""
        return not self.targets_missing and not self.online_missing


def write_targets(
    store: Store, content: Manifest, trust: Path, *, now: datetime, expires_days: int = EXPIRES_DAYS
) -> None:
    """Write manifest, root versions and targets without signatures. Earlier metadata is removed.

    Args:
        trust: folder with the versions of the root.
    """
    data = content.encode()
    found = {each.path: TargetFile(each.size, {"sha256": each.sha256}, each.path) for each in content.chunks}
    found[manifest.NAME] = TargetFile(len(data), {"sha256": sha256_hex(data)}, manifest.NAME)
    targets = Targets(version=content.sequence, expires=_expiry(now, expires_days), targets=found)
    (store.root / TIMESTAMP).unlink(missing_ok=True)  # first, so that an interrupted build is never complete
    for path in store.metadata.glob("*.json"):
        path.unlink()
    for path in root.versions(trust):
        write_atomic(store.metadata / path.name, path.read_bytes())
    write_atomic(store.manifest_file, data)
    _write(store, "targets", Metadata(targets))


def sign(store: Store, keys: Sequence[SigningKey]) -> SignatureState:
    """Add signatures to targets; if these suffice and a key of the builder is given, sign snapshot and timestamp.

    Raises:
        InputError: a key belongs to no role, or the store has no bundle.
    """
    trusted = root.newest(store.metadata)
    members = {role: set(trusted.roles[role].keyids) for role in ("targets", "snapshot", "timestamp")}
    for key in keys:
        if not any(key.public.keyid in each for each in members.values()):
            raise InputError(
                f"key {key.public.keyid[:16]} is not a key of targets or of the builder",
                where=str(store.root),
                hint="list the holders: sovctl bundle root show",
            )
    sequence = store.sequence()
    path = store.metadata / f"{sequence}.targets.json"
    if not path.exists():
        raise InputError("no bundle", where=str(store.root), hint="build one: sovctl bundle build")
    targets: Any = Metadata[Targets].from_file(str(path))
    added = [key for key in keys if key.public.keyid in members["targets"] - targets.signatures.keys()]
    if added:
        (store.root / TIMESTAMP).unlink(missing_ok=True)  # the snapshot contains the digest of targets
        for key in added:
            targets.sign(KeySigner(key), append=True)
        _write(store, "targets", targets)
    result = trusted.get_verification_result("targets", targets.signed_bytes, targets.signatures)
    online = [key for key in keys if key.public.keyid in members["snapshot"] & members["timestamp"]]
    if result.verified and online and not store.is_signed():
        _write_online(store, sequence, targets.signed.expires, online)
    return SignatureState(max(0, result.missing), online_missing=not store.is_signed())


def _write_online(store: Store, version: int, expires: datetime, keys: Sequence[SigningKey]) -> None:
    snapshot: Any = Metadata(
        Snapshot(
            version=version, expires=expires, meta={"targets.json": _meta(store, f"{version}.targets.json", version)}
        )
    )
    _sign_and_write(store, "snapshot", snapshot, keys)
    timestamp: Any = Metadata(
        Timestamp(version=version, expires=expires, snapshot_meta=_meta(store, f"{version}.snapshot.json", version))
    )
    _sign_and_write(store, "timestamp", timestamp, keys)


def _meta(store: Store, name: str, version: int) -> MetaFile:
    data = (store.metadata / name).read_bytes()
    return MetaFile(version, len(data), {"sha256": sha256_hex(data)})  # python-tuf limits undeclared targets to 5 MB


def _sign_and_write(store: Store, role: str, metadata: Any, keys: Sequence[SigningKey]) -> None:
    for key in keys:
        metadata.sign(KeySigner(key), append=True)
    _write(store, role, metadata)


def _write(store: Store, role: str, metadata: Any) -> None:
    name = "timestamp.json" if role == "timestamp" else f"{metadata.signed.version}.{role}.json"
    write_atomic(store.metadata / name, metadata.to_bytes())


def _expiry(now: datetime, days: int) -> datetime:
    return now.replace(microsecond=0) + timedelta(days=days)
