"""A node's disk made by hand, for the stand-ins; and a lab that is up, for everything else."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.engine.checks.definitions.bandwidth import _nvbandwidth_check
from sovctl.engine.checks.definitions.bmc import _controller, power_redundant, separate_network
from sovctl.engine.checks.definitions.bus import _bus_check
from sovctl.engine.checks.definitions.diagnostic import _dcgm_check
from sovctl.engine.checks.definitions.driver import _driver_check
from sovctl.engine.checks.definitions.firmware import _versions
from sovctl.engine.checks.definitions.gpu import _gpu_check, no_foreign_processes
from sovctl.engine.checks.definitions.ib import _ports
from sovctl.engine.checks.definitions.memory import size as memory_size
from sovctl.engine.checks.definitions.nvlink import _links, fabric_ready, switches_present
from sovctl.engine.checks.definitions.xid import _log_check
from sovctl.engine.checks.model.active_check import ActiveCheck, ActiveExpectation
from sovctl.engine.checks.model.check import Check, Expectation, judge
from sovctl.engine.checks.model.probe import MARK, ProbeOutput
from sovctl.engine.checks.probes import gpu_settings
from sovctl.engine.checks.registry import CHECKS as REGISTRY
from sovctl.engine.lab.hardware.inventory import NIC_BUSES
from sovctl.engine.lab.layout import NODES, Lab, LabNode, node_named
from sovctl.engine.lab.lifecycle import lifecycle
from sovctl.engine.lab.linux.process import run
from sovctl.engine.lab.node import shell
from sovctl.engine.lab.standins import (
    board,
    container_toolkit,
    dcgm,
    dcgm_diagnostic,
    dmi,
    driver,
    fabricmanager,
    ipmi,
    kernel,
    nvbandwidth,
    nvidia_smi,
    present,
)

GPU_NODE = NODES[0]
VERSION = "580.126.20"
NOW_S = 1_780_000_000
BOOT_ID = "11111111-2222-4333-8444-555555555555"


@dataclass
class Disk:
    """The root of a GPU node as the stand-ins see it, without the node."""

    root: Path

    def lay(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def change(self, facts: dict[str, Any]) -> None:
        self.lay(board.FACTS_FILE, json.dumps(facts))

    def load(self, version: str | None, *, library: str = VERSION) -> None:
        self.lay(board.LIBRARY_VERSION_FILE, library)
        self.lay(board.LOADED_VERSION_FILE, version or "")

    def run_daemon(self, pid_file: str, version: str) -> None:
        """As if a process of that version were there."""
        self.lay(pid_file, f"77 {version}\n")
        (self.root / "proc/77").mkdir(parents=True, exist_ok=True)

    @property
    def board(self) -> board.Board:
        return board.Board(self.root)


@dataclass(frozen=True)
class OwnLab:
    """A lab that is up, and the folder that `up` wrote."""

    lab: Lab
    directory: Path

    def on(self, node: str | LabNode, command: str, *, timeout_s: float = 60) -> str:
        """What a shell command prints on a node; fails when it does."""
        target = node_named(node) if isinstance(node, str) else node
        words = shell.ssh_command(self.lab, target, [command])
        return run(words, purpose=f"run a command on {target.name}", timeout_s=timeout_s)

    def up(self) -> list[str]:
        """Bring it up again; returns what was said."""
        said: list[str] = []
        lifecycle.up(self.lab, directory=self.directory, mirror_uri=None, progress=said.append)
        return said


def verdicts(disk: Disk) -> dict[str, str]:
    """What the hardware checks say of a node: the real judges on what the stand-ins print, without a machine.

    Returns:
        The verdict by check id.
    """
    answers = _answers(disk)
    text = "".join(f"{MARK} begin {name}\n{said}\n{MARK} end {name} {code}\n" for name, (code, said) in answers.items())
    output = ProbeOutput(0, text, "")
    checks = {check.id: check for check in REGISTRY}
    found = {name: judge(checks[name], output, expected).verdict.value for name, expected in EXPECTATIONS.items()}
    return found | {check.id: _active_verdict(disk, check) for check in REGISTRY if check.id in ACTIVE_EXPECTATIONS}


def _active_verdict(disk: Disk, check: Check[Any]) -> str:
    """The verdict of an active check whose commands are answered by the stand-ins."""
    assert isinstance(check, ActiveCheck)
    expected = ACTIVE_EXPECTATIONS[check.id]
    text = ""
    for command in check.commands(expected):
        code, said = _active_answer(disk, command.command)
        text += f"{MARK} begin {command.name}\n{said}\n{MARK} end {command.name} {code}\n"
    return judge(check, ProbeOutput(0, text, ""), expected).verdict.value


def _active_answer(disk: Disk, command: str) -> tuple[int, str]:
    words = shlex.split(command.splitlines()[-1])
    if words[0] == "dcgmi":
        return dcgm_diagnostic.run(disk.board, words[2:], "4.6.0")
    if disk.board.facts["diagnostics"]["hangs"]:
        return 124, ""
    return nvbandwidth.answer(disk.board, words[words.index("-j") :])


_GPU = _gpu_check.Expected(gpu_count=8, pci_device_id="2330", pcie_gen=5, pcie_width=16)
_LINKS = _links.Expected(gpu_count=8, links_per_gpu=18, link_gb_s=26.562, topology="NV18")
_FABRIC = fabric_ready.Expected(
    gpu_count=8, services=("nvidia-fabricmanager",), state="Completed", status="Success", health=None, has_cluster=False
)
_SETTINGS = gpu_settings.Expected(gpu_count=8, power_limit_w=700.0, sm_clock_mhz=1980, memory_mib=81559)
_BUS = _bus_check.Expected(gpu_count=8, has_two_sockets=True)
_DRIVER = _driver_check.Expected(
    gpu_count=8,
    modules=("nvidia", "nvidia_uvm", "ib_core", "ib_uverbs", "mlx5_ib"),
    units=("nvidia-fabricmanager",),
    toolkit_version="1.19.0",
)
EXPECTATIONS: dict[str, Expectation] = {
    **dict.fromkeys(
        ("gpu.count", "gpu.ecc", "gpu.row-remap", "gpu.persistence", "gpu.pcie-link", "gpu.temperature"), _GPU
    ),
    **dict.fromkeys(("nvlink.links-active", "nvlink.errors-zero", "nvlink.no-flapping", "nvlink.peer-access"), _LINKS),
    "nvlink.fabric-ready": _FABRIC,
    **dict.fromkeys(
        (
            "ib.ports-active",
            "ib.counters-zero",
            "ib.subnet-manager-known",
            "ib.node-description-set",
            "ib.psid-uniform",
        ),
        _ports.Expected(ports=8, rate_gbit_s=400.0, compute=frozenset(f"0000:{bus.lower()}:00.0" for bus in NIC_BUSES)),
    ),
    **{check.id: _SETTINGS for check in REGISTRY if isinstance(check, gpu_settings.SettingsCheck)},
    **dict.fromkeys(("bus.views-agree", "bus.identities-unique", "bus.numa-split"), _BUS),
    **dict.fromkeys(("nvlink.read-access", "nvlink.nic-affinity", "nvlink.fabric-manager-log-clean"), _LINKS),
    "nvlink.switches-present": switches_present.Expected(count=4, pci_device_id="22a3"),
    **dict.fromkeys(
        (
            "driver.modules-loaded",
            "driver.no-nouveau",
            "driver.gsp-firmware-equal",
            "driver.module-equals-tool",
            "driver.module-is-open",
            "driver.cdi-lists-every-gpu",
            "driver.dcgm-host-engine",
            "driver.container-toolkit-exact",
        ),
        _DRIVER,
    ),
    **{check.id: _controller.Expected() for check in REGISTRY if isinstance(check, _controller.ControllerCheck)},
    "bmc.power-redundant": power_redundant.Expected(count=6),
    "bmc.separate-network": separate_network.Expected(),
    "firmware.bios": _versions.Expected(versions=("1.6.7",)),
    "firmware.bmc": _versions.Expected(versions=("23.09",)),
    **dict.fromkeys(("firmware.gpu", "firmware.nic"), _versions.Expected()),
    "gpu.no-foreign-processes": no_foreign_processes.Expected(units=()),
    "memory.size": memory_size.Expected(memory_gib=2048),
    **dict.fromkeys(
        ("xid.none-since-boot", "xid.no-switch-errors", "xid.no-adapter-faults", "xid.no-bus-errors"),
        _log_check.Expected(driver_branch=580),
    ),
}


_ADDRESS = {"family": "inet", "local": GPU_NODE.address, "prefixlen": 24}


def _diagnostic(**values: float) -> _dcgm_check.Expected:
    return _dcgm_check.Expected(nodes=("n1",), gpu_count=8, **values)  # type: ignore[arg-type]


def _rate(minimum_gb_s: float) -> _nvbandwidth_check.Expected:
    return _nvbandwidth_check.Expected(nodes=("n1",), gpu_count=8, minimum_gb_s=minimum_gb_s, repetitions=3)


ACTIVE_EXPECTATIONS: dict[str, ActiveExpectation] = {
    **{f"diagnostic.dcgm-r{level}": _diagnostic() for level in (1, 2, 3, 4)},
    "diagnostic.memory-bandwidth": _diagnostic(target=1_905_000.0),
    "diagnostic.targeted-stress": _diagnostic(target=29_250.0),
    "diagnostic.targeted-power": _diagnostic(target=700.0),
    "diagnostic.soak": _diagnostic(duration_s=14_400),
    "bandwidth.host-to-device": _rate(48.0),
    "bandwidth.device-to-host": _rate(48.0),
    "bandwidth.device-to-device": _rate(335.0),
}

_LINK_FIELDS = ("vendor", "device", "class", "numa_node", "current_link_speed", "current_link_width")


def _answers(disk: Disk) -> dict[str, tuple[int, str]]:
    """Part of a probe to exit code and text, as the probes of these checks ask for it."""
    commands = {
        "gpus": ["-q", "-x"],
        "links": ["nvlink", "-s"],
        "errors": ["nvlink", "-e"],
        "topology": ["topo", "-m"],
        "access": ["topo", "-p2p", "n"],
        "read": ["topo", "-p2p", "r"],
        "tools": ["--version"],
    }
    found = {}
    for name, arguments in commands.items():
        code, lines = nvidia_smi.answer(disk.board, arguments)
        found[name] = (code, "\n".join(lines))
    pci = {path: str(text).strip() for path, text in present.pci_tree(disk.board).items() if "config" not in path}
    places = sorted({path.partition("/")[0] for path in pci})
    bus = [" ".join(pci[f"{place}/{field}"] for field in ("vendor", "device", "class")) for place in places]
    tree = {path.removeprefix("infiniband/"): text for path, text in present.class_tree(disk.board).items()}
    asked = ("fw_ver", "board_id", "hca_type", "node_desc", "/state", "/phys_state", "/rate", "/link_layer", "/sm_lid")
    shown = [
        f"{path}:{str(text).strip()}"
        for path, text in tree.items()
        if "mlx5" in path and (path.endswith(asked) or "/counters/" in path)
    ]
    shown += [f"{path.removesuffix('device')}slot:{to.name}" for path, to in tree.items() if isinstance(to, Path)]
    unit = "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=77\n"
    links = [" ".join([place, *(pci[f"{place}/{field}"].split()[0] for field in _LINK_FIELDS)]) for place in places]
    hardware = disk.board
    proc = driver.gpu_files(hardware) if hardware.loaded_version else {}
    module = driver.version_text(VERSION, is_open=hardware.facts["driver"]["is_open"])
    installed = hardware.facts["driver"]["installed_version"] or VERSION
    toolkit, cdi = (
        [*container_toolkit.answer(hardware, words, "1.19.0")] for words in (["--version"], ["cdi", "list"])
    )

    def tool(*words: str) -> tuple[int, str]:
        return ipmi.answer(hardware, list(words), now_s=NOW_S)

    users = [line.split(",") for line in tool("-c", "user", "list", "1")[1].splitlines()]
    unnamed = [",".join([f"user {number}", "named" if name else "anonymous", *rest]) for number, name, *rest in users]
    return {
        **found,
        "machine": (0, "simulated"),
        "bios": dmi.answer(hardware, ["-t", "bios"]),
        "sockets": dmi.answer(hardware, ["-t", "memory"]),
        "kernel": (0, "MemTotal:        8000000 kB"),
        "sysfs": (0, hardware.facts["plate"]["bios_version"]),
        "controller": tool("mc", "info"),
        "self_test": tool("mc", "selftest"),
        "chassis": tool("chassis", "status"),
        "supplies": tool("sdr", "type", "Power Supply"),
        "fans": tool("sdr", "type", "Fan"),
        "temperatures": tool("sdr", "type", "Temperature"),
        "log_state": tool("sel", "info"),
        "events": tool("sel", "elist", "last", "100"),
        "boot_time": (0, str(NOW_S - 36000)),
        "times": (0, f"{tool('sel', 'time', 'get')[1]}\n{NOW_S} end"),
        "channels": (0, "\n".join(["## 1", tool("lan", "print", "1")[1], *unnamed])),
        "addresses": (0, json.dumps([{"addr_info": [_ADDRESS]}])),
        "holders": (0, "processes 0"),
        "pci": (0, "\n".join(links)),
        "proc": (0, "\n".join(f"{path.partition('/')[0]}\n{text}" for path, text in proc.items())),
        "module": (0, module) if hardware.loaded_version else (1, ""),
        "modules": (0, "\n".join(kernel.lsmod(hardware))),
        "installed": (0, installed),
        "log": (0, "\n".join(kernel.messages(hardware))),
        "manager_log": (0, "\n".join(fabricmanager.log_lines(hardware, VERSION))),
        "discovery": (0, dcgm.discovery(hardware)),
        "toolkit": (0, "\n".join(toolkit[1])),
        "cdi": (0, "\n".join(cdi[1])),
        "bus": (0, "\n".join(bus)),
        "tree": (0, "\n".join(shown)),
        "adapters": (0, str(len(disk.board.nics))),
        "services": (0, unit),
        "boot": (0, f"{BOOT_ID}\n36000.00 70000.00"),
    }
