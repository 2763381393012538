"""Command lines of QEMU and of the TPM emulator.

The processor is emulated (TCG), because a machine in a cloud often has no KVM for a stock kernel. The emulation of one
processor uses one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEMORY_MIB = 1536
_FIRMWARE = Path("/usr/share/OVMF")
CODE = _FIRMWARE / "OVMF_CODE_4M.secboot.fd"
"""Firmware that protects its variables in system management mode (Debian's ovmf)."""
VARIABLES = {True: _FIRMWARE / "OVMF_VARS_4M.ms.fd", False: _FIRMWARE / "OVMF_VARS_4M.fd"}
"""Variables of the firmware by the state of Secure Boot: with the keys of Microsoft, and without keys."""
_PROCESSOR = ["-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(MEMORY_MIB), "-smp", "1"]
_BARE = ["-nodefaults", "-no-user-config", "-display", "none"]


@dataclass(frozen=True)
class Files:
    """Files of one virtual machine."""

    folder: Path

    @property
    def variables(self) -> Path:
        """Variables of the firmware."""
        return self.folder / "firmware-variables.fd"

    @property
    def tpm_state(self) -> Path:
        """Folder with the state of the TPM."""
        return self.folder / "tpm"

    @property
    def tpm_socket(self) -> Path:
        """Socket of the TPM emulator."""
        return self.folder / "tpm.sock"

    @property
    def monitor(self) -> Path:
        """Socket of QEMU's monitor (QMP)."""
        return self.folder / "monitor.sock"

    @property
    def seed(self) -> Path:
        """Drive with the files of this lab, as tar."""
        return self.folder / "seed.tar"

    def drive(self, name: str) -> Path:
        """Layer of a drive."""
        return self.folder / f"{name}.qcow2"


def _block(name: str, path: Path, form: str, *, read_only: bool = False) -> list[str]:
    more = "read-only=on" if read_only else "discard=unmap"
    return ["-blockdev", f"driver={form},node-name={name},file.driver=file,file.filename={path},{more}"]


def drive_device(name: str) -> dict[str, str]:
    """Return the properties of a drive's device, which the monitor can remove and add."""
    return {"driver": "nvme", "id": f"nvme-{name}", "drive": name, "serial": f"SOVCTL-{name}", "bus": f"port-{name}"}


def installer_command(
    *, kernel: Path, initramfs: Path, filesystem: Path, script: Path, drives: list[Path], console: Path
) -> list[str | Path]:
    """Return the command that runs `script` in a virtual machine without network. It ends with the power-off."""
    command: list[str | Path] = ["qemu-system-x86_64", "-M", "q35", *_PROCESSOR, *_BARE, "-no-reboot"]
    command += ["-kernel", kernel, "-initrd", initramfs, "-serial", f"file:{console}"]
    command += ["-append", "console=ttyS0 mitigations=off panic=-1 root=/dev/vda ro init=/bin/sh -- /dev/vdb"]
    for name, path in (("filesystem", filesystem), ("script", script)):
        command += [*_block(name, path, "raw", read_only=True), "-device", f"virtio-blk-pci,drive={name}"]
    for path in drives:
        command += [*_block(path.name, path, "raw"), "-device", f"nvme,drive={path.name},serial={path.name}"]
    return command


def tpm_command(files: Files) -> list[str | Path]:
    """Return the command of the TPM emulator, which serves one virtual machine after the other."""
    return [
        "swtpm", "socket", "--tpm2", "--tpmstate", f"dir={files.tpm_state}",
        "--ctrl", f"type=unixio,path={files.tpm_socket}",
    ]  # fmt: skip


def command(files: Files, *, name: str, drives: tuple[str, ...], tap: str, console: Path) -> list[str | Path]:
    """Return the command of a virtual machine with UEFI, TPM, two NVMe drives and one network device.

    Args:
        name: of the node, which its firmware shows as serial number.
        drives: names; each is connected to a port from which it can be removed.
        tap: network device in the network namespace of the command.
    """
    found: list[str | Path] = ["qemu-system-x86_64", "-M", "q35,smm=on", *_PROCESSOR, *_BARE]
    found += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
    found += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={CODE}"]
    found += ["-drive", f"if=pflash,unit=1,format=raw,file={files.variables}"]
    found += ["-chardev", f"socket,id=tpm,path={files.tpm_socket}", "-tpmdev", "emulator,id=tpm0,chardev=tpm"]
    found += ["-device", "tpm-crb,tpmdev=tpm0"]
    for number, each in enumerate(drives):
        device = drive_device(each)
        found += ["-device", f"pcie-root-port,id=port-{each},chassis={number + 1}"]
        found += _block(each, files.drive(each), "qcow2")
        found += ["-device", f"{device.pop('driver')},{','.join(f'{key}={value}' for key, value in device.items())}"]
    found += _block("seed", files.seed, "raw", read_only=True)
    found += ["-device", "virtio-blk-pci,drive=seed,serial=sovctlseed", "-device", "virtio-rng-pci"]
    found += ["-netdev", f"tap,id=net,ifname={tap},script=no,downscript=no", "-device", "virtio-net-pci,netdev=net"]
    found += ["-smbios", f"type=1,manufacturer=sovctl lab,product=virtual machine,serial={name}"]
    found += ["-serial", f"file:{console}", "-qmp", f"unix:{files.monitor},server=on,wait=off"]
    return found
