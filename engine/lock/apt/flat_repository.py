"""Flat apt repository in a private folder, with an index that sovctl wrote: own files, kept versions, a part's files.

The source is marked as trusted, because its index is a local file whose content sovctl checked before.
"""

from __future__ import annotations

from pathlib import Path


def add(folder: Path, index: str) -> str:
    """Write the index of a flat repository, and return its source in the one-line format.

    Args:
        folder: of the packages; absent files matter only to a download.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Packages").write_text(index, errors="surrogateescape")
    return f"deb [trusted=yes] file:{folder.resolve()} ./\n"
