"""Root of trust of bundles: TUF root metadata in a folder, one file for each version (`1.root.json`, `2.root.json`).

    init(folder, Holders(root=..., targets=..., online=...), now=now)     # writes 1.root.json without signatures
    sign(folder, key)                                                     # each holder, on a machine of their own
    rotate(folder, "root", remove="carol", add=vkey_of_dave, now=now)     # writes 2.root.json without signatures

- Root and targets need `THRESHOLD` signatures. Snapshot and timestamp need one, by the key of the builder.
- A version is valid if the thresholds of the version before it and of its own are met. Two of three holders replace the
  third one, because they are holders in both versions (TUF specification 1.0.34, 5.3.4).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Root
from tuf.api.serialization import DeserializationError

from sovctl.compliance.signing import SigningKey
from sovctl.compliance.verify_key import VerifyKey
from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .keys import HOLDER, KeySigner, tuf_key
from .root_words import parse_digest

THRESHOLD = 2
EXPIRES_DAYS = 730
MAX_BYTES = 512_000  # python-tuf 7.0, UpdaterConfig.root_max_length
ROLES = {"root": ("root",), "targets": ("targets",), "online": ("snapshot", "timestamp")}
"""TUF roles by name of a role in `sovctl bundle root`."""
_FILE = re.compile(r"([1-9][0-9]{0,8})\.root\.json")

Holder = tuple[str, VerifyKey]


@dataclass(frozen=True)
class Holders:
    """Holders of the keys of a first root."""

    root: Sequence[Holder]
    targets: Sequence[Holder]
    online: Sequence[Holder]


@dataclass(frozen=True)
class RootState:
    """A version of the root, and its signatures.

    Args:
        sha256: of the signed part, so that signatures do not change it.
        holders: names by role of `ROLES`.
        signed_by: holders whose signatures are valid.
        missing: signatures that are missing for the thresholds of this version and the one before.
    """

    version: int
    sha256: str
    expires: datetime
    holders: dict[str, list[str]]
    signed_by: list[str]
    missing: int


def init(folder: Path, holders: Holders, *, now: datetime, expires_days: int = EXPIRES_DAYS) -> Path:
    """Write the first version, without signatures.

    Raises:
        InputError: a root exists, a role has too few keys, or a key is repeated in a role.
    """
    if versions(folder):
        raise InputError("a root exists", where=str(folder), hint="replace a holder: sovctl bundle root rotate")
    root = Root(version=1, expires=_expiry(now, expires_days), consistent_snapshot=True)
    for name, keys in (("root", holders.root), ("targets", holders.targets), ("online", holders.online)):
        for role in ROLES[name]:
            root.roles[role].threshold = 1 if name == "online" else THRESHOLD
            for holder, key in keys:
                _add(root, role, holder, key)
        _check_enough(root, name)
    return _write(folder, Metadata(root))


def sign(folder: Path, key: SigningKey) -> RootState:
    """Add a signature to the newest version. Idempotent.

    Raises:
        InputError: the key is not a root key of this version or of the one before.
    """
    metadata, before = _newest(folder)
    known = {each for root in (metadata, before) if root for each in root.signed.roles["root"].keyids}
    if key.public.keyid not in known:
        raise InputError(
            "not a key of a root holder", where=str(folder), hint="list the holders: sovctl bundle root show"
        )
    metadata.sign(KeySigner(key), append=True)
    _write(folder, metadata)
    return state(folder)


def rotate(
    folder: Path,
    role: str,
    *,
    remove: str,
    add: Holder,
    now: datetime,
    expires_days: int = EXPIRES_DAYS,
) -> Path:
    """Write the next version, without signatures, with a holder replaced.

    Args:
        role: of `ROLES`.
        remove: name of the holder.

    Raises:
        InputError: unknown holder, the newest version lacks signatures, or a key is repeated in the role.
    """
    root = newest(folder)
    if role not in ROLES:
        raise InputError(f"unknown role {role!r}", where="--role", hint=f"use one of {', '.join(ROLES)}")
    found = [keyid for keyid in root.roles[ROLES[role][0]].keyids if holder_name(root, keyid) == remove]
    if not found:
        raise InputError(f"role {role} has no holder {remove!r}", hint="list the holders: sovctl bundle root show")
    for each in ROLES[role]:
        root.revoke_key(found[0], each)
        _add(root, each, *add)
    root.version += 1
    root.expires = _expiry(now, expires_days)
    return _write(folder, Metadata(root))


def versions(folder: Path) -> list[Path]:
    """Return the files of all versions, oldest first.

    Raises:
        InputError: a version is missing.
    """
    found = {int(match[1]): path for path in folder.glob("*.root.json") if (match := _FILE.fullmatch(path.name))}
    if sorted(found) != list(range(1, len(found) + 1)):
        raise InputError("expected all versions of the root from 1 on", where=str(folder))
    return [found[number] for number in sorted(found)]


def state(folder: Path) -> RootState:
    """Return the newest version and its signatures.

    Raises:
        InputError: no root, or an invalid one.
    """
    metadata, before = _newest(folder)
    root: Root = metadata.signed
    payload, all_roots = metadata.signed_bytes, [each.signed for each in (metadata, before) if each]
    results = [each.get_verification_result("root", payload, metadata.signatures) for each in all_roots]
    return RootState(
        version=root.version,
        sha256=sha256_hex(payload),
        expires=root.expires,
        holders={
            name: sorted(holder_name(root, keyid) for keyid in root.roles[roles[0]].keyids)
            for name, roles in ROLES.items()
        },
        signed_by=sorted(
            {
                holder_name(each, keyid)
                for each in all_roots
                for result in results
                for keyid in result.signed
                if keyid in each.keys
            }
        ),
        missing=max(max(0, result.missing) for result in results),
    )


def newest(folder: Path) -> Root:
    """Return the newest version.

    Raises:
        InputError: no root, or it lacks signatures.
    """
    if missing := state(folder).missing:
        hint = "each holder runs: sovctl bundle root sign"
        raise InputError(f"the newest root lacks {missing} signatures", where=str(folder), hint=hint)
    found: Root = _newest(folder)[0].signed
    return found


def trusted_digest(text: str, *, where: str) -> str:
    """Return the digest of a trusted root: of a folder (its first version), 16 words, or 64 hex digits.

    Raises:
        InputError: none of these.
    """
    folder = Path(text)
    if not folder.is_dir():
        return parse_digest(text, where=where)
    paths = versions(folder)
    if not paths:
        raise InputError("no root", where=text, hint="begin with: sovctl bundle root init")
    return sha256_hex(parse(read_bounded(paths[0], MAX_BYTES), where=str(paths[0])).signed_bytes)


def _newest(folder: Path) -> tuple[Any, Any]:
    """Return the newest version and the one before, None without one."""
    paths = versions(folder)
    if not paths:
        raise InputError("no root", where=str(folder), hint="begin with: sovctl bundle root init")
    loaded = [parse(read_bounded(path, MAX_BYTES), where=str(path)) for path in paths[-2:]]
    return loaded[-1], loaded[0] if len(loaded) == 2 else None


def parse(data: bytes, *, where: str) -> Any:
    """Parse root metadata, a `Metadata[Root]`. Signatures are not verified.

    Raises:
        InputError: not root metadata, or the id of a key is not its digest.
    """
    try:
        metadata = Metadata[Root].from_bytes(data)
        if not isinstance(metadata.signed, Root):
            raise InputError("expected root metadata, got another role", where=where)
        for keyid, key in metadata.signed.keys.items():
            if keyid != sha256_hex(bytes.fromhex(key.keyval["public"])):
                raise InputError("the id of a key is not the SHA-256 of the key", where=where)
    except (DeserializationError, RepositoryError, ValueError, KeyError) as error:
        raise InputError(f"not TUF root metadata ({type(error).__name__})", where=where) from None
    return metadata


def _add(root: Root, role: str, holder: str, key: VerifyKey) -> None:
    if key.keyid in root.roles[role].keyids:
        raise InputError(f"the key of {holder!r} is repeated in role {role}", hint="each holder has a key of their own")
    if holder in {holder_name(root, keyid) for keyid in root.roles[role].keyids}:
        raise InputError(f"two keys of role {role} have the holder {holder!r}")
    root.add_key(tuf_key(holder, key), role)


def _check_enough(root: Root, name: str) -> None:
    role = root.roles[ROLES[name][0]]
    if len(role.keyids) < role.threshold:
        raise InputError(f"role {name}: expected at least {role.threshold} keys, got {len(role.keyids)}")


def holder_name(root: Root, keyid: str) -> str:
    """Return the name of the holder of a key."""
    return str(root.keys[keyid].unrecognized_fields.get(HOLDER, keyid[:16])) if keyid in root.keys else keyid[:16]


def _expiry(now: datetime, days: int) -> datetime:
    return now.replace(microsecond=0) + timedelta(days=days)


def _write(folder: Path, metadata: Any) -> Path:
    path = folder / f"{metadata.signed.version}.root.json"
    write_atomic(path, metadata.to_bytes())
    return path
