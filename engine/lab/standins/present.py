"""Presents the simulated hardware of a node below /sys: DMI, PCI and InfiniBand.

Runs at boot, and after each change of the facts. The layers cover /sys/class and /sys/bus/pci/devices only, because a
layer over /sys would hide systemd's control groups.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .board import SIMULATED, Board, Facts

WORK_FOLDER = "run/sovctl-lab/sys"
# PCI identities: vendor, device, class, subsystem vendor, subsystem device. Source: pci.ids; captures for the GPU.
_GPU = (0x10DE, 0x2330, 0x030200, 0x10DE, 0x16C1)
_NVSWITCH = (0x10DE, 0x22A3, 0x068000, 0x10DE, 0x1796)
_CONNECTX7 = (0x15B3, 0x1021, 0x020700, 0x15B3, 0x0041)
_PCIE_SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
_FIRMWARE = "28.41.1000"  # of a ConnectX-7 (capture of leptonai/gpud, 8xH100)
_ADAPTER_BOARD = "MT_0000000838"


def class_tree(board: Board) -> dict[str, str | bytes | Path]:
    """Return the layer over /sys/class: content by path, or the target of a link."""
    plate = board.facts.get("plate", {})
    tree: dict[str, str | bytes | Path] = {f"dmi/id/{name}": f"{value}\n" for name, value in plate.items()}
    if plate:
        tree["dmi/id/board_vendor"] = f"{plate['sys_vendor']}\n"
        tree["dmi/id/product_version"] = f"{SIMULATED}\n"
    for nic in board.nics:
        tree.update(_adapter(nic))
        tree[f"infiniband/{nic['name']}/device"] = Path("/sys/bus/pci/devices") / nic["pci_bus_id"]
    if board.nics:
        tree["infiniband_mad/abi_version"] = "5\n"
        tree["infiniband_verbs/abi_version"] = "6\n"
    return tree


def _adapter(nic: Facts) -> dict[str, str | bytes]:
    """Return the files of one adapter, below /sys/class/infiniband/NAME."""
    guid = ":".join(nic["guid"][start : start + 4] for start in range(0, 16, 4))
    port = {
        "state": nic["state"],
        "phys_state": nic["phys_state"],
        "rate": nic["rate"],
        "link_layer": "InfiniBand",
        "lid": f"0x{nic['rail'] + 1:x}",
        "sm_lid": "0x1",
        "lid_mask_count": "0",
        "sm_sl": "0",
        "cap_mask": "0xa651e848",
        "gids/0": f"fe80:0000:0000:0000:{guid}",
        "pkeys/0": "0xffff",
        "counters/symbol_error": str(nic["symbol_errors"]),
        "counters/link_downed": str(nic["link_downed"]),
        **{f"counters/{name}": "0" for name in _COUNTERS},
    }
    device = {
        "node_type": "1: CA",
        "node_guid": guid,
        "sys_image_guid": guid,
        "node_desc": f"{nic['name']} {SIMULATED}",
        "fw_ver": _FIRMWARE,
        "hca_type": "MT4129",
        "hw_rev": "0",
        "board_id": _ADAPTER_BOARD,
        **{f"ports/1/{name}": value for name, value in port.items()},
    }
    return {f"infiniband/{nic['name']}/{name}": f"{value}\n" for name, value in device.items()}


_COUNTERS = (
    "link_error_recovery",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_rcv_data",
    "port_xmit_data",
)


def pci_tree(board: Board) -> dict[str, str | bytes]:
    """Return the layer over /sys/bus/pci/devices: content by path."""
    tree: dict[str, str | bytes] = {}
    for gpu in board.gpus:
        address = gpu["pci_bus_id"].lower().removeprefix("0000")
        tree.update(_device(address, _GPU, gpu["numa_node"], gpu["pcie_gen"], gpu["pcie_width"]))
    for nic in board.nics:
        tree.update(_device(nic["pci_bus_id"], _CONNECTX7, nic["numa_node"], 5, 16))
    for address in board.facts.get("nvswitches", []):
        tree.update(_device(address, _NVSWITCH, 0, 4, 2))
    return tree


def _device(
    address: str, identity: tuple[int, int, int, int, int], numa_node: int, gen: int, width: int
) -> dict[str, str | bytes]:
    vendor, device, kind, sub_vendor, sub_device = identity
    files: dict[str, str | bytes] = {
        "vendor": f"0x{vendor:04x}\n",
        "device": f"0x{device:04x}\n",
        "class": f"0x{kind:06x}\n",
        "subsystem_vendor": f"0x{sub_vendor:04x}\n",
        "subsystem_device": f"0x{sub_device:04x}\n",
        "revision": "0xa1\n",
        "irq": "0\n",
        "numa_node": f"{numa_node}\n",
        "current_link_speed": f"{_PCIE_SPEEDS[gen]}\n",
        "current_link_width": f"{width}\n",
        "max_link_speed": f"{_PCIE_SPEEDS[5]}\n",
        "max_link_width": "16\n",
        "resource": "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 7,
        "config": configuration(identity),
    }
    return {f"{address}/{name}": content for name, content in files.items()}


def configuration(identity: tuple[int, int, int, int, int]) -> bytes:
    """Return the first 64 bytes of a device's configuration space (PCI 3.0, 6.1)."""
    vendor, device, kind, sub_vendor, sub_device = identity
    space = bytearray(64)
    space[0:2], space[2:4] = vendor.to_bytes(2, "little"), device.to_bytes(2, "little")
    space[8], space[9:12] = 0xA1, kind.to_bytes(3, "little")
    space[0x2C:0x2E], space[0x2E:0x30] = sub_vendor.to_bytes(2, "little"), sub_device.to_bytes(2, "little")
    return bytes(space)


def main(root: Path = Path("/")) -> int:
    """Replace both layers. Return the exit code, 0."""
    board = Board(root)
    for name, target, tree in (
        ("class", root / "sys/class", class_tree(board)),
        ("pci", root / "sys/bus/pci/devices", pci_tree(board)),
    ):
        layer = root / WORK_FOLDER / name
        _unmount(target)
        shutil.rmtree(layer, ignore_errors=True)
        for path, content in tree.items():
            file = layer / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                file.symlink_to(content)
            else:
                file.write_bytes(content.encode() if isinstance(content, str) else content)
        if tree and target.is_dir():
            _mount("-t", "overlay", "sovctl-lab", "-o", f"lowerdir={layer}:{target}", str(target))
    return 0


def _unmount(target: Path) -> None:
    """Unmount the layer, also if a process uses it."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, point = line.split()[:2]
        if source == "sovctl-lab" and point == str(target):
            subprocess.run(["umount", "--lazy", str(target)], check=True, timeout=10)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, timeout=10)
