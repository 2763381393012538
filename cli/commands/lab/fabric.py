"""`sovctl lab fabric`: the real InfiniBand tools on the lab's simulated fabric."""

from typing import Annotated

import typer

from ... import output
from . import DEFAULT_NAME, Name


def register(lab: typer.Typer) -> None:
    """Add the word to `sovctl lab`."""
    lab.command(context_settings={"ignore_unknown_options": True})(fabric)


def fabric(
    tool: Annotated[list[str] | None, typer.Argument(help="A tool of infiniband-diags, after --.")] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Look at the fabric from its subnet manager. Example: sovctl lab fabric -- ibqueryerrors"""
    from sovctl.engine.lab.hardware import infiniband_fabric as simulated
    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import lifecycle

    lab = Lab(name)
    lifecycle.require_up(lab)
    output.info("simulated fabric; link speeds as ibsim knows them")
    raise typer.Exit(simulated.run_tool(lab, tool or ["ibhosts"]))
