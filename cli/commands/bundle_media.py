"""`sovctl bundle media`: writes a bundle to media."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import output


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl bundle`."""
    group.command(epilog="Example: sovctl bundle media store --size 64GB --out stick1 --out stick2")(media)


def media(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the bundle.")],
    size: Annotated[str, typer.Option(help="Capacity of each medium, such as 64GB.")],
    out: Annotated[list[Path], typer.Option(help="Folder of a mounted medium. Repeatable.")],
    only: Annotated[
        Path | None, typer.Option(help="List of chunks to write, such as missing.txt of an import. Default: all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a bundle to media, sync them, and read every chunk back. Capacity is checked first.

    Each medium has all signed metadata, the list of its chunks, and README.txt with the words of the root. A bundle
    that a folder already has is replaced.
    """
    from sovctl.engine.bundle.media import write
    from sovctl.engine.bundle.sizes import parse_size
    from sovctl.engine.bundle.store import Store
    from sovctl.engine.bundle.verification import read_missing

    try:
        written = write(
            Store(store),
            out,
            size_bytes=parse_size(size, where="--size"),
            only=read_missing(only) if only else None,
            report=output.progress,
        )
    finally:
        output.progress_done()
    rows = [(folder, len(part), sum(each.size for each in part)) for folder, part in zip(out, written, strict=False)]
    if as_json:
        output.document({"media": [{"folder": str(path), "chunks": n, "bytes": size} for path, n, size in rows]})
        return
    for path, count, total in rows:
        output.line(f"{path}: {count} chunks, {total / 1e6:.1f} MB, written and read back")
    for path in out[len(written) :]:
        output.line(f"{path}: not needed")
