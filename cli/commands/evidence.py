"""`sovctl evidence`: evidence of a site, and results of other tools."""

from __future__ import annotations

import typer

from . import evidence_import


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Evidence of a site, and results of other tools.")
    app.add_typer(group, name="evidence")
    evidence_import.register(group)
