"""Parser of a simulated installation: `apt-get --simulate install`, which changes nothing and needs no network.

Lines: `Inst NAME [OLD] (NEW SOURCE [ARCH]) []`, `Remv NAME [OLD]`, `Conf NAME (...)`. Source: apt 2.6, and apt-get(8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..unreadable import Unreadable

_LINE = re.compile(r"^(?P<verb>Inst|Remv|Purg) (?P<name>\S+)(?: \[(?P<old>[^]]*)\])?(?: \((?P<new>\S+) [^)]*\))?")


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """One package that apt would change. `version` is None if it would be removed."""

    name: str
    version: str | None


def parse_simulation(text: str) -> tuple[SimulatedStep, ...]:
    """Parse the packages that apt would install, upgrade, downgrade or remove; empty without a change.

    Raises:
        Unreadable: a line of a package has an unknown form.
    """
    steps = []
    for line in text.splitlines():
        if not line.startswith(("Inst ", "Remv ", "Purg ")):
            continue
        match = _LINE.match(line)
        if match is None or (match["verb"] == "Inst") != (match["new"] is not None):
            raise Unreadable("`Inst NAME [OLD] (NEW ...)` or `Remv NAME [OLD]`", line, where="apt-get --simulate")
        steps.append(SimulatedStep(match["name"].partition(":")[0], match["new"]))
    return tuple(steps)
