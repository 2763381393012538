"""`sovctl lock`: exact files of a site, computed outside it without root."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import output
from ..default_command import DefaultsToSite
from . import lock_check, lock_fetch

EPILOG = (
    "Examples: sovctl lock site.yaml -o locks --inventory inventory.json --inventory-key site.vkey  ·  "
    "sovctl lock site.yaml -o locks --system debian-12 --omit models"
)


def register(app: typer.Typer) -> None:
    """Add the commands to `sovctl`."""
    group = typer.Typer(
        cls=DefaultsToSite,
        help="Lock the exact files of a site, compare and check locks. `sovctl lock SITE` is `sovctl lock site SITE`; "
        "options: `sovctl lock site --help`.",
        epilog=EPILOG,
    )
    app.add_typer(group, name="lock")
    group.command("site", epilog=EPILOG)(lock)
    lock_check.register(group)
    lock_fetch.register(group)


def complete_system(incomplete: str) -> list[str]:
    """Return the operating systems that begin with the typed text."""
    from sovctl.engine.catalog.operating_systems import load_operating_systems

    return [name for name in load_operating_systems() if name.startswith(incomplete)]


def lock(
    folder: Annotated[Path, typer.Option("-o", "--output", help="Folder of the lock.")],
    site: Annotated[Path, typer.Argument(metavar="[SITE]", help="Path of site.yaml.")] = Path("site.yaml"),
    inventory: Annotated[Path | None, typer.Option(help="File of `sovctl inventory export`.")] = None,
    inventory_key: Annotated[Path | None, typer.Option(help="Public key (.vkey) of the inventory.")] = None,
    system: Annotated[
        str | None,
        typer.Option(
            help="Without inventory: operating system of all nodes, for a full set.", autocompletion=complete_system
        ),
    ] = None,
    arch: Annotated[str, typer.Option(help="Without inventory: x86_64 or aarch64.")] = "x86_64",
    sources: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM=FILE",
            help="Package sources (.sources, .list or .repo). Default: apt's of this machine. Repeatable.",
        ),
    ] = None,
    own_files: Annotated[
        Path | None, typer.Option(help="Folder with files that may not be redistributed, and SHA256SUMS.")
    ] = None,
    models: Annotated[Path | None, typer.Option(help="Folder with a folder for each model.")] = None,
    accepted_licences: Annotated[Path | None, typer.Option(help="YAML file of licences that persons accepted.")] = None,
    index: Annotated[str | None, typer.Option(help="URL of the index of wheels. Default: PyPI.")] = None,
    find_links: Annotated[
        list[str] | None, typer.Option(help="Folder or page with further wheels. Repeatable.")
    ] = None,
    omit: Annotated[
        list[str] | None, typer.Option(help="Leave out `packages`, `wheels` or `models`; recorded. Repeatable.")
    ] = None,
    update: Annotated[str | None, typer.Option(help="Move only this package of the lock in the folder.")] = None,
    may_remove: Annotated[
        list[str] | None,
        typer.Option(help="Package of the nodes that may be removed, such as systemd-timesyncd by chrony. Repeatable."),
    ] = None,
    closure_check: Annotated[
        bool, typer.Option("--closure-check/--no-closure-check", help="Check the closure without network; recorded.")
    ] = True,
) -> None:
    """Lock every package, wheel and model file of a site with size and SHA-256. Nothing is written if it is refused.

    Needs no root and no node. Reads no setting of this machine but its package sources, if none are given.
    """
    from sovctl.engine.lock import options
    from sovctl.engine.lock.build import make_lock
    from sovctl.engine.lock.comparison import differences
    from sovctl.engine.lock.folder import INDEX, read_lock, write_lock
    from sovctl.engine.lock.report import report
    from sovctl.engine.site.site import Site

    opened = Site.open(site, touches_nodes=False)
    status = options.inventory_of(inventory, inventory_key)
    chosen = options.Options(
        system=system,
        machine=arch,
        sources=options.sources_of(sources or []),
        own_files=own_files,
        models=models,
        accepted=options.accepted_of(accepted_licences),
        wheels=options.wheels_of(index, find_links or []),
        omit=options.kinds_of(omit or []),
        check=closure_check,
        update=update,
        may_remove=frozenset(may_remove or ()),
    )
    previous = read_lock(folder) if (folder / INDEX).exists() else None
    inputs = {"site": opened.loaded.spec_sha256, "inventory": status.sha256 if status else "none"}
    made = make_lock(opened.context(), inputs, status, chosen, previous=previous, report=output.progress)
    output.progress_done()
    text = report(made)
    write_lock(made, folder, text)
    for line in text.splitlines()[:5]:
        output.line(line)
    output.line(f"written  {folder}; details in {folder}/lock-report.txt")
    if previous is not None:
        lock_check.show(differences(previous, made))
