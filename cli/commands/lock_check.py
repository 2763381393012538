"""`sovctl lock diff` and `sovctl lock check`: compare two locks, and check one again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.lock.comparison import Difference

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl lock`."""
    group.command(epilog="Example: sovctl lock diff locks-october locks")(diff)
    group.command(epilog="Example: sovctl lock check locks")(check)


def diff(
    old: Annotated[Path, typer.Argument(help="Folder of the older lock.")],
    new: Annotated[Path, typer.Argument(help="Folder of the newer lock.")],
    as_json: AsJson = False,
) -> int:
    """Show added, removed and changed files. Exit code 2 if there are differences."""
    from sovctl.engine.lock.comparison import differences
    from sovctl.engine.lock.folder import read_lock

    found = differences(read_lock(old), read_lock(new))
    if as_json:
        output.document({"differences": [each.as_json() for each in found]})
    else:
        show(found)
    return ExitCode.CHANGES if found else ExitCode.OK


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of the lock.")] = Path("locks"), as_json: AsJson = False
) -> None:
    """Verify the digests of a lock, that no path has two contents, and that every part was checked for closure.

    Needs no network, and is repeatable on the medium inside the site. Exit code 1 if a closure check was not run.
    """
    from sovctl.engine.lock.files import files_of
    from sovctl.engine.lock.folder import read_lock

    lock = read_lock(folder)
    files = files_of(lock)
    open_parts = [part.id for part in lock.parts if part.closure_check.startswith("not run")]
    if as_json:
        output.document(
            {
                "sha256": lock.sha256,
                "files": len(files),
                "bytes": sum(each.file.size for each in files),
                "not_checked": open_parts,
            }
        )
    else:
        output.line(f"{lock.sha256}: {len(files)} files, {len(lock.parts)} parts")
        for name in open_parts:
            output.line(f"{name}: the closure check was not run")
    if open_parts:
        raise typer.Exit(ExitCode.FAILURE)


def show(found: Sequence[Difference]) -> None:
    """Print differences as a table."""
    if not found:
        output.line("no differences")
        return
    rows = [
        (each.change, each.part, each.name, each.old.version if each.old else "", each.new.version if each.new else "")
        for each in found
    ]
    output.table(("CHANGE", "PART", "NAME", "OLD", "NEW"), rows)
