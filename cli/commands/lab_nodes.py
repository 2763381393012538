"""`sovctl lab shell`, and other words about what is inside a lab."""

from typing import Annotated

import typer

from sovctl.cli.commands.lab import DEFAULT_NAME, Name


def register(lab: typer.Typer) -> None:
    """Add the words to `sovctl lab`."""
    lab.command(context_settings={"ignore_unknown_options": True})(shell)


def shell(
    node: Annotated[str, typer.Argument(help="n1, n2 or s1.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="What to run there, after --; a login shell without it.")
    ] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Log in to a node as ops, who may sudo. Example: sovctl lab shell n1 -- sudo nft list ruleset"""
    from sovctl.engine.lab import lifecycle, shell
    from sovctl.engine.lab.layout import Lab, node_named

    lab = Lab(name)
    lifecycle.require_up(lab)
    raise typer.Exit(shell.run_shell(lab, node_named(node), command or []))
