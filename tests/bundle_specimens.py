"""A builder with holders, files and a lock, for tests of bundles. Contents are random bytes of a fixed seed."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.engine.bundle import root, signing
from sovctl.engine.bundle.build import Request, build
from sovctl.engine.bundle.lock_file import read_lock
from sovctl.engine.bundle.manifest import Manifest
from sovctl.engine.bundle.store import Store
from sovctl.support.canonical_json import sha256_hex

SITE = "example-bank"
CHUNK_BYTES = 1 << 16
TARGETS, BUILDER = ("anna", "ben"), "builder"


def specimen_files(*, seed: int = 1) -> dict[str, bytes]:
    """Files of several chunks: a large one, a copy of it, an empty one, and small ones."""
    source = random.Random(seed)
    large = source.randbytes(3 * CHUNK_BYTES + 17)
    found = {"models/echo/data.dat": large, "models/copy/data.dat": large, "apt/empty.deb": b""}
    return found | {f"apt/package-{number}_1.0_amd64.deb": source.randbytes(9000 + number) for number in range(20)}


class Builder:
    """The machine outside of the site.

    Args:
        now: time of the ceremony and of builds.
    """

    def __init__(self, folder: Path, *, now: datetime | None = None) -> None:
        self.folder, self.trust, self.mirror = folder, folder / "trust", folder / "mirror"
        self.now = now or datetime.now(UTC)
        self.keys: dict[str, SigningKey] = {}
        self.ceremony()

    def key(self, name: str) -> SigningKey:
        """The key of a holder; created on demand."""
        if name not in self.keys:
            self.keys[name] = load_or_create(self.folder / "keys" / f"{name}.key")
        return self.keys[name]

    def holder(self, name: str) -> root.Holder:
        """Name and public key of a holder."""
        return name, self.key(name).public

    def ceremony(self) -> None:
        """Write the first root, signed by two of three holders."""
        holders = root.Holders(
            root=[self.holder(each) for each in ("anna", "ben", "carol")],
            targets=[self.holder(each) for each in TARGETS],
            online=[self.holder(BUILDER)],
        )
        root.init(self.trust, holders, now=self.now)
        for name in TARGETS:
            root.sign(self.trust, self.key(name))

    @property
    def root_sha256(self) -> str:
        """Digest of the first root."""
        return root.trusted_digest(str(self.trust), where="test")

    def lock(self, files: Mapping[str, bytes]) -> Path:
        """Write files and their lock."""
        entries = []
        for path, content in files.items():
            target = self.mirror / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            kind = "model" if path.startswith("models/") else "wheel" if path.endswith(".whl") else "deb"
            entries.append({"path": path, "size": len(content), "sha256": sha256_hex(content), "kind": kind})
        lock = self.folder / "lock.json"
        lock.write_text(json.dumps({"files": entries}))
        return lock

    def build(
        self,
        files: Mapping[str, bytes],
        *,
        lock: Path | None = None,
        to: Path | None = None,
        signers: Sequence[str] = (*TARGETS, BUILDER),
        site: str = SITE,
        at_site: Collection[str] = (),
        sequence: int | None = None,
        now: datetime | None = None,
        expires_days: int = signing.EXPIRES_DAYS,
    ) -> tuple[Store, Manifest]:
        """Build and sign a store, by default with a list of the files as its lock."""
        locked, digest = read_lock(lock or self.lock(files))
        store = Store(to or self.folder / "store")
        request = Request(
            files=self.mirror,
            locked=locked,
            lock_sha256=digest,
            trust=self.trust,
            site=site,
            at_site=frozenset(at_site),
            sequence=sequence,
            chunk_bytes=CHUNK_BYTES,
            expires_days=expires_days,
        )
        manifest = build(store, request, now=now or self.now)
        signing.sign(store, [self.key(name) for name in signers])
        return store, manifest


def long_ago(days: int) -> datetime:
    """A time in the past."""
    return datetime.now(UTC) - timedelta(days=days)
