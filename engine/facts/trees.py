"""Parser of the JSON document of `trees_probe.py compare` and `verify`: folders compared with their manifests."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .unreadable import MALFORMED, Unreadable


@dataclass(frozen=True, slots=True)
class TreeState:
    """A folder, compared with its manifest.

    Args:
        root: real path of the folder, after links.
        manifest_sha256: None if the manifest is absent or damaged; then nothing was compared.
        entries: number of entries in the manifest.
        changed: differences, `path: what differs`; a further line has the number of those omitted.
    """

    root: str
    manifest_sha256: str | None
    entries: int
    changed: tuple[str, ...]


def parse_trees(text: str) -> dict[str, TreeState]:
    """Return the state of every requested folder, by its path.

    Raises:
        Unreadable: the text is not the document of `trees_probe.py`.
    """
    try:
        return {path: _state(**value) for path, value in json.loads(text).items()}
    except MALFORMED:
        raise Unreadable("a JSON document with folders", text, where="trees_probe.py") from None


def _state(*, root: str, manifest_sha256: str | None, entries: int, changed: list[str], more: int) -> TreeState:
    lines = [*changed, f"and {more} more"] if more else changed
    if not all(isinstance(line, str) for line in (root, *lines)) or not isinstance(entries, int):
        raise TypeError
    if manifest_sha256 is not None and not isinstance(manifest_sha256, str):
        raise TypeError
    return TreeState(root, manifest_sha256, entries, tuple(lines))
