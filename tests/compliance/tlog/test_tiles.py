"""Tiles on disk: paths and contents of C2SP tlog-tiles, from which another reader gets the same root."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sovctl.compliance.ledger.checkpoint import parse_checkpoint
from sovctl.compliance.ledger.pruning import prune
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import SigningKey
from sovctl.compliance.tlog.tiles import tile_path, write_tiles

ORIGIN = "sovctl.site/test"
KEY = SigningKey.generate()


def opened(directory: Path) -> Ledger:
    return Ledger.open(directory, origin=ORIGIN, key=KEY)


def grow(directory: Path, count: int) -> None:
    with opened(directory) as ledger:
        ledger.append([{"type": "event", "number": number} for number in range(count)])


def root_of(hashes: list[bytes]) -> bytes:
    """RFC 6962, 2.1, as a recursion over all leaf hashes, independent of the project's tree."""
    if len(hashes) == 1:
        return hashes[0]
    split = 1 << ((len(hashes) - 1).bit_length() - 1)
    return hashlib.sha256(b"\x01" + root_of(hashes[:split]) + root_of(hashes[split:])).digest()


def read_bundle(data: bytes) -> list[bytes]:
    records = []
    while data:
        length = int.from_bytes(data[:2], "big")
        records.append(data[2 : 2 + length])
        data = data[2 + length :]
    return records


def tile(folder: Path, level: int | str, number: int, width: int = 256) -> bytes:
    return (folder / tile_path(level, number, width)).read_bytes()


@pytest.mark.parametrize(
    ("level", "number", "width", "path"),
    [
        (0, 1234067, 256, "tile/0/x001/x234/067"),  # the example of the standard
        (0, 0, 112, "tile/0/000.p/112"),
        (1, 999, 256, "tile/1/999"),
        ("entries", 1000, 1, "tile/entries/x001/000.p/1"),
    ],
)
def test_paths_are_the_standards(level: int | str, number: int, width: int, path: str) -> None:
    assert tile_path(level, number, width) == path


def test_another_reader_computes_the_signed_root_from_bundles_and_tiles(tmp_path: Path) -> None:
    grow(tmp_path / "log", 700)
    counts = write_tiles(tmp_path / "log", tmp_path / "out")
    assert (counts.hash_tiles, counts.bundles, counts.size) == (4, 3, 700)
    checkpoint = parse_checkpoint((tmp_path / "out" / "checkpoint").read_bytes())
    records = [
        each for n, w in ((0, 256), (1, 256), (2, 188)) for each in read_bundle(tile(tmp_path / "out", "entries", n, w))
    ]
    leaves = [hashlib.sha256(b"\x00" + record).digest() for record in records]
    assert root_of(leaves) == checkpoint.root
    level_0 = tile(tmp_path / "out", 0, 0) + tile(tmp_path / "out", 0, 1) + tile(tmp_path / "out", 0, 2, 188)
    assert level_0 == b"".join(leaves)
    assert tile(tmp_path / "out", 1, 0, 2) == root_of(leaves[:256]) + root_of(leaves[256:512])


def test_a_second_call_adds_only_new_tiles(tmp_path: Path) -> None:
    grow(tmp_path / "log", 300)
    write_tiles(tmp_path / "log", tmp_path / "out")
    assert write_tiles(tmp_path / "log", tmp_path / "out").hash_tiles == 0
    grow(tmp_path / "log", 300)
    counts = write_tiles(tmp_path / "log", tmp_path / "out")
    assert (counts.hash_tiles, counts.bundles) == (3, 2)


def test_pruned_bundles_are_absent_and_their_hashes_stay(tmp_path: Path) -> None:
    grow(tmp_path / "log", 700)
    with opened(tmp_path / "log") as ledger:
        prune(ledger, 300, reason={"retention_days": 365})
    counts = write_tiles(tmp_path / "log", tmp_path / "out")
    assert counts.minimum_index == 512
    assert not (tmp_path / "out" / tile_path("entries", 0)).exists()
    assert not (tmp_path / "out" / tile_path("entries", 1)).exists()
    assert len(tile(tmp_path / "out", 0, 0)) == 8192
    assert (tmp_path / "out" / tile_path("entries", 2, 189)).exists()


def test_an_empty_log_has_only_a_checkpoint(tmp_path: Path) -> None:
    grow(tmp_path / "log", 0)
    counts = write_tiles(tmp_path / "log", tmp_path / "out")
    assert (counts.hash_tiles, counts.bundles) == (0, 0)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["checkpoint"]
