"""Encrypted data volume of a virtual machine: LUKS2 on the RAID 1 array `data`, opened by the TPM at each boot.

The volume key is sealed to PCR 7, the state of Secure Boot. The key file of the installation is removed, so that no
passphrase opens the volume.
"""

from __future__ import annotations

from ..layout import Lab, LabNode
from ..linux.process import run
from ..node import shell

MOUNT_POINT = "/srv/data"
NAME = "data"
_LIMIT_S = 600
# A forced iteration count for the key file, which has 512 random bits and is removed; key derivation is emulated.
_SCRIPT = f"""\
set -eu
mountpoint -q {MOUNT_POINT} && exit 0
umask 077
key=/run/sovctl-lab-luks.key
trap 'rm -f $key' EXIT
head -c 64 /dev/urandom >$key
cryptsetup luksFormat --batch-mode --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \\
  --key-file $key /dev/md/{NAME}
systemd-cryptenroll --unlock-key-file=$key --tpm2-device=auto --tpm2-pcrs=7 /dev/md/{NAME}
systemd-cryptenroll --wipe-slot=0 /dev/md/{NAME}
uuid=$(cryptsetup luksUUID /dev/md/{NAME})
echo "{NAME} UUID=$uuid none luks,tpm2-device=auto,nofail" >>/etc/crypttab
systemctl daemon-reload
systemctl start systemd-cryptsetup@{NAME}.service
mkfs.ext4 -q /dev/mapper/{NAME}
mkdir -p {MOUNT_POINT}
echo "/dev/mapper/{NAME} {MOUNT_POINT} ext4 nodev,nosuid,nofail 0 2" >>/etc/fstab
systemctl daemon-reload
mount {MOUNT_POINT}
"""


def ensure(lab: Lab, node: LabNode) -> None:
    """Create and mount the volume on a running node, if it is absent.

    Raises:
        LabFailure: a step failed.
    """
    run(
        shell.ssh_command(lab, node, ["sudo", "sh"]),
        stdin=_SCRIPT,
        purpose=f"create the encrypted volume of {node.name}",
        timeout_s=_LIMIT_S,
    )
