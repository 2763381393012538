"""`sovctl mirror`: selects the snapshot that the site's mirror serves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import output

Into = Annotated[Path, typer.Option("--into", help="Store of `sovctl import`.")]
SiteFile = Annotated[Path, typer.Option("--site", metavar="SITE", help="site.yaml, or its folder.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to site.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DEFAULT = Path("site.yaml")


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Snapshots that the mirror of a closed site serves.")
    app.add_typer(group, name="mirror")
    group.command(epilog="Example: sovctl mirror select 7 --into published")(select)
    group.command("list", epilog="Example: sovctl mirror list --into published")(list_)


def select(
    bundle: Annotated[str, typer.Argument(metavar="ID", help="Id or sequence of a published bundle.")],
    into: Into,
    site: SiteFile = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Sign the apt indexes of a published bundle, and select it; an earlier bundle is a rollback.

    Creates the apt key of the site if it is absent, and writes its public key to `artifacts.apt_key_file`. The ledger
    records the selection.
    """
    from datetime import UTC, datetime

    from sovctl.engine.bundle.mirror_selection import select as select_bundle

    found = select_bundle(site, into, bundle, state=state, now=datetime.now(UTC))
    if as_json:
        output.document({"bundle": found.id, "manifest_sha256": found.manifest_sha256, "folder": str(found.folder)})
        return
    output.line(f"selected: {found.folder}, SHA-256 of its MANIFEST {found.manifest_sha256}")


def list_(into: Into, site: SiteFile = DEFAULT, state: State = None, as_json: AsJson = False) -> None:
    """Show the published bundles, newest first, and which one is selected."""
    from sovctl.engine.bundle.mirror_selection import snapshots_of

    found = snapshots_of(site, into, state=state)
    if as_json:
        output.document({"snapshots": list(found)})
        return
    rows = [
        ["selected" if each["selected"] else "-", each["bundle"], each["created"], each["manifest_sha256"] or "-"]
        for each in found
    ]
    output.table(["STATE", "BUNDLE", "CREATED", "MANIFEST"], rows)
