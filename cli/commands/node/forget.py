"""`sovctl node forget`: a removed node that is gone for good."""

from __future__ import annotations

from typing import Annotated

import typer

from ... import output
from .opening import DEFAULT, Reason, Site, State


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("forget", epilog="Example: sovctl node forget n1 --reason 'destroyed, protocol 4711'")(forget)


def forget(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node that site.yaml no longer contains.")],
    reason: Reason,
    site: Site = DEFAULT,
    state: State = None,
) -> None:
    """Forget a removed node that does not answer any more. Its keys are not erased; its certificate is revoked."""
    from sovctl.engine.site.retirement import forget as forget_node
    from sovctl.engine.site.site import Site as OpenedSite

    opened = OpenedSite.open(site, state=state, touches_nodes=False)
    with opened.state.exclusive("node forget"):
        revoked = forget_node(opened, node, reason=reason)
    output.line(f"{node}: forgotten; no plan cleans it any more")
    if revoked:
        output.info(f"revoked certificate {revoked}: {opened.credentials.authority.revoked_file}")
        output.info("servers of pools read no such list; if the key may be in other hands: docs/runbooks/authority.md")
