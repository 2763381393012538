"""Options of commands that observe the nodes of a site, and the observation with its progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import output

if TYPE_CHECKING:
    from sovctl.engine.facts.node import NodeFacts
    from sovctl.engine.plan.scope import Scope
    from sovctl.engine.resources.context import Context
    from sovctl.engine.site.site import Site

SiteFile = Annotated[Path, typer.Argument(help="Path of site.yaml.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")]
Limit = Annotated[
    list[str] | None,
    typer.Option("--limit", help="Observe only these nodes: names or patterns such as 'dgx-*'; repeatable."),
]
DEFAULT = Path("site.yaml")


def scope_of(context: Context, limit: list[str] | None) -> Scope:
    """Return the scope of `--limit`."""
    from sovctl.engine.plan.scope import chosen

    return chosen(context, limit=limit or [], targets=[], kinds=[])


def observe(site: Site, context: Context, scope: Scope) -> tuple[dict[str, NodeFacts], dict[str, str]]:
    """Return the facts of the nodes that answer, and the reason by name for the others; print progress."""
    found = site.observe_reachable(
        context, scope.nodes or None, report=lambda text: output.progress(f"observed {text}")
    )
    output.progress_done()
    return found
