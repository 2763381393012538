"""A removed drive: apply refuses the node and names the array and its members, until the drive is back."""

from __future__ import annotations

import re

import pytest
from vm_site import VmSite

from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.vm

DRIVE = "drive1"
FAULT = re.compile(r"md\d+: (nvme\dn\dp\d failed|1 of 2 members missing, present: nvme\dn\dp\d)")


def test_a_degraded_array_is_refused_by_name_until_the_drive_is_back(site: VmSite) -> None:
    site.remove_drive(DRIVE)
    site.wait_until("a degraded array", "grep -q _ /proc/mdstat")
    site.here("sudo touch /srv/data/written-without-the-drive")  # the array notices a lost drive at the next write
    site.wait_until("both arrays degraded", "test $(grep -c '_' /proc/mdstat) -ge 2")
    refused = [each["message"] for each in site.plan()["refusals"]]
    assert len(refused) == 2
    assert all(FAULT.search(message) for message in refused), refused
    applied = site.run("apply", str(site.file), "--yes")
    assert applied.returncode == ExitCode.BAD_INPUT
    assert "raid_faults" in applied.stderr

    site.add_drive(DRIVE)
    site.wait_until("the drive", "ls /dev/nvme1n*p3")
    # A member that was removed is added by the operator; its bitmap makes this a matter of seconds.
    site.here(
        "for each in root:2 data:3; do member=$(ls /dev/nvme1n*p${each#*:}); array=/dev/md/${each%:*}; "
        "sudo mdadm --query --detail $array | grep -q $member || sudo mdadm $array --add $member; done"
    )
    site.wait_until("complete arrays", "test $(grep -c '\\[2/2\\] \\[UU\\]' /proc/mdstat) = 2")
    assert site.plan()["refusals"] == []
