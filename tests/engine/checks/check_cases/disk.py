"""Cases of the checks of disks."""

from __future__ import annotations

import json

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.disk import _mounts, _smart, free_space, raid_clean
from sovctl.engine.spec.host import Mount

GIB = 1 << 30
SPACE = f"/ {400 * GIB} {300 * GIB} 1000 900\n/srv/sovctl {2000 * GIB} {900 * GIB} - -\n"
CONTAINER = Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "systemd-nspawn")


def nvme(name: str = "/dev/nvme0n1", *, passed: bool = True, status: int = 0, **log: object) -> str:
    """The JSON of smartctl for an NVMe disk."""
    values = {
        "critical_warning": 0,
        "available_spare": 100,
        "available_spare_threshold": 10,
        "percentage_used": 3,
        "media_errors": 0,
    }
    document = {
        "smartctl": {"exit_status": status},
        "device": {"name": name, "protocol": "NVMe"},
        "smart_status": {"passed": passed},
        "nvme_smart_health_information_log": values | log,
    }
    return f"## {name}\n{json.dumps(document)}\n"


SATA = json.dumps(
    {
        "smartctl": {"exit_status": 0},
        "device": {"name": "/dev/sda", "protocol": "ATA"},
        "smart_support": {"available": True},
        "smart_status": {"passed": True},
        "ata_smart_attributes": {"table": [{"id": 197, "raw": {"value": 0}}]},
    }
)
VIRTUAL = json.dumps(
    {
        "smartctl": {"exit_status": 4},
        "device": {"name": "/dev/sda", "protocol": "SCSI"},
        "smart_support": {"available": False},
    }
)
SMART = {"container": "none\n", "disks": "/dev/nvme0n1\n/dev/sda\nend\n", "smart": f"{nvme()}## /dev/sda\n{SATA}\n"}


def smart(text: str) -> dict[str, str]:
    """The same disks with another NVMe disk."""
    return {"smart": f"{text}## /dev/sda\n{SATA}\n"}


NO_SMART = {
    "container": CONTAINER,
    "virtual": Bad({"disks": "/dev/sda\nend\n", "smart": f"## /dev/sda\n{VIRTUAL}\n"}, NOT_APPLICABLE, "virtual"),
    "no-disks": Bad({"disks": "end\n", "smart": "\n"}, NOT_APPLICABLE, "got none"),
    "one-of-two": Bad({"smart": nvme()}, UNKNOWN, "2 disks"),
    "unopened": Bad(smart(nvme(status=2)), UNKNOWN, "exit status 2"),
    "not-installed": Bad({"smart": (127, "")}, UNKNOWN, "127"),
}

MDSTAT = (
    "Personalities : [raid1]\nmd0 : active raid1 nvme1n1p2[1] nvme0n1p2[0]\n      1000 blocks [2/2] [UU]\n\n"
    "unused devices: <none>\n"
)


def findmnt(**changes: object) -> str:
    """The JSON of findmnt for one file system."""
    row = {
        "target": "/srv/sovctl",
        "source": "/dev/mapper/data",
        "fstype": "xfs",
        "options": "rw,nodev,nosuid",
        "size": 2000 * GIB,
    }
    return json.dumps({"filesystems": [row | changes]})


def lsblk(*types: str) -> str:
    """The JSON of lsblk for devices below each other."""
    device: dict[str, object] = {}
    for number, kind in enumerate(reversed(types)):
        name = "/dev/mapper/data" if number == len(types) - 1 else f"/dev/d{number}"
        device = {"name": name, "type": kind, **({"children": [device]} if device else {})}
    return json.dumps({"blockdevices": [device]})


PLANNED = _mounts.Expected(
    mounts=(
        Mount(
            path="/srv/sovctl", filesystem="xfs", is_encrypted=True, raid="raid1", min_size_gib=1024, options=["nodev"]
        ),
    )
)
MOUNTS = {
    "container": "none\n",
    "findmnt": findmnt(),
    "lsblk": lsblk("crypt", "raid1", "part", "disk"),
    "mapper": "CRYPT-LUKS2-0123-data\nend\n",
}

SAMPLES = {
    "disk.free-space": Sample(
        free_space.Expected(),
        {"space": SPACE},
        {
            "full": Bad({"space": SPACE.replace(str(900 * GIB), str(90 * GIB))}, FAIL, "free in /srv/sovctl"),
            "inodes": Bad({"space": SPACE.replace("1000 900", "1000 10")}, FAIL, "inodes in /"),
            "no-root": Bad({"space": SPACE.partition("\n")[2]}, UNKNOWN, "root file system"),
            "garbled": Bad({"space": "df: error\n"}, UNKNOWN, "mount point"),
        },
        ("/ ",),
    ),
    "disk.smart-healthy": Sample(
        _smart.Expected(),
        SMART,
        {
            "failed": Bad(smart(nvme(passed=False, status=8)), FAIL, "passed assessment of /dev/nvme0n1"),
            "critical": Bad(smart(nvme(critical_warning=4)), FAIL, "0x04"),
            "spare": Bad(smart(nvme(available_spare=5)), FAIL, "spare blocks"),
            "media": Bad(smart(nvme(media_errors=2)), WARN, "media error"),
            "missing": Bad(smart(nvme(critical_warning=None)), UNKNOWN, "critical warning"),
            **NO_SMART,
        },
        ("none", "/dev/nvme0n1", "## /dev/nvme0n1"),
    ),
    "disk.wear": Sample(
        _smart.Expected(),
        SMART,
        {
            "used-up": Bad(smart(nvme(percentage_used=104)), FAIL, "104 %"),
            "nearly": Bad(smart(nvme(percentage_used=85)), WARN, "85 %"),
            "missing": Bad(smart(nvme(percentage_used=None)), UNKNOWN, "used endurance"),
            **NO_SMART,
        },
        ("none", "/dev/nvme0n1", "## /dev/nvme0n1"),
    ),
    "disk.raid-clean": Sample(
        raid_clean.Expected(),
        {"container": "none\n", "arrays": MDSTAT, "count": "1\n"},
        {
            "failed": Bad(
                {"arrays": MDSTAT.replace("p2[1]", "p2[1](F)").replace("[UU]", "[U_]")}, FAIL, "nvme1n1p2 failed"
            ),
            "missing": Bad({"arrays": MDSTAT.replace("nvme1n1p2[1] ", "").replace("[UU]", "[U_]")}, FAIL, "1 of 2"),
            "two-views": Bad({"count": "2\n"}, UNKNOWN, "2 arrays"),
            "none": Bad(
                {"arrays": "Personalities :\nunused devices: <none>\n", "count": "0\n"}, NOT_APPLICABLE, "software RAID"
            ),
            "container": CONTAINER,
        },
        ("none", "Personalities", "md0", "1\n".strip()),
    ),
    "disk.mounts-as-planned": Sample(
        PLANNED,
        MOUNTS,
        {
            "not-mounted": Bad({"findmnt": findmnt(target="/srv")}, FAIL, "at /srv/sovctl, got none"),
            "other-type": Bad({"findmnt": findmnt(fstype="ext4")}, FAIL, "ext4"),
            "small": Bad({"findmnt": findmnt(size=GIB)}, FAIL, "1024 GiB"),
            "option": Bad({"findmnt": findmnt(options="rw")}, FAIL, "option nodev"),
            "no-raid": Bad({"lsblk": lsblk("crypt", "part", "disk")}, FAIL, "raid1 below"),
            "container": CONTAINER,
        },
        ("none", "filesystems", "blockdevices"),
    ),
    "disk.encrypted": Sample(
        PLANNED,
        MOUNTS,
        {
            "plain": Bad({"lsblk": lsblk("raid1", "part", "disk")}, FAIL, "encryption below"),
            "no-device": Bad({"mapper": "LVM-0123\nend\n"}, FAIL, "LUKS device"),
            "not-mounted": Bad({"findmnt": findmnt(target="/srv")}, UNKNOWN, "a file system at"),
            "unknown-device": Bad({"findmnt": findmnt(source="/dev/sdb1")}, UNKNOWN, "/dev/sdb1"),
            "container": CONTAINER,
        },
        ("none", "filesystems", "blockdevices", "CRYPT-LUKS"),
    ),
}
