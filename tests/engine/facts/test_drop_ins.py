"""Settings after a reboot: the order of the files decides, and a later file that overrides ours is found."""

from __future__ import annotations

import pytest

from sovctl.engine.facts.drop_ins import overridden_limits, sysctl_at_boot

OURS = "/etc/sysctl.d/90-sovctl.conf"
KEY = "vm.swappiness"

# Contents by path; value and file of vm.swappiness after a reboot.
SYSCTL: dict[str, tuple[dict[str, str | None], tuple[str, str] | None]] = {
    "nothing": ({}, None),
    "an absent file": ({OURS: None}, None),
    "ours": ({OURS: "vm.swappiness = 1\n"}, ("1", OURS)),
    "a file of the vendor before ours": (
        {OURS: "vm.swappiness=1\n", "/usr/lib/sysctl.d/50-default.conf": "vm.swappiness = 60\n"},
        ("1", OURS),
    ),
    "a later file": (
        {OURS: "vm.swappiness=1\n", "/etc/sysctl.d/99-sysctl.conf": "vm.swappiness = 60\n"},
        ("60", "/etc/sysctl.d/99-sysctl.conf"),
    ),
    "a later file of the vendor": (
        {OURS: "vm.swappiness=1\n", "/usr/lib/sysctl.d/99-x.conf": "vm/swappiness = 60\n"},
        ("60", "/usr/lib/sysctl.d/99-x.conf"),
    ),
    "a file of the same name in another folder": (
        {OURS: "vm.swappiness=1\n", "/run/sysctl.d/90-sovctl.conf": "vm.swappiness = 60\n"},
        ("1", OURS),
    ),
    "a later file that is masked": (
        {OURS: "vm.swappiness=1\n", "/usr/lib/sysctl.d/99-x.conf": "vm.swappiness=60\n", "/etc/sysctl.d/99-x.conf": ""},
        ("1", OURS),
    ),
    "comments, patterns and lines without a value": (
        {OURS: "# vm.swappiness=7\n;vm.swappiness=8\nvm.*=9\n-vm.swappiness\n-vm.swappiness = 2\n"},
        ("2", OURS),
    ),
    "blanks in a value": ({OURS: "vm.swappiness =  4\t8  \n"}, ("4 8", OURS)),
}


@pytest.mark.parametrize("case", SYSCTL)
def test_the_last_file_decides_a_kernel_setting(case: str) -> None:
    texts, expected = SYSCTL[case]
    assert sysctl_at_boot(texts).get(KEY) == expected


OWN = "/etc/security/limits.d/90-sovctl.conf"
LATER, EARLIER = "/etc/security/limits.d/95-other.conf", "/etc/security/limits.d/20-nproc.conf"


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        (LATER, "* soft memlock 64", True),
        (LATER, "*\t-  memlock  64", True),
        (LATER, "* - memlock unlimited", False),
        (LATER, "# * soft memlock 64", False),
        (LATER, "root soft memlock 64", False),
        (LATER, "* soft nofile 64", False),
        (LATER, "* soft memlock", False),
        (EARLIER, "* soft memlock 64", False),
        ("/etc/security/limits.conf", "* soft memlock 64", False),
    ],
)
def test_a_later_line_overrides_a_limit(path: str, line: str, found: bool) -> None:
    texts = {OWN: "# sovctl\n* - memlock unlimited\n", path: f"{line}\n"}
    assert overridden_limits(texts, OWN) == ([f"{' '.join(line.split())} ({path})"] if found else [])


def test_a_soft_limit_of_ours_is_not_overridden_by_a_hard_one() -> None:
    assert overridden_limits({OWN: "* soft nofile 1048576\n", LATER: "* hard nofile 64\n"}, OWN) == []
