"""`sovctl drift`: report what differs from site.yaml, for a timer or a monitoring system. Changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from sovctl.support.errors import ExitCode

from .. import output
from ..observing import DEFAULT, Limit, SiteFile, State, observe, scope_of

EPILOG = """Examples: sovctl drift site.yaml  ·  sovctl drift --limit n1 --jsonl  ·  sovctl drift --append drift.log"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(drift)


def drift(
    site: SiteFile = DEFAULT,
    state: State = None,
    limit: Limit = None,
    jsonl: bool = typer.Option(False, "--jsonl", help="Print each difference, and a summary, as one JSON line."),
    append: Path | None = typer.Option(None, "--append", help="Also append these lines to a file."),
) -> int:
    """Compare every node with site.yaml. Exits with 2 if a node differs, with 4 if a node does not answer."""
    from sovctl.engine.plan.drift import append_lines, lines
    from sovctl.engine.site.site import Site

    from ..views.plan import show_plan

    opened = Site.open(site, state=state, touches_nodes=True)
    context = opened.context()
    scope = scope_of(context, limit)
    facts, unknown = observe(opened, context, scope)
    plan = opened.plan(context, facts, scope=scope, unknown=unknown)
    found = lines(plan, now=datetime.now(UTC))
    if append is not None:
        append_lines(append, found)
    if jsonl:
        for text in found:
            output.line(text)
    else:
        show_plan(plan)
    if plan.unknown:
        return ExitCode.UNREACHABLE
    return ExitCode.CHANGES if plan.changes else ExitCode.OK
