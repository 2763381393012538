"""Parsers of the kernel's view of the NVIDIA driver, independent of nvidia-smi.

- /proc/driver/nvidia/version: version and kind (open or proprietary) of the loaded module.
- /proc/driver/nvidia/gpus/ADDRESS/information: one file for each GPU that the module drives.
- lsmod: loaded modules.
- The package of a program: its owner, its listed digest, and its digest now.

Sources: /proc files of drivers 535 to 580 (NVIDIA driver README, "The /proc file system interface"), lsmod(8), read
2026-11-28.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_MODULE = re.compile(r"^NVRM version: .*?(?P<open>Open )?Kernel Module.*?\s(?P<version>\d+\.\d+(?:\.\d+)?)\s")
_HEADER = re.compile(r"^([0-9a-fA-F]{4}):([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)$")


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """The NVIDIA kernel module that is loaded."""

    version: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class DriverGpu:
    """A GPU in /proc; `address` has four digits of domain, lower case. `uuid` is None if it was not read."""

    address: str
    model: str | None
    uuid: str | None
    minor: int | None


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A program on disk, and the record of its package.

    Args:
        owner: package; None if no package contains the file.
        listed, actual: digests by the same algorithm; `listed` is None if the package does not list the file.
    """

    path: str
    owner: str | None
    listed: str | None
    actual: str


def parse_module_version(text: str) -> LoadedModule:
    """Parse /proc/driver/nvidia/version.

    Raises:
        Unreadable: no line has the form `NVRM version: ... Kernel Module ... version`.
    """
    for line in text.splitlines():
        if match := _MODULE.match(line.replace("x86_64", "").replace("aarch64", "") + " "):
            return LoadedModule(match["version"], match["open"] is not None)
    raise Unreadable("`NVRM version: ... Kernel Module ...`", text, where="/proc/driver/nvidia/version")


def parse_driver_gpus(text: str) -> tuple[DriverGpu, ...]:
    """Parse the information files of all GPUs, each after a line with its address; sorted by address.

    Raises:
        Unreadable: the text has no address, or fields before the first one.
    """
    where = "/proc/driver/nvidia/gpus"
    fields: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for raw in text.splitlines():
        line = raw.strip()
        if match := _HEADER.match(line):
            current = fields.setdefault(f"{match[1]}:{match[2]}".lower(), {})
        elif line and current is None:
            raise Unreadable("a PCI address", line, where=where)
        elif line and current is not None:
            name, _, value = line.partition(":")
            current[name.strip()] = value.strip()
    if not fields:
        raise Unreadable("a PCI address", text, where=where)
    return tuple(
        DriverGpu(address, each.get("Model"), _known(each.get("GPU UUID")), _minor(each.get("Device Minor")))
        for address, each in sorted(fields.items())
    )


def parse_modules(text: str) -> frozenset[str]:
    """Return the names in the output of `lsmod`.

    Raises:
        Unreadable: the header `Module Size Used by` is missing, or a line is cut.
    """
    lines = text.splitlines()
    if not lines or lines[0].split()[:2] != ["Module", "Size"]:
        raise Unreadable("`Module Size Used by`", text, where="lsmod")
    rows = [line.split() for line in lines[1:] if line.strip()]
    if cut := next((row for row in rows if len(row) < 3 or not (row[1].isdecimal() and row[2].isdecimal())), None):
        raise Unreadable("name, size and number of users", " ".join(cut), where="lsmod")
    return frozenset(row[0] for row in rows)


def parse_program_file(text: str) -> ProgramFile:
    """Parse lines `path`, `owner`, `listed` and `actual`, each with a value or without one.

    Raises:
        Unreadable: the path or the digest is missing.
    """
    values = {words[0]: words[1] for line in text.splitlines() if len(words := line.split(maxsplit=1)) == 2}
    if "path" not in values or "actual" not in values:
        raise Unreadable("the path and the digest of the program", text, where="package database")
    return ProgramFile(values["path"], values.get("owner"), values.get("listed"), values["actual"].lower())


def _known(uuid: str | None) -> str | None:
    return None if uuid is None or "?" in uuid else uuid


def _minor(text: str | None) -> int | None:
    return integer(text) if text and text.isdecimal() else None
