"""Parsers of the boot configuration: every entry counts, and the last value of an option."""

from __future__ import annotations

import pytest

from sovctl.engine.facts.host.boot import (
    command_line,
    driver_parameters,
    grub_command_lines,
    lacking,
    loaded_modules,
)
from sovctl.engine.facts.unreadable import Unreadable

GRUB = """
menuentry 'Ubuntu' {
\tlinux\t/boot/vmlinuz-6.8.0-45-generic root=UUID=1 ro  quiet iommu=pt
\tinitrd\t/boot/initrd.img-6.8.0-45-generic
}
submenu 'Advanced' {
\tmenuentry 'older' {
\t\tlinux /boot/vmlinuz-6.8.0-40-generic root=UUID=1 ro
\t}
\tmenuentry 'older (recovery mode)' {
\t\tlinux /boot/vmlinuz-6.8.0-40-generic root=UUID=1 ro recovery nomodeset
\t}
}
"""


def test_every_entry_but_recovery_is_read() -> None:
    entries = grub_command_lines(GRUB)
    assert len(entries) == 2
    assert [lacking(("iommu=pt",), entry) for entry in entries] == [[], ["iommu=pt"]]


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("iommu=pt", []),
        ("iommu=pt iommu=off", ["iommu=pt"]),
        ("iommu=off iommu=pt", []),
        ("iommu=pt2", ["iommu=pt"]),
        ("xiommu=pt", ["iommu=pt"]),
        ("", ["iommu=pt"]),
    ],
)
def test_the_last_value_of_an_option_counts(command: str, missing: list[str]) -> None:
    assert lacking(("iommu=pt",), command_line(command)) == missing


def test_modules_and_parameters_of_other_forms_are_unreadable() -> None:
    assert loaded_modules("nvidia 60000000 2 nvidia_uvm, Live 0xffff (OE)\n") == {"nvidia"}
    assert driver_parameters('RestrictProfilingToAdminUsers: 1\nRegistryDwords: ""\n') == {
        "RestrictProfilingToAdminUsers": "1",
        "RegistryDwords": "",
    }
    for parse, text in ((loaded_modules, "nvidia\n"), (driver_parameters, "x\n"), (command_line, "a='b")):
        with pytest.raises(Unreadable):
            parse(text)
