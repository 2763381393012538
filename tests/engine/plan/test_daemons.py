"""A daemon with an older state than the installed one is a planned restart with its cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from node_edits import STARTED_S, with_file
from planned_nodes import planned
from strategies import context

from sovctl.engine.facts.node import NodeFacts, Process
from sovctl.engine.plan.build import changes

FABRIC_MANAGER, CHRONY = "nvidia-fabricmanager", "chrony"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libssl.so.3"


def with_process(unit: str, *deleted: str, active: str = "active") -> Callable[[NodeFacts], NodeFacts]:
    process = Process("/usr/bin/daemon", deleted)
    return lambda facts: replace(
        facts, units={**facts.units, unit: replace(facts.units[unit], process=process, active=active)}
    )


def written(path: str, *, after_start_s: int) -> Callable[[NodeFacts], NodeFacts]:
    """A file that was written this time after the start; its content does not change."""
    mtime_ns = (STARTED_S + after_start_s) * 10**9 + 999_999_999

    def change(facts: NodeFacts) -> NodeFacts:
        if path not in facts.files:
            return with_file(facts, path, mtime_ns=mtime_ns)
        return replace(facts, files={**facts.files, path: {**facts.files[path], "mtime_ns": mtime_ns}})

    return change


PACKAGE = f"/var/lib/dpkg/info/{FABRIC_MANAGER}.list"
CASES: dict[str, tuple[Callable[[NodeFacts], NodeFacts], str, str]] = {
    "a current process": (with_process(FABRIC_MANAGER), "", ""),
    "a replaced program": (
        with_process(FABRIC_MANAGER, "/usr/bin/daemon"),
        f"n1/service/{FABRIC_MANAGER}",
        "its process has replaced files open: /usr/bin/daemon",
    ),
    "replaced libraries": (
        with_process(CHRONY, LIBRARY, "/usr/lib/a.so", "/usr/lib/b.so"),
        f"n1/clock/{CHRONY}",
        f"its process has replaced files open: {LIBRARY}, /usr/lib/a.so and 1 more",
    ),
    "a newer package": (
        written(PACKAGE, after_start_s=1),
        f"n1/service/{FABRIC_MANAGER}",
        f"its process is older than {PACKAGE}",
    ),
    "a package of the same second": (written(PACKAGE, after_start_s=0), "", ""),
    "a newer configuration": (
        written("/etc/chrony/chrony.conf", after_start_s=1),
        f"n1/clock/{CHRONY}",
        "its process is older than /etc/chrony/chrony.conf",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_outdated_daemon_is_a_planned_restart_with_its_cause(case: str) -> None:
    change, id_, cause = CASES[case]
    facts = planned("lab")[0]
    made = changes(context("lab"), {**facts, "n1": change(facts["n1"])})
    assert [each.id for each in made] == ([id_] if id_ else [])
    assert [each.before for each in made] == ([{"runs_what_is_written": cause}] if id_ else [])


def test_a_stopped_daemon_is_started_and_not_called_outdated() -> None:
    facts = planned("lab")[0]
    stopped = with_process(CHRONY, LIBRARY, active="failed")(facts["n1"])
    [change] = changes(context("lab"), {**facts, "n1": stopped})
    assert change.before == {"active": "failed"}
