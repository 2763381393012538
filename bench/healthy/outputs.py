"""Output of the commands of hardware checks on a healthy node, by command.

Lines that healthy nodes also print vary: benign messages of the kernel log, bridges with ACS off the path of GPUs,
storage and management adapters.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from sovctl.engine.catalog.board_services import board_services
from sovctl.engine.catalog.platforms import PlatformComponent
from sovctl.engine.checks.definitions.driver import _driver_check
from sovctl.engine.checks.probes.commands import (
    DRIVER_GPUS,
    GPU_REPORT,
    INFINIBAND_ADAPTERS,
    INFINIBAND_TREE,
    KERNEL_LOG,
    LOADED_MODULE,
    LOADED_MODULES,
    PCI_DEVICES,
    PCI_LINKS,
)
from sovctl.engine.facts.inventory import PARTS
from sovctl.engine.lab.standins import dcgm, driver, present, smi_report, smi_text

from .board import DRIVER, HealthyBoard

_MODULES = "nvidia_uvm nvidia_modeset nvidia ib_core ib_uverbs ib_umad mlx5_ib mlx5_core"
_UNITS = "systemctl show -p "
_SPEEDS = {3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_LOG = (
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build",
    "nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for x86_64  580.126.20",
    "EDAC MC: Ver: 3.0.0",
    "EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0: DEV 0000:7e:0c.0",
    "pcieport 0000:15:01.0: AER: enabled with IRQ 45",
    "acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug SHPCHotplug PME AER PCIeCapability LTR]",
    "mlx5_core 0000:18:00.0: firmware version: 28.41.1000",
    "mlx5_core 0000:18:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:18:00.0: mlx5_pcie_event:301:(pid 9): PCIe slot advertised sufficient power (27W).",
    "mlx5_core 0000:18:00.0: Rate limit: 127 rates are supported, range: 0Mbps to 195312Mbps",
)
"""Messages that healthy nodes print; formats of the kernel and of the drivers, with invented addresses."""


def outputs(board: HealthyBoard, source: random.Random) -> dict[str, str]:
    """Return the standard output by command; every exit code is 0."""
    report = _report(board)
    has_links = board.facts["model"]["nvlink_count"] > 0
    found = {
        GPU_REPORT: report,
        f"sleep 20 && {GPU_REPORT}": report,
        "nvidia-smi nvlink -s": _lines(smi_text.nvlink_status(board, board.gpus)) if has_links else "",
        "nvidia-smi nvlink -e": _lines(smi_text.nvlink_errors(board, board.gpus)) if has_links else "",
        "nvidia-smi topo -m": _lines(smi_text.topology(board)),
        "nvidia-smi topo -p2p n": _lines(smi_text.peer_to_peer(board)),
        "nvidia-smi topo -p2p r": _lines(smi_text.peer_to_peer(board, is_read=True)),
        "nvidia-smi --version": _lines(smi_text.versions(board)),
        "nvidia-ctk --quiet cdi list": "".join(f"nvidia.com/gpu={each['index']}\n" for each in board.gpus)
        + "nvidia.com/gpu=all\n",
        "dcgmi discovery -l": dcgm.discovery(board) + "\n",
        "modinfo -F version nvidia": f"{DRIVER}\n",
        "nvidia-imex-ctl -N": _imex(),
        "cat /proc/uptime": f"{source.uniform(4e3, 4e6):.2f} {source.uniform(4e3, 4e6):.2f}\n",
        LOADED_MODULE: driver.version_text(DRIVER),
        LOADED_MODULES: "Module                  Size  Used by\n"
        + "".join(f"{name} {source.randint(1, 99) * 4096} 0\n" for name in _MODULES.split()),
        _driver_check.REBOOT: "none\n",
        DRIVER_GPUS: "".join(f"{path.partition('/')[0]}\n{text}" for path, text in driver.gpu_files(board).items()),
        KERNEL_LOG: _kernel_log(source),
        PARTS: _parts(board),
        INFINIBAND_TREE: _infiniband(board, source),
        "lspci -vvv": _lspci(board, source),
        **_pci(board),
    }
    names = {line.partition("/")[0] for line in found[INFINIBAND_TREE].splitlines()}
    return {**found, INFINIBAND_ADAPTERS: f"{len(names)}\n"}


def output_of(command: str, known: Mapping[str, str], board: HealthyBoard) -> str | None:
    """Return the output of a command; None if it is not one of a hardware check."""
    if command.startswith(_UNITS):
        return "\n".join(
            f"Id={unit}\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=77\n"
            for unit in command.split()[4:]
        )
    if command.startswith("pgrep -x "):
        return "".join(f"{each.process} runs\n" for each in board_services(board.platform) if each.process)
    return known.get(command)


def _report(board: HealthyBoard) -> str:
    text, state = smi_report.log_xml(board, board.gpus), board.platform.checks.fabric_state
    if board.is_rack_scale:
        text = text.replace("<cliqueId>0<", "<cliqueId>32766<")
        return text.replace("00000000-0000-0000-0000-000000000000", "5d8e1f0a-7d3b-4a70-9b1e-3c2f4d5e6f70")
    if state is None or state.value is None:
        text = re.sub(r"(<fabric>\s*<state>).*?(</state>\s*<status>).*?(</status>)", r"\1N/A\2N/A\3", text)
    return text


def _lines(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _imex() -> str:
    rows = "".join(f"Node #{index}   - 192.0.2.{index + 1} - READY - Version: {DRIVER}\n" for index in range(18))
    return f"Nodes:\n{rows}\nDomain State: UP\n"


def _kernel_log(source: random.Random) -> str:
    seconds, lines = 0.0, ["Linux version 6.8.0-1014-nvidia (invented)"]
    lines += source.sample(_LOG, source.randint(1, len(_LOG)))
    text = ""
    for line in lines:
        text += f"[{seconds:12.6f}] host kernel: {line}\n"
        seconds += source.uniform(0.0, 3.0)
    return text


def _parts(board: HealthyBoard) -> str:
    plate = board.facts["plate"]
    rows = [("system", "", f"{plate['sys_vendor']} {plate['product_name']}", plate["product_serial"], "1.6.7")]
    rows += [("nic", each["pci_bus_id"], "MT4129 MT_0000000838", each["guid"], "28.41.1000") for each in board.nics]
    rows += [
        ("nvme", f"0000:{0x20 + index:02x}:00.0", "KIOXIA KCM6DRUL3T84", f"{plate['product_serial']}-{index}", "0107")
        for index in range(8)
    ]
    return "".join("\t".join(row) + "\n" for row in rows)


def _infiniband(board: HealthyBoard, source: random.Random) -> str:
    text = ""
    for nic in board.nics:
        files = {path.partition("/")[2]: content for path, content in present.class_tree(board).items()}
        name = nic["name"]
        text += f"{name}/slot:{nic['pci_bus_id']}\n"
        text += "".join(
            f"{path}:{content}"
            for path, content in files.items()
            if path.startswith(f"{name}/") and isinstance(content, str)
        )
    if PlatformComponent.NVLINK5 in board.platform.parts:
        text += "".join(
            f"mlx5_{number}/slot:0000:0{number - 10}:00.0\nmlx5_{number}/vpd_model:SW_MNG\n"
            f"mlx5_{number}/hca_type:MT4129\nmlx5_{number}/ports/1/state:4: ACTIVE\n"
            f"mlx5_{number}/ports/1/link_layer:InfiniBand\n"
            for number in range(12, 16)
        )
    if source.random() < 0.5:
        text += "mlx5_bond_0/hca_type:MT41692\nmlx5_bond_0/ports/1/state:4: ACTIVE\n"
        text += "mlx5_bond_0/ports/1/link_layer:Ethernet\n"
    return text


def _pci(board: HealthyBoard) -> dict[str, str]:
    """Return both lists of the devices on the PCI bus."""
    checks = board.platform.checks
    switch = checks.nvswitch_pci_id.value if checks.nvswitch_pci_id else None
    rows = [("0000:00:00.0", "0x8086", "0x1237", "0x060000", "-1", "-", "-")]
    for gpu in board.gpus:
        address = gpu["pci_bus_id"].lower().removeprefix("0000")
        device = f"0x{board.facts['model']['pci_device_id'][:4].lower()}"
        speed = _SPEEDS[gpu["pcie_gen"]]
        rows.append((address, "0x10de", device, "0x030200", str(gpu["numa_node"]), speed, str(gpu["pcie_width"])))
    rows += [
        (nic["pci_bus_id"], "0x15b3", "0x1021", "0x020700", str(nic["numa_node"]), "32.0", "16") for nic in board.nics
    ]
    rows += [(each, "0x10de", f"0x{switch}", "0x068000", "0", "16.0", "2") for each in board.facts["nvswitches"]]
    return {
        PCI_LINKS: "".join(" ".join(row) + "\n" for row in rows),
        PCI_DEVICES: "".join(" ".join(row[1:4]) + "\n" for row in rows),
    }


def _lspci(board: HealthyBoard, source: random.Random) -> str:
    """Return a switch for each GPU with its adapter, and bridges elsewhere with ACS and downgraded links."""
    flags = "ReqRedir{0} CmpltRedir{0} UpstreamFwd{0} EgressCtrl- DirectTrans-"
    blocks = []
    for index in range(source.randint(0, 6)):
        sign, speed = source.choice("+-"), source.choice(("ok", "downgraded"))
        blocks.append(
            f"00:{index + 1:02x}.0 PCI bridge: Example Chipset\n\tBus: primary=00, secondary={index + 1:02x}, "
            f"subordinate={index + 1:02x}, sec-latency=0\n\t\tLnkSta:\tSpeed 5GT/s ({speed}), Width x1 (ok)\n"
            f"\t\tACSCtl:\tSrcValid{sign} TransBlk- {flags.format(sign)}\n"
        )
    link = "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n"
    for index in range(len(board.gpus)):
        bus = 0x10 + 2 * index
        blocks.append(
            f"{bus:02x}:01.0 PCI bridge: Example Switch\n\tBus: primary={bus:02x}, secondary={bus + 1:02x}, "
            f"subordinate={bus + 1:02x}, sec-latency=0\n{link}\t\tACSCtl:\tSrcValid- TransBlk- {flags.format('-')}\n"
        )
        blocks.append(f"{bus + 1:02x}:00.0 3D controller: NVIDIA Corporation Device\n{link}")
        if index < len(board.nics):
            blocks.append(f"{bus + 1:02x}:01.0 Infiniband controller: Mellanox Technologies MT2910\n{link}")
    return "\n".join(blocks)
