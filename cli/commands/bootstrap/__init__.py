"""`sovctl bootstrap`: first access to the nodes of a closed site."""

from __future__ import annotations

import typer

from . import adopt, authority, enrol, redfish, seed


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="First access to nodes: seeds, host keys, root certificate.")
    app.add_typer(group, name="bootstrap")
    for module in (seed, redfish, enrol, adopt, authority):
        module.register(group)
