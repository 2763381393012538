"""`sovctl scaling`: autoscaling on fixed hardware."""

from __future__ import annotations

import typer

from . import scaling_simulate


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Autoscaling on fixed hardware: pools move between their bounds.")
    app.add_typer(group, name="scaling")
    group.callback()(lambda: None)  # otherwise typer merges a single command with its group
    scaling_simulate.register(group)
