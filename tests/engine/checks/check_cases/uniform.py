"""Cases of the checks that compare nodes."""

from __future__ import annotations

from dataclasses import replace

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.model.fleet_check import Expected
from sovctl.engine.facts.inventory import Inventory, Part

NODES = ("dgx-1", "dgx-2", "dgx-3")
PARTS = (
    Part("gpu", "0000:1b:00.0", "NVIDIA H100 80GB HBM3", "1", "96.00.99.00.01"),
    Part("nic", "0000:18:00.0", "MT4129 MT_0000000838", "2", "28.41.1000"),
    Part("nvme", "0000:22:00.0", "KIOXIA KCM6DRUL3T84", "3", "0107"),
    Part("system", "", "NVIDIA DGXH100", "4", "1.6.7"),
)


def inventories(kind: str = "", **odd: str | None) -> dict[str, str | tuple[int, str]]:
    """Three equal nodes with serial numbers of their own; `odd` are values of the part of `kind` of dgx-2."""
    found: dict[str, str | tuple[int, str]] = {}
    for node in NODES:
        parts = tuple(replace(part, serial=f"{node}-{part.serial}") for part in PARTS)
        if node == "dgx-2":
            parts = tuple(replace(part, **odd) if part.kind == kind else part for part in parts)
        found[node] = Inventory(parts).to_json()
    return found


def _sample(kind: str, field: str, value: str, word: str) -> Sample:
    return Sample(
        Expected(subject="dgx", nodes=NODES),
        inventories(),
        {
            "another": Bad(inventories(kind, **{field: value}), FAIL, word),
            "not-stated": Bad(inventories(kind, **{field: None}), UNKNOWN, "of dgx-2"),
            "not-measured": Bad({"dgx-2": (1, "ssh to the node failed")}, UNKNOWN, "ssh to the node failed"),
            "another-form": Bad({"dgx-3": "{}"}, UNKNOWN, "an inventory"),
        },
        tuple(f"{node}-4" for node in NODES),
    )


SAMPLES = {
    "uniform.bios": _sample("system", "firmware", "1.5.0", "1.5.0"),
    "uniform.gpu-firmware": _sample("gpu", "firmware", "96.00.68.00.01", "on dgx-2, as on 2 of 3 nodes"),
    "uniform.gpu-model": _sample("gpu", "model", "NVIDIA H200", "NVIDIA H200"),
    "uniform.gpu-serial": _sample("gpu", "serial", "dgx-1-1", "dgx-1 0000:1b:00.0 and dgx-2 0000:1b:00.0"),
    "uniform.nic-firmware": _sample("nic", "firmware", "28.39.1002", "28.39.1002"),
    "uniform.nic-serial": _sample("nic", "serial", "dgx-3-2", "dgx-3-2"),
    "uniform.nvme-firmware": _sample("nvme", "firmware", "0105", "0105"),
    "uniform.system-model": _sample("system", "model", "Dell PowerEdge XE9680", "XE9680"),
    "uniform.system-serial": _sample("system", "serial", "dgx-1-4", "dgx-1 and dgx-2"),
}
