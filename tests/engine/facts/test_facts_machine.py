"""Parsers of processors, memory, disks, sockets, limits and packages of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.engine.facts.host.container import container_of
from sovctl.engine.facts.host.disks import parse_df, parse_disks, parse_smartctl
from sovctl.engine.facts.host.limits import parse_limits
from sovctl.engine.facts.host.memory import parse_cpu_list, parse_memory_errors
from sovctl.engine.facts.host.network import parse_interfaces
from sovctl.engine.facts.host.permissions import parse_permissions
from sovctl.engine.facts.host.sockets import parse_kernel_ports, parse_listeners, parse_process_units
from sovctl.engine.facts.packages.verification import parse_differences
from sovctl.engine.facts.unreadable import Unreadable


@pytest.mark.parametrize(
    "parse",
    [
        container_of,
        parse_cpu_list,
        parse_df,
        parse_interfaces,
        parse_kernel_ports,
        parse_limits,
        parse_listeners,
        parse_memory_errors,
        parse_permissions,
        parse_smartctl,
    ],
)
@pytest.mark.parametrize("text", ["", "\n", "command not found\n", "{}", "[]", "{"])
def test_text_of_another_form_is_unreadable(parse: object, text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)  # type: ignore[operator]


def test_a_list_of_cpus_is_expanded() -> None:
    assert parse_cpu_list("0-2,8\n") == {0, 1, 2, 8}


def test_a_listener_on_a_mapped_loopback_address_is_closed_to_other_machines() -> None:
    line = 'LISTEN 0 128 [{}]%lo:80 [::]:* users:(("a b",pid=7,fd=3))'
    (mapped,) = parse_listeners(line.format("::ffff:127.0.0.1"))
    (everywhere,) = parse_listeners(line.format("::"))
    assert mapped.is_loopback
    assert not everywhere.is_loopback
    assert mapped.processes == (("a b", 7),)


def test_the_innermost_unit_of_a_process_counts() -> None:
    text = "7 0::/machine.slice/n1.service/payload/system.slice/ssh.service\n8 0::/\n"
    assert parse_process_units(text) == {7: "ssh.service", 8: ""}


def test_changed_configuration_files_are_not_programs() -> None:
    text = "??5?????? c /etc/ssh/sshd_config\n??5??????   /usr/bin/ss\nmissing     /usr/lib/x.so (Permission denied)\n"
    configuration, program, missing = parse_differences(text)
    assert not configuration.is_program
    assert program.is_program
    assert program.has_other_content
    assert missing.is_missing
    assert missing.path == "/usr/lib/x.so"


def test_a_disk_that_occurs_twice_is_unreadable() -> None:
    block = '## /dev/sda\n{"smartctl": {"exit_status": 0}, "device": {"name": "/dev/sda", "protocol": "ATA"}}\n'
    assert list(parse_disks(block)) == ["/dev/sda"]
    with pytest.raises(Unreadable):
        parse_disks(block * 2)


@pytest.mark.shared
def test_a_real_nvme_disk_is_healthy(captures: Path) -> None:
    disk = parse_smartctl((captures / "smartctl/nvme-bad-slot2__facebookresearch-gcm.json").read_text())
    assert (disk.passed, disk.critical_warning, disk.used_percent, disk.media_errors) == (True, 0, 0, 0)
    assert (disk.spare_percent, disk.spare_limit_percent) == (100, 10)
