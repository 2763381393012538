"""The virtual machine of the second tier as values: its network, its command line, and its files for the first boot."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from sovctl.engine.lab import layout
from sovctl.engine.lab.layout import VM_NODE, Lab, Tier, preset_of
from sovctl.engine.lab.linux import network
from sovctl.engine.lab.linux.process import LabFailure, identify, record
from sovctl.engine.lab.services import services
from sovctl.engine.lab.vm import machine, qemu
from sovctl.engine.lab.vm.drives import DRIVES
from sovctl.support.errors import InputError


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    """Return a lab with the virtual machine, of which nothing was built."""
    monkeypatch.setattr(layout, "_STATE", tmp_path)
    (tmp_path / ".sovtest.preset").write_text("vm\n")
    found = Lab("sovtest")
    found.node_folder(VM_NODE).mkdir(parents=True)
    return found


def test_a_tier_has_its_own_presets() -> None:
    assert preset_of(Tier.CONTAINER, None) == "lab"
    assert preset_of(Tier.CONTAINER, "ha") == "ha"
    assert preset_of(Tier.VM, None) == "vm"
    with pytest.raises(InputError, match="expected one of vm for tier vm, got 'ha'"):
        preset_of(Tier.VM, "ha")
    with pytest.raises(InputError, match="expected one of lab, ha, llama-cpp, mirror for tier container, got 'vm'"):
        preset_of(Tier.CONTAINER, "vm")


def test_the_machine_is_connected_to_the_bridge_inside_the_namespace_of_the_controller(lab: Lab) -> None:
    commands = network.build_commands(lab)
    tap = network.tap(VM_NODE)
    assert ["-n", lab.namespace, "tuntap", "add", "dev", tap, "mode", "tap"] in commands
    assert ["-n", lab.namespace, "link", "set", tap, "master", "br0", "up"] in commands
    assert lab.machine(VM_NODE) not in lab.namespaces


def test_the_lab_of_a_machine_has_no_simulated_fabric(lab: Lab) -> None:
    assert [each.name for each in services.services_of(lab)] == ["web", "clock", "cloud"]


def test_the_monitor_adds_a_drive_with_the_properties_of_the_command_line(lab: Lab) -> None:
    words = [
        str(word)
        for word in qemu.command(
            machine.files(lab, VM_NODE), name="v1", drives=DRIVES, tap="t-v1", console=Path("console")
        )
    ]
    for name in DRIVES:
        device = qemu.drive_device(name)
        text = f"nvme,id=nvme-{name},drive={name},serial=SOVCTL-{name},bus=port-{name}"
        assert words[words.index(text) - 1] == "-device"
        assert text == ",".join([device.pop("driver"), *(f"{key}={value}" for key, value in device.items())])


def test_the_firmware_protects_its_variables(lab: Lab) -> None:
    words = qemu.command(machine.files(lab, VM_NODE), name="v1", drives=DRIVES, tap="t", console=Path("c"))
    assert words[words.index("-M") + 1] == "q35,smm=on"
    assert words[words.index("-global") + 1] == "driver=cfi.pflash01,property=secure,value=on"


def test_the_files_of_the_first_boot_end_with_the_mark_of_a_complete_extraction(lab: Lab) -> None:
    folder = lab.node_folder(VM_NODE)
    (folder / "ssh_host_ed25519_key").write_text("invented private key\n")
    lab.host_key_file(VM_NODE).write_text("ssh-ed25519 AAAA root@v1\n")
    machine.authorize(lab, VM_NODE, "ssh-ed25519 BBBB first")
    machine.authorize(lab, VM_NODE, "ssh-ed25519 CCCC second")
    machine.authorize(lab, VM_NODE, "ssh-ed25519 BBBB first")
    with tarfile.open(machine.files(lab, VM_NODE).seed) as archive:
        members = archive.getmembers()
        keys = archive.extractfile("home/ops/.ssh/authorized_keys")
        assert keys is not None
        assert keys.read() == b"ssh-ed25519 BBBB first\nssh-ed25519 CCCC second\n"
    assert members[-1].name == "etc/ssh/ssh_host_ed25519_key", "the unit starts only without this file"
    assert {each.name: (each.mode, each.uid) for each in members} == {
        "home/ops/.ssh": (0o700, 1000),
        "home/ops/.ssh/authorized_keys": (0o600, 1000),
        "etc/ssh/ssh_host_ed25519_key.pub": (0o644, 0),
        "etc/ssh/ssh_host_ed25519_key": (0o600, 0),
    }


def test_the_firmware_of_a_running_machine_is_not_changed(lab: Lab) -> None:
    own = identify(os.getpid())
    assert own is not None
    record(lab.run / "node-v1.json", own)
    with pytest.raises(LabFailure, match="node v1 runs"):
        machine.set_secure_boot(lab, VM_NODE, is_enabled=False)
    assert json.loads((lab.run / "node-v1.json").read_text())["pid"] == os.getpid()
