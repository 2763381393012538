"""Two NVMe drives with the system of a virtual machine: EFI partitions, and RAID 1 for the root file system and data.

    drive0, drive1:  EFI partition │ member of array root │ member of array data

- Partition tables, EFI partitions and both copies of the root file system are created on this machine.
- The arrays need a kernel with md. A virtual machine without network creates them around the copies, because a copy
  inside the emulation took 5 min on a busy machine.
- The cached drives stay unchanged. Each lab writes to layers over them.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import sync_folder, write_atomic
from sovctl.support.canonical_json import digest

from .. import layout
from ..artifacts.node_image import Progress
from ..linux import mounts
from ..linux.process import LabFailure, run
from . import configuration as system_configuration
from . import qemu
from .configuration import ARRAYS, ROOT_UUID
from .system_image import System

DRIVES = ("drive0", "drive1")
"""File names of the drives. NVMe serial numbers of the lab contain them."""
DRIVE_MIB = 6144
EFI_MIB = 64
ROOT_MIB = 4096
_EFI_START_MIB = 1
_ROOT_START_MIB = _EFI_START_MIB + EFI_MIB
DATA_OFFSET_MIB = 8
"""Start of the data in a member of array root; before it are the data of the RAID."""
_INSTALL_LIMIT_S = 1800
_COMPLETE = "sovctl: drives are complete"
_RECIPE = 1  # increase it with each change of the steps below

_EFI_FILES = {
    # UEFI 2.10, 3.5.1.1: the firmware starts this path of a drive if it has no boot entry.
    "usr/lib/shim/shimx64.efi.signed": "EFI/BOOT/BOOTX64.EFI",
    "usr/lib/shim/mmx64.efi.signed": "EFI/BOOT/mmx64.efi",
    "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "EFI/BOOT/grubx64.efi",
}
# The signed GRUB of Debian reads its menu from this path only.
_EFI_MENU_PATH = "EFI/debian/grub.cfg"
_EFI_MENU = f"""search.fs_uuid {ROOT_UUID} root
set prefix=($root)'/boot/grub'
configfile $prefix/grub.cfg
"""
_INSTALL = f"""\
trap 'sync; echo o >/proc/sysrq-trigger; sleep 60' EXIT
exec </dev/null >/dev/ttyS0 2>&1
set -ex
for each in run tmp; do mount -t tmpfs tmpfs /$each; done
for each in 0 1; do while [ ! -b /dev/nvme${{each}}n1p3 ]; do sleep 0.2; done; done
mdadm --create /dev/md0 --run --name=root --uuid={ARRAYS["root"]} --metadata=1.2 --level=1 --raid-devices=2 \\
  --bitmap=internal --assume-clean --data-offset={DATA_OFFSET_MIB}M /dev/nvme0n1p2 /dev/nvme1n1p2
mdadm --create /dev/md1 --run --name=data --uuid={ARRAYS["data"]} --metadata=1.2 --level=1 --raid-devices=2 \\
  --bitmap=internal --assume-clean /dev/nvme0n1p3 /dev/nvme1n1p3
mdadm --stop /dev/md0 /dev/md1
echo '{_COMPLETE}'
"""


@dataclass(frozen=True)
class Boot:
    """Kernel and initramfs of the system, for the virtual machine that creates the arrays."""

    kernel: Path
    initramfs: Path


def folder_of(system: System) -> Path:
    """Return the folder of the drives in the cache, which may not exist."""
    recipe = [_RECIPE, system.layer.name, DRIVE_MIB, EFI_MIB, ROOT_MIB, _EFI_FILES, _EFI_MENU, _INSTALL]
    recipe += [system_configuration.FILES, system_configuration.ENABLED]
    return layout.cache_folder() / f"vm-drives-{digest(recipe)[:16]}"


def ensure_drives(base: Path, system: System, *, progress: Progress) -> Path:
    """Return the folder of the drives; create them if the cache lacks them.

    Args:
        base: image of the containers.

    Raises:
        LabFailure: a step failed. The message contains the end of the console output.
    """
    target = folder_of(system)
    if target.exists():
        return target
    folder = layout.cache_folder() / ".making-vm-drives"
    mounts.remove_tree(folder)
    mounts.mount_image(base, folder / "image")
    mounts.mount_image(system.layer, folder / "layer")
    root = mounts.mount_overlay(folder / "node", [folder / "layer", folder / "image"])
    made = folder / "made"
    made.mkdir()
    progress("creating the drives of virtual machines")
    system_configuration.configure(root)
    filesystem = folder / "root.ext4"
    options: list[str | Path] = ["-q", "-t", "ext4", "-U", ROOT_UUID, "-L", "root", "-d", root]
    run(["mke2fs", *options, filesystem, f"{ROOT_MIB - DATA_OFFSET_MIB}M"], purpose="create the root file system")
    for name in DRIVES:
        _partition(made / name, root)
        _copy(filesystem, made / name)
    boot = Boot(_newest(root, "vmlinuz-*"), _newest(root, "initrd.img-*"))
    _install(folder, boot, filesystem, [made / name for name in DRIVES])
    made.rename(target)
    sync_folder(target.parent)
    mounts.remove_tree(folder)
    return target


def _newest(root: Path, pattern: str) -> Path:
    found = sorted((root / "boot").glob(pattern))
    if not found:
        raise LabFailure(f"the system of virtual machines has no /boot/{pattern}")
    return found[-1]


def _partition(drive: Path, root: Path) -> None:
    """Write the partition table and the EFI partition of a drive."""
    with drive.open("wb") as file:
        file.truncate(DRIVE_MIB << 20)
    efi = ["-n", f"1:{_EFI_START_MIB}M:+{EFI_MIB}M", "-t", "1:ef00"]
    root_member = ["-n", f"2:{_ROOT_START_MIB}M:+{ROOT_MIB}M", "-t", "2:fd00"]
    run(
        ["sgdisk", "--clear", *efi, *root_member, "-n", "3:0:0", "-t", "3:fd00", drive],
        purpose="write a partition table",
    )
    at = f"{drive}@@{_EFI_START_MIB}M"
    run(["mformat", "-i", at, "-T", str((EFI_MIB << 20) // 512), "-h", "64", "-s", "32", "::"],
        purpose="create an EFI partition")  # fmt: skip
    for name in ("EFI", "EFI/BOOT", "EFI/debian"):
        run(["mmd", "-i", at, f"::{name}"], purpose="create a folder of an EFI partition")
    for source, name in _EFI_FILES.items():
        run(["mcopy", "-i", at, root / source, f"::{name}"], purpose="copy the boot loader")
    run(["mcopy", "-i", at, "-", f"::{_EFI_MENU_PATH}"], stdin=_EFI_MENU, purpose="write the menu of the boot loader")


def _copy(filesystem: Path, drive: Path) -> None:
    """Copy the root file system to the data of a drive's member of array root."""
    options = ["bs=1M", f"seek={_ROOT_START_MIB + DATA_OFFSET_MIB}", "conv=sparse,notrunc", "status=none"]
    run(["dd", f"if={filesystem}", f"of={drive}", *options], purpose="copy the root file system")


def _install(folder: Path, boot: Boot, filesystem: Path, drives: list[Path]) -> None:
    """Create the arrays in a virtual machine, which runs until the drives are complete."""
    script, console = folder / "script", folder / "console"
    text = _INSTALL.encode()
    write_atomic(script, text + b"\n" * (-len(text) % 512))  # a drive consists of whole sectors
    command = qemu.installer_command(
        kernel=boot.kernel, initramfs=boot.initramfs, filesystem=filesystem, script=script, drives=drives,
        console=console,
    )  # fmt: skip
    run(command, purpose="create the arrays of the drives", timeout_s=_INSTALL_LIMIT_S)
    output = console.read_text(errors="replace")
    if _COMPLETE not in output.splitlines():
        kept = layout.cache_folder() / "vm-drives-failed.console"
        shutil.copy2(console, kept)
        raise LabFailure("could not create the arrays of the drives", hint=f"see {kept}")
