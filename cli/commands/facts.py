"""`sovctl facts`: observe nodes and print what plans and checks are computed from. Changes nothing."""

from __future__ import annotations

from pathlib import Path

import typer

from sovctl.support.errors import ExitCode

from .. import output
from ..observing import DEFAULT, Limit, SiteFile, State, observe, scope_of

EPILOG = """Examples: sovctl facts site.yaml  ·  sovctl facts --limit n1 --json  ·  sovctl facts --from .sovctl/facts"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(facts)


def facts(
    site: SiteFile = DEFAULT,
    state: State = None,
    limit: Limit = None,
    recorded: Path | None = typer.Option(None, "--from", help="Read captures in this folder instead of the nodes."),
    as_json: bool = typer.Option(False, "--json", help="Print all facts as one JSON document."),
) -> int:
    """Observe every node and print its facts; the captures are saved in the state folder."""
    from sovctl.engine.site.site import Site

    from ..views.facts import as_document, show_facts

    opened = Site.open(site, state=state, touches_nodes=recorded is None)
    context = opened.context()
    scope = scope_of(context, limit)
    unknown: dict[str, str] = {}
    if recorded is not None:
        found = {name: each for name, each in opened.recorded(recorded).items() if scope.has_node(name)}
    else:
        found, unknown = observe(opened, context, scope)
    if as_json:
        output.document({"nodes": as_document(found), "unknown": unknown})
    else:
        show_facts(found, unknown)
    return ExitCode.UNREACHABLE if unknown else ExitCode.OK
