"""Parser of `process_probe.py`: the main processes of systemd units, as the kernel has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sovctl.support.package_files import package_folder, package_text

from .unreadable import MALFORMED, Unreadable


@dataclass(frozen=True)
class UnitProcess:
    """Main process of a unit.

    Args:
        argv: arguments of the process; secrets are "(secret)".
        environment: variables at the start of the process; values that are not read are "(not read)".
        folders: below /opt/sovctl, sorted; the suffix " (deleted)" marks files that no longer exist.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folders: tuple[str, ...]


def probe_command(units: Sequence[str]) -> list[str]:
    """Return the command that runs the probe on a node.

    Args:
        units: names with suffix.
    """
    source = package_text(package_folder("engine/facts/probes") / "process_probe.py")
    return ["python3", "-I", "-B", "-c", source, *units]


def parse_processes(text: str) -> dict[str, UnitProcess | None]:
    """Parse the output of the probe: the process of every unit; None without one.

    Raises:
        Unreadable: a line has another form, or a unit occurs twice.
    """
    found: dict[str, UnitProcess | None] = {}
    for line in text.splitlines():
        try:
            row = json.loads(line)
            unit = str(row["unit"])
            process = (
                UnitProcess(
                    tuple(map(str, row["argv"])),
                    {str(name): str(value) for name, value in row["environment"].items()},
                    tuple(map(str, row["folders"])),
                )
                if int(row["pid"])
                else None
            )
        except MALFORMED:
            raise Unreadable("one JSON object for each unit", line, where="process probe") from None
        if unit in found:
            raise Unreadable("every unit once", line, where="process probe")
        found[unit] = process
    return found
