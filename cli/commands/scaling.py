"""`sovctl scaling`: autoscaling on fixed hardware."""

from __future__ import annotations

import typer

from . import scaling_plan, scaling_run, scaling_simulate


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Autoscaling on fixed hardware: pools move between their bounds.")
    app.add_typer(group, name="scaling")
    for module in (scaling_simulate, scaling_plan, scaling_run):
        module.register(group)
