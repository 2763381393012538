"""Reads the text of a sweep in either form of ibnetdiscover."""

from __future__ import annotations

import re

from ..facts.fabric.ibnetdiscover import discovery_of_ports, parse_ibnetdiscover, parse_port_list
from .cabling import COLUMNS, PlannedLink, PlanProblem, parse_plan, plan_of
from .topology import Fabric

SIMULATED = "# simulated: a fabric of a sovctl lab (ibsim)\n"
"""First line of a sweep of a lab. ibnetdiscover begins its own comments with `#`, too."""
_LISTED = re.compile(r"^(?:CA|SW|RT)\s+\d+\s+\d+ 0x")


def read_fabric(text: str) -> Fabric:
    """Return the fabric of `ibnetdiscover`, or of `ibnetdiscover -p`.

    Raises:
        Unreadable: the text has neither form, is cut, or contradicts itself.
    """
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return Fabric.of(discovery_of_ports(parse_port_list(text)) if _LISTED.match(first) else parse_ibnetdiscover(text))


def is_simulated(text: str) -> bool:
    """Return whether a sweep is of a lab."""
    return text.startswith(SIMULATED)


def read_expected(text: str) -> tuple[tuple[PlannedLink, ...], tuple[PlanProblem, ...]]:
    """Return the links of a plan, or of an earlier sweep, and all problems of a plan.

    Raises:
        Unreadable: the text is not a plan, and not a complete sweep.
    """
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    is_plan = first.replace(" ", "").startswith(f"{COLUMNS[0]},")
    return parse_plan(text if is_plan else plan_of(read_fabric(text)))
