"""Verifies the metadata of media with python-tuf, from a root whose digest is trusted.

    verified = open_bundle([Medium(path)], root_sha256=digest, memory=folder)
    verified.manifest.files

TUF detects too few signatures, rollback (with `memory`), freeze (expired metadata), mixed versions, and altered files.
Sequence, audience and clock are checks of the caller, because TUF has no memory before the first import.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tuf.api import exceptions
from tuf.api.metadata import Metadata
from tuf.ngclient import Updater, UpdaterConfig
from tuf.ngclient.fetcher import FetcherInterface

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import SovctlError

from . import manifest as manifests
from . import root as roots
from .manifest import Manifest
from .medium import Medium
from .store import TIMESTAMP

_URL = "medium:/"
_CONFIG = UpdaterConfig(prefix_targets_with_hash=False, targets_max_length=64 << 20)  # names of chunks are digests


class Refused(SovctlError):
    """The bundle or a medium is not accepted."""


# python-tuf exception: reason, hint. The first matching row counts.
_REASONS: tuple[tuple[type[Exception], str, str], ...] = (
    (
        exceptions.BadVersionNumberError,
        "rollback: older than a bundle that was accepted, or metadata of different bundles",
        "use the newest media",
    ),
    (exceptions.ExpiredMetadataError, "the signatures have expired", "build the bundle again"),
    (exceptions.UnsignedMetadataError, "too few valid signatures", "check the holders: sovctl bundle root show"),
    (exceptions.LengthOrHashMismatchError, "metadata was altered, or is of another bundle", "write the medium again"),
    (exceptions.DownloadHTTPError, "metadata is missing", "write the medium again"),
    (exceptions.DownloadLengthMismatchError, "metadata is larger than allowed", "write the medium again"),
    (Exception, "invalid metadata", "write the medium again"),
)


@dataclass(frozen=True)
class Verified:
    """A bundle whose metadata and manifest are verified. Its chunks are not.

    Args:
        root_sha256: digest of the newest root that the bundle has.
        targets_sha256: SHA-256 of the signed targets; identifies the bundle.
        signers: holders whose signatures of targets are valid.
    """

    manifest: Manifest
    root_version: int
    root_sha256: str
    targets_sha256: str
    expires: datetime
    signers: tuple[str, ...]

    @property
    def id(self) -> str:
        """Name of the bundle: sequence, and the start of its digest."""
        return f"{self.manifest.sequence}-{self.targets_sha256[:12]}"


def open_bundle(media: Sequence[Medium], *, root_sha256: str, memory: Path) -> Verified:
    """Verify the metadata of media.

    Args:
        media: at least one, of one bundle.
        root_sha256: digest of a trusted root version, from a second channel or the ledger.
        memory: folder in which python-tuf keeps accepted versions; created if absent.

    Raises:
        Refused: no trusted root, invalid, expired or older metadata, or media of different bundles.
        InputError: the manifest or a root is invalid.
    """
    first = media[0]
    where = str(first.root)
    for other in media[1:]:
        if other.read(TIMESTAMP, 1 << 20) != first.read(TIMESTAMP, 1 << 20):
            raise Refused(
                f"media of different bundles: {first.root} and {other.root}", hint="import one bundle at a time"
            )
    memory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        updater = Updater(
            str(memory),
            f"{_URL}metadata/",
            None,
            _URL,
            _Fetcher(first),
            _CONFIG,
            bootstrap=_trusted_root(first, root_sha256),
        )
        updater.refresh()
        info = updater.get_targetinfo(manifests.NAME)
        data = first.read(manifests.NAME, manifests.MAX_BYTES)
        if info is None or data is None:
            raise Refused("the manifest is missing", where=where, hint="write the medium again")
        info.verify_length_and_hashes(data)
    except (exceptions.RepositoryError, exceptions.DownloadError, ValueError, OSError) as error:
        reason, hint = next((text, hint) for kind, text, hint in _REASONS if isinstance(error, kind))
        raise Refused(f"{reason} ({type(error).__name__})", where=where, hint=hint) from None
    manifest = manifests.decode(data, where=f"{where}/{manifests.NAME}")
    root: Any = Metadata.from_file(str(memory / "root.json"))  # files that python-tuf wrote after verification
    targets: Any = Metadata.from_file(str(memory / "targets.json"))
    _compare(manifest, targets.signed, media)
    payload = targets.signed_bytes  # once: 0.2 s for 16,000 chunks
    result = root.signed.get_verification_result("targets", payload, targets.signatures)
    return Verified(
        manifest=manifest,
        root_version=root.signed.version,
        root_sha256=sha256_hex(root.signed_bytes),
        targets_sha256=sha256_hex(payload),
        expires=targets.signed.expires,
        signers=tuple(sorted(roots.holder_name(root.signed, keyid) for keyid in result.signed)),
    )


def _compare(manifest: Manifest, targets: Any, media: Sequence[Medium]) -> None:
    """Compare the manifest with the signed targets, and the chunks of media with the manifest."""
    if manifest.sequence != targets.version:
        raise Refused(f"the manifest has sequence {manifest.sequence}, the signatures {targets.version}")
    listed = {each.path: each.size for each in manifest.chunks}
    signed = {path: each.length for path, each in targets.targets.items() if path != manifests.NAME}
    if listed != signed:
        raise Refused("chunks of the manifest differ from the signed targets")
    known = {each.sha256 for each in manifest.chunks}
    for medium in media:
        if extra := medium.chunks - known:
            raise Refused(
                f"{len(extra)} chunks that do not belong to the bundle, such as {min(extra)[:16]}",
                where=str(medium.root),
            )


def _trusted_root(medium: Medium, root_sha256: str) -> bytes:
    """Return the root version with the trusted digest."""
    for version in range(1, sum(name.endswith(".root.json") for name in medium.files) + 1):
        data = medium.read(f"metadata/{version}.root.json", roots.MAX_BYTES)
        if data and sha256_hex(roots.parse(data, where=str(medium.root)).signed_bytes) == root_sha256:
            return data
    raise Refused(
        "the medium has no root with the trusted digest",
        where=str(medium.root),
        hint="compare the words on paper with README.txt of the medium",
    )


class _Fetcher(FetcherInterface):  # type: ignore[misc]
    """Reads metadata from a medium."""

    def __init__(self, medium: Medium) -> None:
        self._medium = medium

    def _fetch(self, url: str) -> Iterator[bytes]:
        data = self._medium.read(url.removeprefix(_URL), _CONFIG.targets_max_length)
        if data is None:
            raise exceptions.DownloadHTTPError("not on the medium", 404)
        yield data
