"""`sovctl lab shell`, and other words about what is inside a lab."""

from typing import Annotated

import typer

from ... import output
from . import DEFAULT_NAME, AsJson, Name


def register(lab: typer.Typer) -> None:
    """Add the words to `sovctl lab`."""
    lab.command(context_settings={"ignore_unknown_options": True})(shell)
    lab.command()(capture)


def shell(
    node: Annotated[str, typer.Argument(help="n1, n2 or s1.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="What to run there, after --; a login shell without it.")
    ] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Log in to a node as ops, who may sudo. Example: sovctl lab shell n1 -- sudo nft list ruleset"""
    from sovctl.engine.lab.layout import Lab, node_named
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.node import shell

    lab, target = Lab(name), node_named(node)
    lifecycle.require_up(lab)
    raise typer.Exit(shell.run_shell(lab, target, command or []))


def capture(
    name: Name = DEFAULT_NAME,
    clear: Annotated[bool, typer.Option("--clear", help="Empty it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print everything that reached the host outside the perimeter. Example: sovctl lab capture --json"""
    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.services import capture as kept

    lab = Lab(name)
    lifecycle.require_up(lab)
    if clear:
        kept.clear(lab.capture_file)
        return
    found = list(kept.read(lab.capture_file))
    if as_json:
        output.document(found)
        return
    for each in found:
        what = f"{each['method']} {each['path']}" if each["kind"] == "http" else f"bytes to port {each['port']}"
        output.line(f"{each['time']}  from {each['peer']}  {what}")
        output.line(each.get("body", each.get("body_base64", "")))
    output.info(f"{len(found)} kept (simulated cloud)")
