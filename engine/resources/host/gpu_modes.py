"""Modes of the GPUs: persistence mode enabled, and MIG as site.yaml divides the GPUs. Never run on a GPU with MIG.

- `all`: persistence mode, and MIG disabled on nodes whose GPUs are whole. A GPU in use keeps its mode, and apply fails.
- `mps-N`: the control daemon of CUDA MPS of GPU N, for the pools of an MPS group (`mps`).
- `mig`: the instances of each GPU of a divided node. They do not survive a reboot, so a unit creates them before the
  pools start. Their UUIDs are new each time: the unit lists them, and the launcher of a pool reads the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_text

from ...facts.hardware.mig import parse_gpu_instances, parse_uuids
from ...facts.node import NodeFacts
from ...spec import Node
from ..context import ROLES, Context
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from . import mps

COMMAND = ["nvidia-smi", "--query-gpu=index,persistence_mode,mig.mode.current", "--format=csv,noheader"]
INSTANCES = {"mig_instances": ["nvidia-smi", "mig", "-lgi"], "mig_uuids": ["nvidia-smi", "-L"]}
UNIT = "sovctl-mig"
LAYOUT = "/etc/sovctl-mig/layout.json"
PROGRAM = "/usr/local/lib/sovctl/mig"
UNIT_FILE = f"/etc/systemd/system/{UNIT}.service"
DEVICES = f"/run/{UNIT}/devices.json"
"""UUIDs of the instances, by their names; written by the unit."""
MINUTES = 2.0
"""Time to create the instances; a guess, 2026-11."""
_WITHOUT_MIG = ("[N/A]", "N/A", "[Not Supported]")


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if not context.platform(node).has_gpus:
        return
    yield from mps.orphans(context, node, facts)
    devices = context.mig_devices(node)
    yield Desired(
        kind="gpu_modes",
        name="all",
        state={"persistence": "Enabled"} if devices else {"persistence": "Enabled", "mig": "Disabled"},
        why="the driver stays loaded" if devices else "the driver stays loaded, and pools use whole GPUs",
        risk=Risk.WORKLOAD,
        variables={"has_whole_gpus": not devices},
    )
    if devices:
        layout = layout_text(context, node)
        yield Desired(
            kind="gpu_modes",
            name="mig",
            state={
                **{f"GPU {gpu}": names for gpu, names in json.loads(layout)["gpus"].items()},
                "uuids_are_current": True,
                "layout_sha256": sha256_hex(layout),
                "program_sha256": sha256_hex(package_text(ROLES / "gpu_modes" / "files" / "mig")),
                "unit_sha256": sha256_hex(package_text(ROLES / "gpu_modes" / "files" / f"{UNIT}.service")),
                "active": "active",
                "enabled": "enabled",
            },
            why="pools use MIG instances; all pools of the node stop while they are created",
            variables={"layout": layout},
            risk=Risk.WORKLOAD,
            minutes=MINUTES,
        )
    yield from mps.expected(context, node)


def layout_text(context: Context, node: Node) -> str:
    """Return the file of a node with the instances of each GPU, by place: `3g.40gb@4`; none for a whole GPU."""
    gpus: dict[str, list[str]] = {}
    for each in context.mig_devices(node):
        names = gpus.setdefault(str(each.gpu), [])
        if each.profile is not None:
            names.append(f"{each.profile}@{each.start}")
    return json.dumps({"gpus": gpus}, sort_keys=True) + "\n"


def modes(text: str) -> dict[str, str | None]:
    """Return the common value of each mode; the values with their GPUs if they differ; None without a GPU."""
    rows = [[word.strip() for word in line.split(",")] for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != 3 for row in rows):
        return {"persistence": None, "mig": None}
    mig = ["Disabled" if row[2] in _WITHOUT_MIG else row[2] for row in rows]
    indices = [row[0] for row in rows]
    return {"persistence": _common(indices, [row[1] for row in rows]), "mig": _common(indices, mig)}


def _common(indices: list[str], values: list[str]) -> str:
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"GPU {index} {value}" for index, value in zip(indices, values, strict=True))


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if desired.name.startswith(mps.PREFIX):
        return mps.observed(facts, desired)
    answer = facts.answers.get("gpu_modes", {})
    if answer.get("exit_code") != 0:  # no driver yet, or it does not answer
        return None
    return modes(str(answer["stdout"])) if desired.name == "all" else _observed_layout(facts, desired.variables)


def _observed_layout(facts: NodeFacts, variables: Mapping[str, Any]) -> State:
    answers = {name: str(facts.answers.get(name, {}).get("stdout", "")) for name in INSTANCES}
    instances, unit = parse_gpu_instances(answers["mig_instances"]), facts.units.get(UNIT)
    found = {f"GPU {gpu}": instances.get(int(gpu), []) for gpu in json.loads(variables["layout"])["gpus"]}
    listed = devices(facts)
    return {
        **found,
        "uuids_are_current": sorted(listed.values()) == sorted(parse_uuids(answers["mig_uuids"])),
        "layout_sha256": facts.sha256(LAYOUT),
        "program_sha256": facts.sha256(PROGRAM),
        "unit_sha256": facts.sha256(UNIT_FILE),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
    }


def devices(facts: NodeFacts) -> dict[str, str]:
    """Return the UUIDs of the instances of a node by name, as the unit wrote them; empty without the file."""
    try:
        found = json.loads(facts.texts.get(DEVICES) or "{}")
    except (ValueError, RecursionError):
        return {}
    return {str(name): str(uuid) for name, uuid in found.items()} if isinstance(found, dict) else {}


def _query(context: Context, node: Node) -> Query:
    if not context.platform(node).has_gpus:
        return Query()
    units = tuple(mps.unit_file(gpu) for gpu in range(context.platform(node).gpus))
    if not context.mig_devices(node):
        services = tuple(mps.unit_name(gpu) for gpu in mps.pools_by_gpu(context, node))
        return Query(hash=units, units=services, commands={"gpu_modes": COMMAND})
    return Query(
        hash=(LAYOUT, PROGRAM, UNIT_FILE, *units),
        read=(DEVICES,),
        units=(UNIT,),
        commands={"gpu_modes": COMMAND, **INSTANCES},
    )


RESOURCE_TYPE = ResourceType("gpu_modes", _expect, _observe, _query)
