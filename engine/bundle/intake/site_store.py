"""Folder of imported bundles at a site.

STORE/
  tuf/              versions that python-tuf accepted
  incoming/ID/      quarantine of a bundle: manifest.json, chunks.done, files/SHA256
  content/aa/       published contents, by SHA-256
  snapshots/ID/     published files; hard links to contents, read-only
  current           link to the newest snapshot
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .. import manifest as manifests
from ..manifest import Manifest


class SiteStore:
    """Paths of a site's store.

    Args:
        root: folder; created if absent.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.memory = root / "tuf"
        self.snapshots = root / "snapshots"
        self.current = root / "current"

    def prepare(self) -> None:
        """Create the folder."""
        self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
        (self.root / "incoming").mkdir(mode=0o700, exist_ok=True)

    def quarantine(self, bundle: str) -> Quarantine:
        """Return the quarantine of a bundle."""
        return Quarantine(self.root / "incoming" / bundle)

    def content(self, sha256: str) -> Path:
        """Return the path of a published content."""
        return self.root / "content" / sha256[:2] / sha256

    def published_contents(self) -> set[str]:
        """Return the SHA-256 of all published contents."""
        return {path.name for path in (self.root / "content").glob("[0-9a-f][0-9a-f]/*") if len(path.name) == 64}


class Quarantine:
    """Bytes of a bundle before it is published.

    Args:
        root: folder; created by `begin`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._manifest = root / manifests.NAME
        self._done = root / "chunks.done"

    def begin(self, manifest: Manifest) -> None:
        """Create the folder with mode 0700. Idempotent."""
        (self.root / "files").mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._manifest.exists():
            write_atomic(self._manifest, manifest.encode(), mode=0o600)

    def manifest(self, sha256: str) -> Manifest:
        """Return the manifest.

        Args:
            sha256: of the manifest in the ledger.

        Raises:
            InputError: absent, or altered.
        """
        try:
            data = read_bounded(self._manifest, manifests.MAX_BYTES)
        except FileNotFoundError:
            data = b""
        if sha256_hex(data) != sha256:
            raise InputError(
                "the quarantine was altered or removed", where=str(self.root), hint="import the media again"
            )
        return manifests.decode(data, where=str(self._manifest))

    def file(self, sha256: str) -> Path:
        """Return the path of a content."""
        return self.root / "files" / sha256

    def chunks_done(self) -> set[str]:
        """Return the chunks whose bytes are in the files. An incomplete last line counts as absent."""
        text = ""
        with contextlib.suppress(FileNotFoundError):
            text = self._done.read_text()
        return {line for line in text.split("\n")[:-1] if len(line) == 64}

    def add_done(self, sha256: str) -> None:
        """Record that a chunk is complete. Not synced, because contents are compared with their SHA-256 later."""
        with self._done.open("a") as file:
            file.write(f"{sha256}\n")

    def forget(self, chunks: set[str]) -> None:
        """Record that chunks are needed again."""
        write_atomic(self._done, "".join(f"{each}\n" for each in sorted(self.chunks_done() - chunks)), mode=0o600)

    def remove(self) -> None:
        """Remove all bytes. Idempotent."""
        shutil.rmtree(self.root, ignore_errors=True)
