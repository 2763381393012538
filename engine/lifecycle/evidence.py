"""Verdicts of nodes in evidence: the reasons of sick nodes. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.verdict import Verdict

from .remedies import LADDER, Remedy

HARDWARE = (
    *("gpu.", "vram.", "bus.", "nvlink.", "ib.", "xid.", "memory.", "disk.", "bmc."),
    *("diagnostic.", "bandwidth.", "nccl."),
)
"""Prefixes of checks of hardware. Each topic of hardware is here; a test compares them with the registry."""

SETTINGS = frozenset(
    {
        *("gpu.persistence", "gpu.mig-as-planned", "gpu.clocks-max", "gpu.power-limit", "gpu.no-foreign-processes"),
        *("vram.ecc-setting-kept", "bus.acs-off-on-path", "bus.numa-split"),
        *("ib.node-description-set", "ib.subnet-manager-known", "nccl.nvls-used"),
        *("memory.swap-off", "memory.hugepages", "disk.encrypted", "disk.free-space", "disk.mounts-as-planned"),
    }
)
"""Checks of settings in these topics. Plan, apply or an operator correct them, and the node is not sick."""

LEAST: Mapping[str, Remedy] = {
    "gpu.count": Remedy.REBOOT,
    "gpu.ecc": Remedy.RESET_GPU,
    "gpu.row-remap": Remedy.RESET_GPU,
    "gpu.recovery-action": Remedy.RESET_GPU,
    "gpu.pcie-link": Remedy.AC_CYCLE,
    "vram.no-pending-repair": Remedy.RESET_GPU,
    "vram.retired-pages": Remedy.RESET_GPU,
    "vram.size": Remedy.ISOLATE,
    "vram.sram-threshold": Remedy.ISOLATE,
    "nvlink.": Remedy.RESET_GPU,
    "nvlink.switches-present": Remedy.AC_CYCLE,
    "xid.no-adapter-faults": Remedy.AC_CYCLE,
    "xid.no-bus-errors": Remedy.AC_CYCLE,
    "xid.no-switch-errors": Remedy.RESET_GPU,
    "memory.": Remedy.ISOLATE,
    "disk.": Remedy.ISOLATE,
}
"""Lowest remedy that can help, by check id or prefix; the longest one counts. It is the step that the check itself
names; a guess where a part must be replaced: `isolate`."""

LEAST_BY_ACTION: Mapping[str, Remedy] = {
    "RESET_GPU": Remedy.RESET_GPU,
    "WORKFLOW_NVLINK_ERR": Remedy.RESET_GPU,
    "WORKFLOW_XID_48": Remedy.RESET_GPU,
    "RESTART_VM": Remedy.REBOOT,
    "RESTART_BM": Remedy.REBOOT,
    "CHECK_MECHANICALS": Remedy.ISOLATE,
    "CONTACT_SUPPORT": Remedy.ISOLATE,
}
"""Lowest remedy by the action of an Xid in NVIDIA's catalogue, which the reason of `xid.none-since-boot` names."""


@dataclass(frozen=True)
class Sickness:
    """Failed hardware checks of one node.

    Args:
        least: lowest remedy that can help with all of them.
    """

    reason: str
    least: Remedy = Remedy.RESTART_APPLICATION


def is_hardware(check_id: str) -> bool:
    """Return whether a failure of the check makes a node sick."""
    return check_id.startswith(HARDWARE) and check_id not in SETTINGS


def sick_nodes(records: Iterable[Evidence]) -> dict[str, Sickness]:
    """Return the failed hardware checks by node. UNKNOWN prevents a certification, and does not make a node sick."""
    failed: dict[str, list[Evidence]] = defaultdict(list)
    for each in records:
        if each.verdict is Verdict.FAIL and is_hardware(each.check_id):
            failed[node_of(each)].append(each)
    return {
        node: Sickness(
            "failed: " + ", ".join(sorted({each.check_id for each in own})),
            max(map(_least, own), key=LADDER.index),
        )
        for node, own in failed.items()
    }


def _least(evidence: Evidence) -> Remedy:
    of_check = [each for each in LEAST if evidence.check_id.startswith(each)]
    found = [LEAST[max(of_check, key=len)]] if of_check else []
    found += [remedy for action, remedy in LEAST_BY_ACTION.items() if f"action {action}" in evidence.reason]
    return max(found, key=LADDER.index, default=Remedy.RESTART_APPLICATION)


def node_of(evidence: Evidence) -> str:
    """Return the name of the node of a record."""
    return evidence.target.partition("/")[0]
