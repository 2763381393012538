"""`sovctl lab shell` and `sovctl lab capture`: look inside a running lab."""

from typing import Annotated

import typer

from ... import output
from . import DEFAULT_NAME, AsJson, Name


def register(lab: typer.Typer) -> None:
    """Add the commands to `sovctl lab`."""
    lab.command(context_settings={"ignore_unknown_options": True})(shell)
    lab.command()(capture)


def shell(
    node: Annotated[str, typer.Argument(help="Node: n1, n2 or s1.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="Command to run, after --; default: a login shell.")
    ] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Log in to a node as user ops, which may use sudo. Example: sovctl lab shell n1 -- sudo nft list ruleset"""
    from sovctl.engine.lab.layout import Lab, node_named
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.node import shell

    lab, target = Lab(name), node_named(node)
    lifecycle.require_up(lab)
    raise typer.Exit(shell.run_shell(lab, target, command or []))


def capture(
    name: Name = DEFAULT_NAME,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the captured requests.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print all requests that the simulated cloud outside the perimeter received. Example: sovctl lab capture --json"""
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
    output.info(f"{len(found)} requests captured (simulated cloud)")
