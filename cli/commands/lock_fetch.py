"""`sovctl lock fetch`: downloads the files of a lock."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl lock`."""
    group.command(epilog="Example: sovctl lock fetch locks --to content --from own --from models")(fetch)


def fetch(
    to: Annotated[Path, typer.Option("--to", help="Folder of the files, for `sovctl bundle build --files`.")],
    folder: Annotated[Path, typer.Argument(help="Folder of the lock.")] = Path("locks"),
    from_: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Folder with own files, models or wheels; used before URLs. Repeatable."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=16, help="Files at the same time.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Download each file of a lock. Files with another size or SHA-256 are refused.

    Can be interrupted and repeated: complete files are verified, and partial files are continued. Exit code 1 if a file
    is missing; its place in the folder is printed.
    """
    from sovctl.engine.lock.fetch import fetch as fetch_files
    from sovctl.engine.lock.files import files_of
    from sovctl.engine.lock.folder import read_lock

    lock = read_lock(folder)
    files = files_of(lock)
    try:
        done = fetch_files(files, to, from_folders=from_ or (), jobs=jobs, report=output.progress)
    finally:
        output.progress_done()
    if as_json:
        output.document(
            {
                "lock_sha256": lock.sha256,
                "files": len(files),
                "bytes": sum(each.file.size for each in files),
                "present": done.present,
                "added": done.added,
                "received_bytes": done.received_bytes,
                "missing": [each.as_json() for each in done.missing],
            }
        )
    else:
        output.line(
            f"{len(files)} files: {done.present} present, {done.added} added, {len(done.missing)} missing; "
            f"{done.received_bytes / 1e6:.1f} MB received"
        )
        for each in done.missing:
            output.line(f"missing  {each.place}: {each.reason}; {each.file.file.size} bytes, {each.file.file.sha256}")
    if done.missing:
        raise typer.Exit(ExitCode.FAILURE)
