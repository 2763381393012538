"""Operating system of a node: what the parsers read, and what they call unknown."""

from __future__ import annotations

import pytest

from sovctl.engine.facts.operating_system import (
    OperatingSystem,
    SecureBoot,
    Virtualization,
    parse_dgx_release,
    parse_os_release,
    parse_secure_boot,
    parse_virtualization,
)
from sovctl.engine.facts.packages.rpm import parse_versionlock
from sovctl.engine.facts.unreadable import Unreadable


def test_os_release_is_read_with_and_without_quotes() -> None:
    values = parse_os_release("# comment\nNAME=\"Red Hat Enterprise Linux\"\nID=rhel\nVERSION_ID='9.4'\n\n")
    assert values == {"NAME": "Red Hat Enterprise Linux", "ID": "rhel", "VERSION_ID": "9.4"}
    assert parse_os_release("") == {}


@pytest.mark.parametrize("text", ["no assignment\n", "=x\n", "two words=x\n"])
def test_a_line_of_os_release_without_assignment_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable, match="NAME=value"):
        parse_os_release(text)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ('DGX_NAME="DGX Server"\nDGX_SWBUILD_VERSION="7.2.3"\n', "7.2.3"),
        ('DGX_SWBUILD_VERSION="7.2.3"\nDGX_OTA_VERSION="7.4.0"\nDGX_OTA_VERSION="7.6.0"\n', "7.6.0"),
        ('DGX_SWBUILD_VERSION="7.5.0-GB300ws"\n', "7.5.0"),
    ],
)
def test_the_last_update_of_dgx_os_is_its_release(text: str, release: str) -> None:
    assert parse_dgx_release(text) == release


def test_a_dgx_release_without_version_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="DGX_SWBUILD_VERSION"):
        parse_dgx_release('DGX_NAME="DGX Server"\nDGX_SERIAL_NUMBER="1"\n')


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("none\n", Virtualization.METAL),
        ("kvm\n", Virtualization.VM),
        ("systemd-nspawn\n", Virtualization.CONTAINER),
        ("docker\n", Virtualization.CONTAINER),
        ("", Virtualization.UNKNOWN),
    ],
)
def test_the_kind_of_machine(text: str, kind: Virtualization) -> None:
    assert parse_virtualization(text) is kind


@pytest.mark.parametrize(
    ("mokutil", "variable", "state"),
    [
        ("SecureBoot enabled\n", None, SecureBoot.ENABLED),
        ("SecureBoot disabled\nPlatform is in Setup Mode\n", "\x06\0\0\0\x01", SecureBoot.DISABLED),
        ("EFI variables are not supported on this system\n", None, SecureBoot.DISABLED),
        ("", "\x06\0\0\0\x01", SecureBoot.ENABLED),
        ("", "\x06\0\0\0\x00", SecureBoot.DISABLED),
        ("", None, SecureBoot.UNKNOWN),
        ("", "\x06\0\0", SecureBoot.UNKNOWN),
        ("Failed to read SecureBoot\n", None, SecureBoot.UNKNOWN),
    ],
)
def test_secure_boot_is_unknown_unless_it_was_measured(mokutil: str, variable: str | None, state: SecureBoot) -> None:
    assert parse_secure_boot(mokutil, variable) is state


def test_the_name_of_a_system_is_printed() -> None:
    assert str(OperatingSystem(id="slackware", version="15.0")) == "slackware 15.0"
    assert str(OperatingSystem(id="ubuntu", title="Ubuntu 24.04.3 LTS", dgx_release="7.4.0")) == "DGX OS 7.4.0"
    assert str(OperatingSystem()) == "an unknown operating system"


def test_locked_packages_of_dnf_are_read_by_name() -> None:
    text = (
        "nvidia-driver-cuda-3:580.126.20-1.el9.*\nkmod-nvidia-open-dkms-3:580.126.20-1.el9.noarch\n!kernel-0:5.14-1.*\n"
    )
    assert parse_versionlock(text) == {"nvidia-driver-cuda", "kmod-nvidia-open-dkms"}
    with pytest.raises(Unreadable, match="name-epoch"):
        parse_versionlock("Last metadata expiration check\n")
