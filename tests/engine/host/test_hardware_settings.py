"""The program on the node sets only what differs, and ACS only on the bridges above GPUs and NICs."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.engine.resources.host.hardware import SOURCE

ACS_AT, EXPRESS_AT = 0x148, 0x40
GPU, NIC, NVME = (0x10DE, 0x030200), (0x15B3, 0x020700), (0x144D, 0x010802)
BRIDGE = (0x8086, 0x060400)


def config(*, acs: int | None = None, control: int = 0x2810) -> bytes:
    """Configuration space of a device with a PCI Express capability, and ACS after another extended capability."""
    space = bytearray(4096)
    space[0x06], space[0x34] = 0x10, 0x60
    space[0x60:0x62] = bytes([0x05, EXPRESS_AT])  # MSI, then PCI Express
    space[EXPRESS_AT] = 0x10
    struct.pack_into("<H", space, EXPRESS_AT + 8, control)
    struct.pack_into("<I", space, 0x100, 0x0001 | 1 << 16 | (ACS_AT << 20 if acs is not None else 0))
    if acs is not None:
        struct.pack_into("<I", space, ACS_AT, 0x000D | 1 << 16)
        struct.pack_into("<H", space, ACS_AT + 6, acs)
    return bytes(space)


class Machine:
    """A folder that looks like sysfs: a GPU and a NIC below two bridges, a disk below another, one empty bridge."""

    def __init__(self, root: Path) -> None:
        self.root = root
        above = "pci0000:15/0000:15:01.0/0000:16:00.0"
        self.paths = {
            "outer": self.device("pci0000:15/0000:15:01.0", BRIDGE, config(acs=0x1D)),
            "inner": self.device(above, BRIDGE, config(acs=0x01)),
            "gpu": self.device(f"{above}/0000:17:00.0", GPU, config(control=0x2800)),
            "nic": self.device(f"{above}/0000:18:00.0", NIC, config(control=0x2800)),
            "above disk": self.device("pci0000:30/0000:30:01.0", BRIDGE, config(acs=0x1D)),
            "disk": self.device("pci0000:30/0000:30:01.0/0000:31:00.0", NVME, config(control=0x2800)),
            "empty": self.device("pci0000:00/0000:00:0c.0", BRIDGE, config(acs=0x1D)),
        }
        for number, governor in enumerate(("performance", "schedutil")):
            path = root / f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor"
            path.parent.mkdir(parents=True)
            path.write_text(f"{governor}\n")

    def device(self, path: str, kind: tuple[int, int], space: bytes) -> Path:
        folder = self.root / "sys/devices" / path
        (folder / "power").mkdir(parents=True)
        (folder / "vendor").write_text(f"{kind[0]:#06x}\n")
        (folder / "class").write_text(f"{kind[1]:#08x}\n")
        (folder / "config").write_bytes(space)
        (folder / "power/control").write_text("auto\n")
        listed = self.root / "sys/bus/pci/devices" / folder.name
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.symlink_to(folder)
        return folder

    def acs(self, name: str) -> int:
        return int(struct.unpack_from("<H", (self.paths[name] / "config").read_bytes(), ACS_AT + 6)[0])

    def run(self, *arguments: str) -> str:
        command = [sys.executable, str(SOURCE), "--root", str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def observe(self) -> dict[str, object]:
        observed: dict[str, object] = json.loads(self.run("--observe"))
        return observed


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


ALL = ("--governor", "performance", "--pci", "acs", "--pci", "relaxed_ordering", "--pci", "bridge_power")


def test_what_differs_is_observed_by_device(machine: Machine) -> None:
    assert machine.observe() == {
        "governors": ["performance", "schedutil"],
        "gpus": 1,
        "acs": ["0000:15:01.0", "0000:16:00.0"],
        "relaxed_ordering": ["0000:17:00.0", "0000:31:00.0"],
        "bridge_power": ["0000:15:01.0", "0000:16:00.0", "0000:30:01.0"],
    }


def test_after_a_run_nothing_differs_and_a_second_run_changes_nothing(machine: Machine) -> None:
    assert machine.run(*ALL) == "changes: 8\n"
    assert machine.observe() == {
        "governors": ["performance"], "gpus": 1, "acs": [], "relaxed_ordering": [], "bridge_power": [],
    }  # fmt: skip
    assert machine.run(*ALL) == "changes: 0\n"


def test_acs_of_other_bridges_and_its_other_bits_remain(machine: Machine) -> None:
    machine.run("--pci", "acs")
    assert (machine.acs("outer"), machine.acs("inner")) == (0x10, 0)
    assert (machine.acs("above disk"), machine.acs("empty")) == (0x1D, 0x1D)


def test_only_the_named_settings_are_set(machine: Machine) -> None:
    before = machine.observe()
    machine.run("--pci", "bridge_power")
    assert machine.observe() == {**before, "bridge_power": []}
    assert (machine.paths["empty"] / "power/control").read_text() == "auto\n"


@pytest.mark.parametrize("space", [b"", b"\xff" * 64, b"\xff" * 4096])
def test_a_device_without_readable_capabilities_is_left_alone(machine: Machine, space: bytes) -> None:
    for path in machine.paths.values():
        (path / "config").write_bytes(space)
    assert machine.observe()["acs"] == []
    machine.run(*ALL)
    assert all((path / "config").read_bytes() == space for path in machine.paths.values())
