"""Writes a bundle to media: chunks in order of the manifest, each medium with all metadata, synced and read back.

Media are imported in any order. A chunk on a lost or damaged medium is written again with the list `missing.txt`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from sovctl.support.atomic_files import sync_folder, write_atomic
from sovctl.support.errors import InputError, MissingTool

from . import root
from .manifest import Chunk, Manifest
from .medium import CHUNK_LIST, README, Medium
from .root_words import to_words
from .store import TIMESTAMP, Store
from .trust import Refused
from .verification import blocks, is_intact

_LIST_ENTRY_BYTES = 65
_BLOCK_OVERHEAD = 128 << 10  # bytes lost to a file: the largest clusters of exFAT up to 256 TB
_README_BYTES = 4096


def plan(chunks: Sequence[Chunk], *, size_bytes: int, metadata_bytes: int) -> list[list[Chunk]]:
    """Return the chunks of each medium, in order.

    Args:
        size_bytes: capacity of a medium.
        metadata_bytes: size of the metadata that each medium has.

    Raises:
        InputError: a chunk does not fit a medium.
    """
    capacity = size_bytes - metadata_bytes
    media: list[list[Chunk]] = [[]]
    free = capacity
    for chunk in chunks:
        needed = _on_medium(chunk.size)
        if needed > capacity:
            raise InputError(
                f"a chunk of {chunk.size} bytes does not fit a medium with {max(0, capacity)} bytes for chunks",
                where="--size",
                hint="build the bundle with a smaller --chunk-size",
            )
        if needed > free:
            media.append([])
            free = capacity
        media[-1].append(chunk)
        free -= needed
    return media


def write(
    store: Store,
    folders: Sequence[Path],
    *,
    size_bytes: int,
    only: Collection[str] | None = None,
    report: Callable[[str], object] = str,
) -> list[list[Chunk]]:
    """Write media, and read every chunk back.

    Args:
        folders: one for each medium; absent, empty, or with an earlier bundle, which is replaced.
        only: SHA-256 of chunks to write; None for all.

    Returns:
        The chunks of each medium.

    Raises:
        InputError: too few media, an unsigned bundle, or other files in a folder; nothing was written.
        MissingTool: too little free space; nothing was written.
        Refused: a chunk differs from its digest when read back.
    """
    if not store.is_signed():
        raise InputError("signatures are missing", where=str(store.root), hint="sovctl bundle sign")
    manifest = store.manifest()
    if only is not None and (unknown := set(only) - {each.sha256 for each in manifest.chunks}):
        raise InputError(f"{len(unknown)} chunks are not in the bundle, such as {min(unknown)[:16]}", where="--only")
    chunks = [each for each in manifest.chunks if only is None or each.sha256 in only]
    media = plan(chunks, size_bytes=size_bytes, metadata_bytes=_metadata_bytes(store, len(chunks)))
    if len(media) > len(folders):
        raise InputError(
            f"expected {len(media)} media of {size_bytes / 1e6:.0f} MB, got {len(folders)}",
            where="--out",
            hint="give a folder for each medium",
        )
    _check_folders(folders, media, _metadata_bytes(store, len(chunks)))
    for number, (folder, part) in enumerate(zip(folders, media, strict=False), 1):
        readme = _readme(store, manifest, number, len(media))
        _write_one(store, folder, part, readme, report)
    return media


def _write_one(
    store: Store, folder: Path, chunks: Sequence[Chunk], readme: str, report: Callable[[str], object]
) -> None:
    (folder / TIMESTAMP).unlink(missing_ok=True)  # a medium without a timestamp is refused
    source = Medium(store.root)
    for path in Medium(folder).files if folder.is_dir() else ():
        (folder / path).unlink()
    for number, chunk in enumerate(chunks, 1):
        report(f"{folder}: chunk {number} of {len(chunks)}")
        _copy(source, chunk, folder / chunk.path)
    write_atomic(folder / README, readme)
    write_atomic(folder / CHUNK_LIST, "".join(f"{each.sha256}\n" for each in chunks))
    write_atomic(folder / store.manifest_file.name, store.manifest_file.read_bytes())
    for name in sorted(each for each in source.files if each.startswith("metadata/") and each != TIMESTAMP):
        write_atomic(folder / name, (store.root / name).read_bytes())
    written = Medium(folder)
    for chunk in chunks:
        if not is_intact(written, chunk):
            raise Refused(
                f"chunk {chunk.sha256[:16]} differs when read back",
                where=str(folder),
                hint="replace the medium; if it persists, build the bundle again",
            )
    write_atomic(folder / TIMESTAMP, (store.root / TIMESTAMP).read_bytes())


def _copy(source: Medium, chunk: Chunk, target: Path) -> None:
    """Copy a chunk, sync it, and drop it from the page cache, so that it is read back from the medium."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb", buffering=0) as file:
        for block in blocks(source, chunk):
            file.write(block)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    sync_folder(target.parent)


def _check_folders(folders: Sequence[Path], media: Sequence[Sequence[Chunk]], metadata_bytes: int) -> None:
    needed: dict[int, int] = {}
    for folder, chunks in zip(folders, media, strict=False):
        folder.mkdir(parents=True, exist_ok=True)
        old = sum((folder / path).stat().st_size for path in Medium(folder).files)
        device = folder.stat().st_dev
        needed[device] = needed.get(device, metadata_bytes - old) + sum(_on_medium(each.size) for each in chunks)
        free = shutil.disk_usage(folder).free
        if needed[device] > free:
            raise MissingTool(
                f"expected {needed[device] / 1e6:.1f} MB of free space, got {free / 1e6:.1f} MB", where=str(folder)
            )


def _on_medium(size: int) -> int:
    return size + _BLOCK_OVERHEAD + _LIST_ENTRY_BYTES


def _metadata_bytes(store: Store, chunks: int) -> int:
    files = [store.manifest_file, *store.metadata.glob("*.json")]
    return sum(path.stat().st_size + _BLOCK_OVERHEAD for path in files) + _README_BYTES + chunks * _LIST_ENTRY_BYTES


def _readme(store: Store, manifest: Manifest, number: int, count: int) -> str:
    first = root.trusted_digest(str(store.metadata), where=str(store.metadata))
    words = to_words(first).split()
    lines = "\n".join("    " + " ".join(words[index : index + 4]) for index in range(0, len(words), 4))
    return (
        f"sovctl bundle {manifest.sequence} for {manifest.site}, medium {number} of {count}\n"
        f"created {manifest.created}\n\n"
        f"Words of the root of trust. Compare them with the paper of the ceremony, not with another medium:\n\n"
        f"{lines}\n\n"
        f"Import, from any number of media in any order:\n\n"
        f"    sovctl import MEDIA... --into STORE --key IMPORTER.key\n\n"
        f"By hand: sha256sum of a file in chunks/ is the name of the file.\n"
    )
