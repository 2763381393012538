"""Hardware settings of a GPU server that a restart resets: CPU governor, ACS, relaxed ordering, power of bridges.

- A unit sets them at each boot; the observed values are those of the devices now.
- ACS is changed only on the bridges above GPUs and NICs. NVIDIA: not one value for every device with ACS.
- The program writes PCI configuration space. A kernel with Secure Boot rejects this (lockdown), and apply fails then.
- A container or virtual machine has no such resource: its host owns the devices.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_text

from ...catalog.host_settings import SetBy
from ...facts.node import NodeFacts
from ...facts.operating_system import Virtualization
from ...spec import Node
from ..context import ROLES, Context, render
from ..resource import Desired, State
from ..resource_type import Query, ResourceType
from .kernel import is_dgx_os, settings_on

PROGRAM, UNIT_FILE = "/usr/local/lib/sovctl/hardware_settings", "/etc/systemd/system/sovctl-hardware.service"
UNIT = "sovctl-hardware"
SOURCE = ROLES / "hardware" / "files" / "hardware_settings"


def _is_metal(facts: NodeFacts | None) -> bool:
    return facts is None or facts.system.virtualization not in (Virtualization.CONTAINER, Virtualization.VM)


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if not context.platform(node).has_gpus or not _is_metal(facts):
        return
    rows = settings_on(context, node)
    governor = next((each.value for each in rows if each.set_by is SetBy.GOVERNOR), "")
    pci = [each.value for each in rows if each.set_by is SetBy.PCI]
    arguments = [*(["--governor", governor] if governor else []), *(word for each in pci for word in ("--pci", each))]
    is_asserted = is_dgx_os(facts)
    state: dict[str, object] = {**({"governors": governor} if governor else {}), **{name: [] for name in pci}}
    if not state:
        return
    if not is_asserted:
        text = render("hardware", "unit.service.j2", arguments=arguments)
        state |= {
            "program_sha256": sha256_hex(package_text(SOURCE)),
            "unit_sha256": sha256_hex(text),
            "enabled": "enabled",
        }
    yield Desired(
        kind="hardware",
        name="settings",
        state=state,
        why="DGX OS sets them; compared only" if is_asserted else "as DGX OS has them, now and at each boot",
        variables={"arguments": arguments, "is_asserted": is_asserted},
    )


def _observe(facts: NodeFacts, desired: Desired) -> State:
    observed = json.loads(facts.answer("hardware"))
    wanted, unit = desired.state or {}, facts.units.get(UNIT)
    state: dict[str, object] = {
        "program_sha256": facts.sha256(PROGRAM),
        "unit_sha256": facts.sha256(UNIT_FILE),
        "enabled": unit.enabled if unit else None,
    }
    # Without GPUs on the bus their paths are not measured. Simulated GPUs are not on the bus.
    is_measured = observed["gpus"] > 0 or facts.simulated
    for key in wanted:
        if key in observed:
            state[key] = observed[key] if is_measured else None
    # A processor without frequency control has no governor, and always runs at its own frequency.
    found = observed["governors"]
    state["governors"] = wanted.get("governors") if not found else " and ".join(found)
    return state


def _query(context: Context, node: Node) -> Query:
    if not context.platform(node).has_gpus:
        return Query()
    return Query(
        hash=(PROGRAM, UNIT_FILE),
        units=(UNIT,),
        commands={"hardware": ["python3", "-c", package_text(SOURCE), "--observe"]},
    )


RESOURCE_TYPE = ResourceType("hardware", _expect, _observe, _query)
