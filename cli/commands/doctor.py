"""`sovctl doctor`: what is missing before the first plan, in the order of the first week."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output
from ..observing import DEFAULT, SiteFile, State

EPILOG = "Examples: sovctl doctor site.yaml  ·  sovctl doctor site.yaml --nodes  ·  sovctl doctor site.yaml --json"


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(doctor)


def doctor(
    site: SiteFile = DEFAULT,
    state: State = None,
    locks: Annotated[Path | None, typer.Option(help="Folder of the lock; default: locks next to SITE.")] = None,
    trust: Annotated[
        Path | None, typer.Option(help="Folder of the root of bundles; default: trust next to SITE.")
    ] = None,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Also contact nodes and mirror: ssh, host key, sudo, clock, free disk.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List what is done and what is missing before the first plan: file or host, reason, person and command.

    Reads files only, and contacts no node without --nodes. Exit code 0 if a plan is possible.
    """
    from sovctl.engine.doctor.diagnosis import diagnose

    from ..views.doctor import show

    found = diagnose(site, state=state, locks=locks, trust=trust, contacts_nodes=nodes, report=output.progress)
    output.progress_done()
    if as_json:
        output.document(found.as_json())
    else:
        show(found)
    return ExitCode.OK if found.is_plan_possible else ExitCode.FAILURE
