"""`sovctl evidence`: evidence of a site, and results of other tools."""

from __future__ import annotations

import typer

from . import evidence_import, evidence_list, evidence_rerun, evidence_show


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="List, show and repeat evidence, and import results of other tools.")
    app.add_typer(group, name="evidence")
    for module in (evidence_list, evidence_show, evidence_rerun, evidence_import):
        module.register(group)
