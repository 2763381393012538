"""Configuration of the system of a virtual machine: boot, RAID, network, and the files of the first boot."""

from __future__ import annotations

from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from .. import layout
from ..artifacts import node_image as image
from ..linux.process import run

ROOT_UUID = "5be3c1a0-93f5-4c0e-8a51-9d6a3f0f7a11"
"""UUID of the root file system; the boot loader on the EFI partitions searches for it."""
ARRAYS = {"root": "7c2a1f36:0b4d9e15:8f6a2c3d:51e0b794", "data": "2f9d6b80:c3a74e12:9b05d8f1:6e4c7a23"}
"""UUIDs of the RAID 1 arrays by name, in the form of mdadm. The initramfs contains them."""
MODULES = ("nvme", "virtio_pci", "virtio_blk", "raid1", "ext4")
"""Kernel modules of the initramfs."""
SEED_UNIT = "sovctl-lab-seed.service"
SEED_DEVICE = "/dev/vda"
"""The only virtio drive, with the files of one lab. Its driver is in the initramfs, so that udev is not awaited."""
_BOOT_OPTIONS = "console=ttyS0 mitigations=off"  # mitigations cost time, and the emulation lacks the defects

FILES = {
    # A list of modules takes 7 MB instead of 31 MB, which the emulated boot loader reads and the kernel unpacks.
    "etc/initramfs-tools/conf.d/sovctl-lab": "MODULES=list\n",
    "etc/initramfs-tools/modules": "".join(f"{name}\n" for name in MODULES),
    "etc/mdadm/mdadm.conf": "HOMEHOST <ignore>\nMAILADDR root\n"
    + "".join(f"ARRAY /dev/md/{name} metadata=1.2 UUID={uuid}\n" for name, uuid in ARRAYS.items()),
    "etc/fstab": f"UUID={ROOT_UUID} / ext4 errors=remount-ro 0 1\n",
    "etc/default/grub.d/10-sovctl-lab.cfg": "GRUB_TIMEOUT=0\nGRUB_DISABLE_OS_PROBER=true\n"
    f'GRUB_CMDLINE_LINUX_DEFAULT="{_BOOT_OPTIONS}"\n',
    # grub-mkconfig needs the arrays, and took 8 min in the emulation. `update-grub` on the node replaces this menu.
    "boot/grub/grub.cfg": f"""set timeout=0
menuentry 'Debian GNU/Linux' {{
\tlinux\t/vmlinuz root=UUID={ROOT_UUID} ro {_BOOT_OPTIONS}
\tinitrd\t/initrd.img
}}
""",
    # A start takes 10 to 30 times longer, and more if other processes use the same core.
    "etc/systemd/system.conf.d/10-sovctl-lab.conf": "[Manager]\nDefaultTimeoutStartSec=15min\n"
    "DefaultDeviceTimeoutSec=15min\n",
    "etc/systemd/network/10-sovctl-lab.network": "[Match]\nDriver=virtio_net\n\n[Network]\n"
    f"Address={layout.VM_NODE.address}/{layout.PREFIX_LENGTH}\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n\n"
    f"[Route]\nDestination={layout.OUTSIDE_NETWORK}\nGateway={layout.ROUTER_INSIDE_ADDRESS}\n",
    "etc/hostname": f"{layout.VM_NODE.name}\n",
    "etc/hosts": f"127.0.0.1\tlocalhost\n{layout.VM_NODE.address}\t{layout.VM_NODE.name}\n",
    # Host key and authorized keys differ between labs. They come from a drive at the first boot.
    f"usr/lib/systemd/system/{SEED_UNIT}": f"""\
[Unit]
Description=Copy the files of this lab to the new disk (sovctl lab)
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key

[Service]
Type=oneshot
ExecStart=/bin/tar --extract --directory=/ --file={SEED_DEVICE}
""",
}
ENABLED = {
    SEED_UNIT: "sysinit.target",
    "systemd-networkd.service": "multi-user.target",
    "systemd-networkd.socket": "sockets.target",
}


def configure(root: Path) -> None:
    """Write the configuration to a tree with the packages, and create its initramfs."""
    for unit, target in ENABLED.items():
        (root / "etc/systemd/system" / unit).unlink(missing_ok=True)  # the image of the containers masks networkd
        wants = root / "etc/systemd/system" / f"{target}.wants" / unit
        wants.parent.mkdir(exist_ok=True)
        wants.unlink(missing_ok=True)
        wants.symlink_to(Path("/usr/lib/systemd/system") / unit)
    for path, text in FILES.items():
        write_atomic(root / path, text)
    run([*image.within(root), "update-initramfs", "-c", "-k", "all"], purpose="create the initramfs")
