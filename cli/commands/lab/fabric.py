"""`sovctl lab fabric`: run infiniband-diags on the lab's simulated fabric."""

from typing import Annotated

import typer

from ... import output
from . import DEFAULT_NAME, Name


def register(lab: typer.Typer) -> None:
    """Add the command to `sovctl lab`."""
    lab.command(context_settings={"ignore_unknown_options": True})(fabric)


def fabric(
    tool: Annotated[
        list[str] | None, typer.Argument(help="Command of infiniband-diags, after --; default: ibhosts.")
    ] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Run a diagnostic tool on the node of the subnet manager. Example: sovctl lab fabric -- ibqueryerrors"""
    from sovctl.engine.lab.hardware import fabric_processes as simulated
    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import lifecycle

    lab = Lab(name)
    lifecycle.require_up(lab)
    output.info("simulated fabric (ibsim)")
    raise typer.Exit(simulated.run_tool(lab, tool or ["ibhosts"]))
