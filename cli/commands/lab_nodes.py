"""`sovctl lab shell`, and other words about what is inside a lab."""

from typing import Annotated

import typer

from sovctl.cli import show
from sovctl.cli.commands.lab import DEFAULT_NAME, AsJson, Name


def register(lab: typer.Typer) -> None:
    """Add the words to `sovctl lab`."""
    lab.command(context_settings={"ignore_unknown_options": True})(shell)
    lab.command()(fault)
    lab.command()(capture)


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


def fault(
    node: Annotated[str, typer.Argument(help="n1, n2 or s1.")] = "",
    fault_name: Annotated[
        str, typer.Argument(metavar="FAULT", help="What to break; none with --clear mends all.")
    ] = "",
    index: Annotated[int, typer.Option("--index", min=0, help="Which GPU or adapter.")] = 3,
    clear: Annotated[bool, typer.Option("--clear", help="Mend it.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List what can be broken.")] = False,
    name: Name = DEFAULT_NAME,
    as_json: AsJson = False,
) -> None:
    """Break a node's simulated hardware, or mend it. Example: sovctl lab fault n1 nvlink-down"""
    from sovctl.compliance.errors import InputError
    from sovctl.engine.lab import faults, lifecycle
    from sovctl.engine.lab.layout import Lab, node_named

    lab = Lab(name)
    if list_all:
        _list_faults(as_json=as_json)
        return
    target = node_named(node)
    lifecycle.require_up(lab)
    if clear:
        faults.clear_fault(lab, target, faults.fault_named(fault_name) if fault_name else None, index=index)
    elif fault_name:
        faults.set_fault(lab, target, faults.fault_named(fault_name), index=index)
    else:
        raise InputError("expected the name of a fault, or --clear", where="FAULT", hint="sovctl lab fault --list")
    active = faults.active(lab, target)
    if as_json:
        show.document({"node": node, "simulated": True, "faults": [{"name": each, "index": at} for each, at in active]})
    else:
        words = ", ".join(f"{each} ({at})" for each, at in active) or "none"
        show.line(f"faults of {node}: {words} (simulated hardware)")


def _list_faults(*, as_json: bool) -> None:
    from sovctl.engine.lab import faults

    if as_json:
        rows = [(each.name, each.part.name.lower(), each.shows, each.expects) for each in faults.FAULTS]
        show.document([dict(zip(("name", "part", "shows", "expects"), row, strict=True)) for row in rows])
    else:
        show.table(
            ("fault", "of", "shows"), [(each.name, each.part.name.lower(), each.shows) for each in faults.FAULTS]
        )


def capture(
    name: Name = DEFAULT_NAME,
    clear: Annotated[bool, typer.Option("--clear", help="Empty it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print everything that reached the host outside the perimeter. Example: sovctl lab capture --json"""
    from sovctl.engine.lab import capture as kept
    from sovctl.engine.lab import lifecycle
    from sovctl.engine.lab.layout import Lab

    lab = Lab(name)
    lifecycle.require_up(lab)
    if clear:
        kept.clear(lab.capture_file)
        return
    found = list(kept.read(lab.capture_file))
    if as_json:
        show.document(found)
        return
    for each in found:
        what = f"{each['method']} {each['path']}" if each["kind"] == "http" else f"bytes to port {each['port']}"
        show.line(f"{each['time']}  from {each['peer']}  {what}")
        show.line(each.get("body", each.get("body_base64", "")))
    show.note(f"{len(found)} kept (simulated cloud)")
