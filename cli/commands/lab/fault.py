"""`sovctl lab fault`: inject faults into simulated hardware, to test the checks."""

from typing import TYPE_CHECKING, Annotated

import typer

from ... import output
from . import DEFAULT_NAME, AsJson, Name

if TYPE_CHECKING:
    from sovctl.engine.lab.layout import Lab

FABRIC = "fabric"
"""Argument NODE for faults of the simulated fabric."""


def register(lab: typer.Typer) -> None:
    """Add the command to `sovctl lab`."""
    lab.command()(fault)


def fault(
    node: Annotated[str, typer.Argument(help="Node: n1, n2 or s1; or `fabric`.")] = "",
    fault_name: Annotated[
        str, typer.Argument(metavar="FAULT", help="Fault to inject; with --clear, default: all.")
    ] = "",
    index: Annotated[int, typer.Option("--index", min=0, help="Index of the GPU or adapter.")] = 3,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the fault.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the faults.")] = False,
    name: Name = DEFAULT_NAME,
    as_json: AsJson = False,
) -> None:
    """Inject a fault into the simulated hardware, or remove it. Example: sovctl lab fault n1 nvlink-down"""
    from sovctl.engine.lab.layout import Lab
    from sovctl.support.errors import InputError

    lab = Lab(name)
    if list_all:
        _list_faults(as_json=as_json)
        return
    if not (fault_name or clear or node == ""):
        raise InputError(
            "missing argument FAULT, or --clear", where="FAULT", hint="list the faults with `sovctl lab fault --list`"
        )
    active = (_change_fabric if node == FABRIC else _change_node)(lab, node, fault_name, index=index, clear=clear)
    if as_json:
        output.document(
            {"node": node, "simulated": True, "faults": [{"name": each, "index": at} for each, at in active]}
        )
    else:
        words = ", ".join(each if at is None else f"{each} ({at})" for each, at in active) or "none"
        output.line(f"faults of {node}: {words} (simulated hardware)")


def _change_node(lab: "Lab", node: str, fault_name: str, *, index: int, clear: bool) -> list[tuple[str, int | None]]:
    from sovctl.engine.lab.hardware import faults
    from sovctl.engine.lab.layout import node_named
    from sovctl.engine.lab.lifecycle import lifecycle

    target = node_named(node)
    lifecycle.require_up(lab)
    if clear:
        faults.clear_fault(lab, target, faults.fault_named(fault_name) if fault_name else None, index=index)
    else:
        faults.set_fault(lab, target, faults.fault_named(fault_name), index=index)
    return [*faults.active(lab, target)]


def _change_fabric(lab: "Lab", _: str, fault_name: str, *, index: int, clear: bool) -> list[tuple[str, int | None]]:
    del index  # of GPUs and adapters only
    from sovctl.engine.lab.hardware.fabric_faults import fabric_fault_named
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.services import fabric_control

    lifecycle.require_up(lab)
    if clear:
        fabric_control.clear_fault(lab, fabric_fault_named(fault_name) if fault_name else None)
    else:
        fabric_control.set_fault(lab, fabric_fault_named(fault_name))
    return [(each, None) for each in fabric_control.active(lab)]


def _list_faults(*, as_json: bool) -> None:
    from sovctl.engine.lab.hardware.fabric_faults import FABRIC_FAULTS
    from sovctl.engine.lab.hardware.fault_table import FAULTS

    rows = [(each.name, each.target.name.lower(), each.shows, dict(each.expects)) for each in FAULTS]
    rows += [(each.name, FABRIC, each.shows, dict(each.expects)) for each in FABRIC_FAULTS]
    if as_json:
        names = ("name", "part", "shows", "expects")
        output.document([dict(zip(names, row, strict=True)) for row in rows])
    else:
        output.table(("fault", "of", "shows"), [row[:3] for row in rows])
