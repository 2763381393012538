"""`sovctl node`: life cycle of the nodes of a site."""

from __future__ import annotations

import typer

from . import assessment, certificate, events, forget, listing, remedy, status


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Life cycle of nodes: drain, quarantine, repair, certify, release.")
    app.add_typer(group, name="node")
    for module in (listing, status, events, assessment, certificate, remedy, forget):
        module.register(group)
