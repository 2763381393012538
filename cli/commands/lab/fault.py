"""`sovctl lab fault`: inject faults into simulated hardware, to test the checks."""

from typing import Annotated

import typer

from ... import output
from . import DEFAULT_NAME, AsJson, Name


def register(lab: typer.Typer) -> None:
    """Add the command to `sovctl lab`."""
    lab.command()(fault)


def fault(
    node: Annotated[str, typer.Argument(help="Node: n1, n2 or s1.")] = "",
    fault_name: Annotated[
        str, typer.Argument(metavar="FAULT", help="Fault to inject; with --clear, default: all.")
    ] = "",
    index: Annotated[int, typer.Option("--index", min=0, help="Index of the GPU or adapter.")] = 3,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the fault.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the faults.")] = False,
    name: Name = DEFAULT_NAME,
    as_json: AsJson = False,
) -> None:
    """Inject a fault into the simulated hardware of a node, or remove it. Example: sovctl lab fault n1 nvlink-down"""
    from sovctl.engine.lab.hardware import faults
    from sovctl.engine.lab.layout import Lab, node_named
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.support.errors import InputError

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
        raise InputError(
            "missing argument FAULT, or --clear", where="FAULT", hint="list the faults with `sovctl lab fault --list`"
        )
    active = faults.active(lab, target)
    if as_json:
        output.document(
            {"node": node, "simulated": True, "faults": [{"name": each, "index": at} for each, at in active]}
        )
    else:
        words = ", ".join(f"{each} ({at})" for each, at in active) or "none"
        output.line(f"faults of {node}: {words} (simulated hardware)")


def _list_faults(*, as_json: bool) -> None:
    from sovctl.engine.lab.hardware.fault_table import FAULTS

    if as_json:
        rows = [(each.name, each.target.name.lower(), each.shows, each.expects, each.under_load) for each in FAULTS]
        names = ("name", "part", "shows", "expects", "under_load")
        output.document([dict(zip(names, row, strict=True)) for row in rows])
    else:
        output.table(("fault", "of", "shows"), [(each.name, each.target.name.lower(), each.shows) for each in FAULTS])
