"""Daemons that must restart, because their program, libraries, package or configuration is newer than their process."""

from __future__ import annotations

from collections.abc import Iterable

from ...facts.node import NodeFacts, Unit

PACKAGE_LIST = "/var/lib/dpkg/info/{package}.list"
"""File that dpkg writes when it unpacks a package. The files of a package keep the time of its build."""
SHOWN = 2
"""Maximum number of files in a cause."""


def outdated(facts: NodeFacts, unit: str, inputs: Iterable[str]) -> str:
    """Return the cause why a unit must restart; empty if it runs its installed state, or does not run.

    Args:
        inputs: paths of files that its process reads at its start.
    """
    state = facts.units.get(unit)
    if state is None or state.active != "active":
        return ""
    if state.process is not None and state.process.deleted:
        gone = state.process.deleted
        more = f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else ""
        return f"its process has replaced files open: {', '.join(gone[:SHOWN])}{more}"
    # Start times of units are whole seconds: a start in the same second as the last write counts as later.
    newer = [path for path in inputs if facts.files.get(path, {}).get("mtime_ns", 0) // 10**9 > state.started_s]
    return f"its process is older than {newer[0]}" if newer else ""


def runs_what_is_written(facts: NodeFacts, unit: str, inputs: Iterable[str]) -> bool | str:
    """Return True if a unit runs its installed state, or the cause why it must restart."""
    return outdated(facts, unit, inputs) or True


def started_after(facts: NodeFacts, unit: Unit | None, inputs: Iterable[str]) -> bool | str:
    """Return True if a unit was started after the last write of its files, or the cause why it must restart.

    False without a unit, whose absence another key of its resource reports.

    Args:
        inputs: paths of the files that its process reads at its start.
    """
    if unit is None:
        return False
    # Start times of units are whole seconds: a start in the same second as the last write counts as later.
    newest = max(inputs, key=facts.modified_s)
    return unit.started_s >= int(facts.modified_s(newest)) or f"its process is older than {newest}"
