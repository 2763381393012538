"""A medium with a bundle, read without trust: only regular files with expected names, and no links.

medium = Medium(Path("/media/stick1"))       # InputError for an unexpected name, a link or a device
medium.read("metadata/timestamp.json", 16384)
medium.chunks                                # SHA-256 of the chunks that it has; their content is not verified
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from .build import open_regular

README, CHUNK_LIST = "README.txt", "chunks.txt"
_FILES = re.compile(
    r"README\.txt|chunks\.txt|manifest\.json"
    r"|metadata/(timestamp|[1-9][0-9]{0,9}\.(root|targets|snapshot))\.json"
    r"|chunks/(?P<folder>[0-9a-f]{2})/(?P<sha256>(?P=folder)[0-9a-f]{62})"
)
_FOLDERS = re.compile(r"metadata|chunks(/[0-9a-f]{2})?")
_MAX_ENTRIES = 100_000  # 6 TB in chunks of 64 MiB


class Medium:
    """A medium whose names are checked.

    Args:
        root: folder of the medium.

    Raises:
        InputError: not a folder, or an unexpected entry.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.is_dir():
            raise InputError("not a folder", where=str(root), hint="mount the medium, then give its folder")
        names = list(self._walk(""))
        self.files = frozenset(names)
        self.chunks = frozenset(
            match["sha256"] for name in names if (match := _FILES.fullmatch(name)) and match["sha256"]
        )

    def _walk(self, folder: str) -> Iterator[str]:
        count = 0
        with os.scandir(self.root / folder) as entries:
            for entry in entries:
                count += 1
                name = f"{folder}{entry.name}"
                mode = entry.stat(follow_symlinks=False).st_mode
                if count > _MAX_ENTRIES:
                    raise InputError(f"more than {_MAX_ENTRIES} entries", where=str(self.root / folder))
                if stat.S_ISDIR(mode) and _FOLDERS.fullmatch(name):
                    yield from self._walk(f"{name}/")
                elif stat.S_ISREG(mode) and _FILES.fullmatch(name):
                    yield name
                else:
                    raise self._unexpected(name, mode)

    def _unexpected(self, name: str, mode: int) -> InputError:
        kinds = ((stat.S_ISLNK, "symbolic link"), (stat.S_ISDIR, "folder"), (stat.S_ISREG, "file"))
        kind = next((text for test, text in kinds if test(mode)), "device or special file")
        return InputError(
            f"unexpected {kind} on the medium: {name[:80]!r}",
            where=str(self.root),
            hint="a medium contains nothing but the bundle; write it again: sovctl bundle media",
        )

    def read(self, name: str, limit_bytes: int) -> bytes | None:
        """Return a small file; None if absent.

        Raises:
            InputError: larger than `limit_bytes`.
        """
        return read_bounded(self.root / name, limit_bytes) if name in self.files else None

    def open_chunk(self, sha256: str) -> Any:
        """Open a chunk for unbuffered reading. Its content is not verified."""
        return open_regular(self.root / "chunks" / sha256[:2] / sha256)
