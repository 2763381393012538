"""Writes a ledger as a folder of static files (C2SP tlog-tiles, https://c2sp.org/tlog-tiles).

    checkpoint                     the newest signed checkpoint, written last
    tile/<L>/<N>[.p/<W>]           hashes of level L; level 0 has leaf hashes
    tile/entries/<N>[.p/<W>]       entry bundles: records with 16-bit lengths

Any implementation of the standard reads the folder, from a file server or a USB stick. A second call adds the new
tiles. Bundles of pruned entries are absent, as the standard permits; their hash tiles stay.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from ..ledger import format as layout
from ..ledger.errors import LedgerDamaged
from ..ledger.index import Index
from ..ledger.merkle import LEVEL_BITS, WIDTH
from ..ledger.reader import LedgerReader

ENTRIES = "entries"


@dataclass(frozen=True)
class TileCounts:
    """Numbers of files that one call wrote."""

    hash_tiles: int
    bundles: int
    size: int
    """Number of entries in the checkpoint."""
    minimum_index: int
    """Index of the first entry whose bundle is present (C2SP tlog-tiles, "Pruning")."""


def write_tiles(ledger: Path, folder: Path) -> TileCounts:
    """Write the tiles of the newest checkpoint that the folder lacks, then the checkpoint.

    Raises:
        LedgerDamaged: index or entries are shorter than the checkpoint.
    """
    reader = LedgerReader(ledger)
    size, pruned = reader.checkpoint.size, layout.read_pruned(ledger).size
    with contextlib.closing(Index(ledger)) as index:
        hash_tiles = sum(_write_level(index, level, size, folder) for level in range(_levels(size)))
    first = -(-pruned // WIDTH)
    bundles = _write_bundles(reader, size, first, folder)
    write_atomic(folder / "checkpoint", reader.checkpoint.text)
    return TileCounts(hash_tiles, bundles, size, min(size, first * WIDTH))


def tile_path(level: int | str, number: int, width: int = WIDTH) -> str:
    """Return the path of a tile: `tile/0/x001/x234/067`, with `.p/<W>` if it is partial."""
    groups = [f"{number % 1000:03}"]
    while number := number // 1000:
        groups.insert(0, f"x{number % 1000:03}")
    partial = f".p/{width}" if width < WIDTH else ""
    return f"tile/{level}/{'/'.join(groups)}{partial}"


def _levels(size: int) -> int:
    return max(1, -(-size.bit_length() // LEVEL_BITS)) if size else 0


def _tiles(count: int) -> Iterator[tuple[int, int]]:
    """Yield number and width of the tiles of `count` hashes."""
    for number in range(-(-count // WIDTH)):
        yield number, min(WIDTH, count - number * WIDTH)


def _write_level(index: Index, level: int, size: int, folder: Path) -> int:
    written, count = 0, size >> (LEVEL_BITS * level)
    for number, width in _tiles(count):
        path = folder / tile_path(level, number, width)
        if path.exists():
            continue
        hashes = index.rows(level, number * WIDTH, number * WIDTH + width)
        if len(hashes) < width:
            raise LedgerDamaged(f"expected {count} hashes of level {level}, got fewer", where=layout.level_name(level))
        write_atomic(path, b"".join(hashes))
        written += 1
    return written


def _write_bundles(reader: LedgerReader, size: int, first: int, folder: Path) -> int:
    missing = [(n, width) for n, width in _tiles(size) if n >= first and not _bundle(folder, n, width).exists()]
    if not missing:
        return 0
    written, start = 0, missing[0][0] * WIDTH
    entries = reader.entries(start=start)
    for number, width in _tiles(size):
        if number * WIDTH < start:
            continue
        records = [layout.frame(entry.data) for entry in islice(entries, width)]
        if len(records) < width:
            raise LedgerDamaged(f"expected {size} entries, got fewer", where=layout.ENTRIES)
        if not _bundle(folder, number, width).exists():
            write_atomic(_bundle(folder, number, width), b"".join(records))
            written += 1
    return written


def _bundle(folder: Path, number: int, width: int) -> Path:
    return folder / tile_path(ENTRIES, number, width)
