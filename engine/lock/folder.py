"""Folder of a lock: written as a whole, and read with all digests verified."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .part import Part, parse_part

FORMAT = "sovctl-lock/1"
INDEX, REPORT = "lock.json", "lock-report.txt"
LIMIT_BYTES = 256 << 20


@dataclass(frozen=True)
class Lock:
    """A whole lock.

    Args:
        inputs: digests of site.yaml, inventory and driver lock.
        accepted: licences that persons accepted.
        parts: sorted by id.
    """

    site: str
    inputs: Mapping[str, str]
    accepted: tuple[Mapping[str, str], ...]
    parts: tuple[Part, ...]

    def part(self, name: str) -> Part | None:
        """Return the part with an id; None if it is absent."""
        return next((each for each in self.parts if each.id == name), None)

    def index(self) -> str:
        """Return the content of `lock.json`."""
        parts = {
            each.id: {"sha256": sha256_hex(each.text())} | ({"index_sha256": _digest(each.index)} if each.index else {})
            for each in self.parts
        }
        content = {
            "format": FORMAT,
            "site": self.site,
            "inputs": dict(self.inputs),
            "accepted_licences": [dict(each) for each in self.accepted],
            "parts": parts,
        }
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def texts(self) -> dict[str, str]:
        """Return the content of each file of the folder by its name, `lock.json` last, without the report."""
        found = {}
        for part in self.parts:
            found[f"{part.id}.json"] = part.text()
            if part.index:
                found[f"{part.id}.Packages"] = part.index
        return found | {INDEX: self.index()}

    @property
    def sha256(self) -> str:
        """Digest of `lock.json`, which binds all parts."""
        return sha256_hex(self.index())


def write_lock(lock: Lock, folder: Path, report: str) -> None:
    """Write a lock. `lock.json` is written last; files of parts that the lock no longer has are removed."""
    write_atomic(folder / REPORT, report)
    texts = lock.texts()
    for name, text in texts.items():
        write_atomic(folder / name, text.encode(errors="surrogateescape"))
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".Packages") and path.name not in texts:
            path.unlink()


def read_lock(folder: Path) -> Lock:
    """Return a lock.

    Raises:
        InputError: a file is absent, altered, or has another format.
    """
    where = str(folder / INDEX)
    try:
        content = json.loads(_read(folder / INDEX))
        if content["format"] != FORMAT:
            raise InputError(f"expected format {FORMAT}, got {content['format']!r:.40}", where=where)
        parts = tuple(_part(folder, name, digests) for name, digests in sorted(content["parts"].items()))
        lock = Lock(content["site"], content["inputs"], tuple(content["accepted_licences"]), parts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("not a lock", where=where, hint="run `sovctl lock` again") from None
    return lock


def _part(folder: Path, name: str, digests: Mapping[str, Any]) -> Part:
    path = folder / f"{name}.json"
    if path.parent != folder:
        raise InputError("a part outside the folder", where=str(folder / INDEX), hint="run `sovctl lock` again")
    text, index = _read(path), ""
    if "index_sha256" in digests:
        index = _read(folder / f"{name}.Packages")
    found = {"sha256": sha256_hex(text)} | ({"index_sha256": _digest(index)} if "index_sha256" in digests else {})
    if found != dict(digests):
        hint = "restore the file, or run `sovctl lock` again"
        raise InputError(f"the part was altered: it differs from {INDEX}", where=str(path), hint=hint)
    return parse_part(text, index, where=str(path))


def _read(path: Path) -> str:
    try:
        return read_bounded(path, LIMIT_BYTES).decode(errors="surrogateescape")
    except OSError:
        raise InputError("no such file", where=str(path), hint="run `sovctl lock` first") from None


def _digest(index: str) -> str:
    return sha256_hex(index.encode(errors="surrogateescape"))


def differing(old: Lock, new: Lock) -> Sequence[str]:
    """Return the names of inputs that differ, sorted."""
    return sorted(name for name in {*old.inputs, *new.inputs} if old.inputs.get(name) != new.inputs.get(name))
