"""Parsers of storage: encryption and RAID below a file system, degraded arrays, swap."""

from __future__ import annotations

import json

import pytest

from sovctl.engine.facts.host.storage import (
    parse_findmnt,
    parse_lsblk,
    parse_mdstat,
    parse_swaps,
    swap_entries,
)
from sovctl.engine.facts.unreadable import Unreadable


def part(disk: str, suffix: str) -> dict[str, object]:
    return {"name": disk + suffix, "type": "part", "children": [{"name": disk, "type": "disk"}]}


# The output of `lsblk --json --inverse`: a device contains the devices that it consists of.
LSBLK = {
    "blockdevices": [
        {
            "name": "/dev/mapper/root",
            "type": "crypt",
            "children": [
                {
                    "name": "/dev/md0",
                    "type": "raid1",
                    "children": [
                        part("/dev/nvme0n1", "p2"),
                        part("/dev/nvme1n1", "p2"),
                    ],
                }
            ],
        },
        {"name": "/dev/sda1", "type": "part", "children": [{"name": "/dev/sda", "type": "disk"}]},
    ]
}  # fmt: skip
MDSTAT = """Personalities : [raid1] [raid0] [raid6] [raid5] [raid4] [raid10]
md1 : active raid0 nvme3n1[1] nvme2n1[0]
      7501212672 blocks super 1.2 512k chunks

md0 : active raid1 nvme1n1p2[1] nvme0n1p2[0]
      1874715648 blocks super 1.2 [2/2] [UU]
      bitmap: 3/14 pages [12KB], 65536KB chunk

unused devices: <none>
"""


def test_types_below_a_device() -> None:
    found = parse_lsblk(json.dumps(LSBLK))
    assert found["/dev/mapper/root"] == ("crypt", "raid1", "part", "disk")
    assert found["/dev/md0"] == ("raid1", "part", "disk")
    assert found["/dev/sda1"] == ("part", "disk")


@pytest.mark.parametrize(
    ("old", "new", "complete"),
    [
        ("", "", True),
        ("[2/2] [UU]", "[2/1] [U_]", False),
        ("nvme1n1p2[1]", "nvme1n1p2[1](F)", False),
        ("active raid1", "inactive raid1", False),
        ("      1874715648 blocks super 1.2 [2/2] [UU]\n", "", False),
    ],
)
def test_an_array_is_complete_with_all_members_only(old: str, new: str, complete: bool) -> None:
    arrays = parse_mdstat(MDSTAT.replace(old, new) if old else MDSTAT)
    assert arrays["md1"].level == "raid0"
    assert arrays["md1"].is_complete
    assert arrays["md0"].is_complete is complete


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("[2/2] [UU]", "[2/1] [U_]", ("1 of 2 members missing, present: nvme0n1p2, nvme1n1p2",)),
        ("nvme1n1p2[1]", "nvme1n1p2[1](F)", ("nvme1n1p2 failed",)),
        ("active raid1", "inactive raid1", ("inactive",)),
    ],
)
def test_the_faults_of_an_array_name_its_members(old: str, new: str, faults: tuple[str, ...]) -> None:
    assert parse_mdstat(MDSTAT.replace(old, new))["md0"].faults == faults


def test_a_removed_member_is_counted_and_a_failed_one_is_not_counted_twice() -> None:
    removed = MDSTAT.replace(" nvme1n1p2[1]", "").replace("[2/2] [UU]", "[2/1] [U_]")
    failed = MDSTAT.replace("nvme1n1p2[1]", "nvme1n1p2[1](F)").replace("[2/2] [UU]", "[2/1] [U_]")
    assert parse_mdstat(removed)["md0"].faults == ("1 of 2 members missing, present: nvme0n1p2",)
    assert parse_mdstat(failed)["md0"].faults == ("nvme1n1p2 failed",)


def test_the_visible_file_system_of_a_mount_point_counts() -> None:
    row = {"target": "/data", "source": "/dev/md1", "fstype": "xfs", "options": "rw,nodev", "size": 4096}
    found = parse_findmnt(json.dumps({"filesystems": [{**row, "fstype": "ext4"}, row]}))
    assert found["/data"].filesystem == "xfs"
    volume = parse_findmnt(json.dumps({"filesystems": [{**row, "source": "/dev/sda2[/@home]"}]}))
    assert volume["/data"].source == "/dev/sda2"


def test_swap_in_use_and_at_boot() -> None:
    head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    assert parse_swaps(head) == []
    assert parse_swaps(f"{head}/swap.img file 8388604 0 -2\n/dev/zram0 partition 1 0 100\n") == [
        "/dev/zram0",
        "/swap.img",
    ]
    assert swap_entries("# /dev/sda2 none swap sw 0 0\nUUID=1 none swap sw 0 0\n/dev/md0 / ext4 defaults 0 1\n") == [
        "UUID=1"
    ]


@pytest.mark.parametrize("text", ["", "x", "{}", "[]", '{"filesystems": [{}]}', '{"blockdevices": [{}]}', "[" * 9000])
def test_other_texts_are_not_measured(text: str) -> None:
    for parse in (parse_findmnt, parse_lsblk, parse_mdstat, parse_swaps):
        with pytest.raises(Unreadable):
            parse(text)
