"""`sovctl bootstrap`: first access to the nodes of a closed site."""

from __future__ import annotations

import typer

from . import enrol


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="First access to nodes: host keys that a person has read.")
    app.add_typer(group, name="bootstrap")
    for module in (enrol,):
        module.register(group)
