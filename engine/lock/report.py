"""Report of a lock in words: bytes by kind and licence, own files, accepted licences, closure checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from .files import files_of
from .folder import Lock

_UNITS = ("B", "kB", "MB", "GB", "TB")


def in_words(size: int) -> str:
    """Return a size in decimal units, such as `95.6 MB`."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def report(lock: Lock) -> str:
    """Return the report, with the same bytes for the same lock."""
    return "\n".join(_lines(lock)) + "\n"


def _lines(lock: Lock) -> Iterator[str]:
    files = files_of(lock)
    yield f"Lock of site {lock.site}"
    yield f"digest   {lock.sha256}"
    yield f"files    {len(files)}, {in_words(sum(each.file.size for each in files))}"
    yield "unresolved   none; a lock with an unresolved root is not written"
    yield ""
    yield "Bytes by kind"
    kinds: dict[str, list[int]] = defaultdict(list)
    for each in files:
        kinds[each.file.kind].append(each.file.size)
    for kind in sorted(kinds):
        yield f"  {kind:10} {len(kinds[kind]):6} files  {in_words(sum(kinds[kind])):>10}"
    yield ""
    yield "Bytes by licence"
    licences: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for part in lock.parts:
        for package in part.packages:
            licences[package.redistributable, package.licence].add((package.path, package.size))
    for (redistributable, licence), found in sorted(licences.items()):
        size = in_words(sum(size for _, size in found))
        yield f"  {licence}: {len(found)} files, {size}, redistributable: {redistributable}"
    yield ""
    own = sorted(
        {
            (p.path, p.size, p.sha256)
            for part in lock.parts
            for p in part.packages
            if not p.url and p.redistributable == "own-file"
        }
    )
    yield "Own files: the bundle asks for them by path and SHA-256"
    yield from (f"  {path}  {in_words(size)}  {sha256}" for path, size, sha256 in own)
    yield from () if own else ("  none",)
    yield ""
    yield "Accepted licences"
    for row in lock.accepted:
        yield f"  {row['name']}: {row['licence']}, by {row['by']} on {row['on']}: {row['because']}"
    yield from () if lock.accepted else ("  none",)
    yield ""
    yield "Parts"
    for part in lock.parts:
        yield f"  {part.id}: {len(part.roots)} roots, {len(part.packages)} files, {in_words(part.size)}"
        yield f"    solver: {part.solver['tool']} {part.solver['version']}"
        yield f"    removes from the nodes: {', '.join(part.solver.get('removes', ())) or 'nothing'}"
        yield f"    closure check: {part.closure_check}"
