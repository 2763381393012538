"""Parsers of the kernel's boot configuration: command line, GRUB entries, loaded modules, parameters of the driver."""

from __future__ import annotations

import shlex

from ..unreadable import Unreadable


def command_line(text: str) -> tuple[str, ...]:
    """Return the options of a kernel command line, such as `/proc/cmdline`.

    Raises:
        Unreadable: a quote is not closed.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise Unreadable("a kernel command line", text, where="kernel command line") from None


def grub_command_lines(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the options of each boot entry of a grub.cfg, except the entries of the recovery mode.

    Debian and Ubuntu write the command line in the entry. RHEL 9 keeps it in the variable `kernelopts` of grubenv or in
    the entries of /boot/loader, so that its grub.cfg contains no entry.

    Raises:
        Unreadable: the command line of an entry has an open quote.
    """
    lines = (line.split(None, 1) for line in text.splitlines())
    entries = [command_line(words[1]) for words in lines if len(words) == 2 and words[0] in ("linux", "linuxefi")]
    return tuple(entry for entry in entries if not {"single", "recovery"} & set(entry))


def lacking(options: tuple[str, ...], command: tuple[str, ...]) -> list[str]:
    """Return the options that a command line lacks. The last value of an option counts (kernel-parameters(7))."""
    last = {each.partition("=")[0]: each for each in command}
    return [each for each in options if last.get(each.partition("=")[0]) != each]


def loaded_modules(text: str) -> frozenset[str]:
    """Return the names of loaded modules from `/proc/modules`.

    Raises:
        Unreadable: a line has another form.
    """
    names = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) < 6 or not words[1].isdecimal():
            raise Unreadable("a line of /proc/modules", line, where="/proc/modules")
        names.add(words[0])
    return frozenset(names)


def driver_parameters(text: str) -> dict[str, str]:
    """Return the parameters of the loaded NVIDIA module from `/proc/driver/nvidia/params`, without `NVreg_`.

    Raises:
        Unreadable: a line is not `Name: value`.
    """
    values = {}
    for line in text.splitlines():
        name, separator, value = line.partition(":")
        if not separator:
            raise Unreadable("`Name: value`", line, where="/proc/driver/nvidia/params")
        values[name.strip()] = value.strip().strip('"')
    return values
