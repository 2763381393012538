"""Configuration of systemd units: fragment, drop-ins and masks of every unit that a resource type manages or watches.

A drop-in can change any setting of a unit, and a fragment in /etc or /run replaces the one of the package. Allowed are
files of packages, below /usr/lib and /lib, and files that a resource type writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from ...facts.node import NodeFacts
from ...facts.units import UnitState
from ...spec import Node
from ..context import Context
from ..resource import Desired, Risk, State
from ..resource_type import ResourceType

_PACKAGED = ("/usr/lib/", "/lib/")
OWN = "sovctl-"
"""Prefix of the units that sovctl writes. Their fragments are in /etc/systemd/system."""
UNITS = "/etc/systemd/system"
UNWANTED = ("apt-daily", "unattended-upgrades", "dnf-automatic", "swap", "systemd-resolved")
"""Prefixes of units that sovctl keeps off, which a mask may do. They have no resource of this type."""
LAB_FILES = "/sovctl-lab"
"""Part of the paths of files with which a lab simulates hardware and time."""


def full_name(unit: str) -> str:
    """Return the name of a unit with its suffix; without one it is a service."""
    return unit if unit.endswith((".timer", ".socket", ".mount")) else f"{unit}.service"


def resource_type(others: Callable[[], Sequence[ResourceType]]) -> ResourceType:
    """Return the resource type.

    Args:
        others: returns all other resource types, whose queries name the units.
    """

    def expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
        queries = [kind.query(context, node) for kind in others()]
        written = {path for query in queries for path in (*query.hash, *query.read)}
        names = {full_name(unit) for query in queries for unit in query.units}
        for name in sorted(name for name in names if not name.startswith(UNWANTED)):
            observed = facts.unit_states.get(name) if facts else None
            yield Desired(
                kind="unit",
                name=name,
                state={"is_masked": False, "other_files": [], "needs_daemon_reload": False},
                why="only packages and sovctl configure this unit",
                variables={"files": other_files(observed, written), "is_masked": is_masked(observed)},
                risk=Risk.SERVICE,
            )

    return ResourceType("unit", expect, _observe)


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    observed = facts.unit_states.get(desired.name)
    if observed is None or observed.load == "not-found":
        return desired.state  # the resource that needs the unit reports its absence
    return {
        "is_masked": is_masked(observed),
        "other_files": desired.variables["files"],
        "needs_daemon_reload": observed.properties.get("NeedDaemonReload") == "yes",
    }


def is_masked(observed: UnitState | None) -> bool:
    """Return whether a unit is masked, now or at the next start."""
    return observed is not None and (
        observed.load == "masked" or observed.properties.get("UnitFileState", "").startswith("masked")
    )


def other_files(observed: UnitState | None, written: Collection[str]) -> list[str]:
    """Return the files of a unit that neither a package nor sovctl wrote, sorted.

    Args:
        written: paths of files that resource types write.
    """
    if observed is None:
        return []
    files = observed.properties.get("DropInPaths", "").split()
    fragment = observed.properties.get("FragmentPath", "")
    own = f"{UNITS}/{observed.id}"
    if fragment and not is_masked(observed) and not (observed.id.startswith(OWN) and fragment == own):
        files.append(fragment)
    return sorted(
        path for path in files if not path.startswith(_PACKAGED) and path not in written and LAB_FILES not in path
    )
