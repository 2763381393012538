"""Measures the nodes from their answers: ssh, host key, sudo, python3, clock and free disk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sovctl.support.errors import SovctlError

from ..facts.host.disks import parse_df
from .answers import Answers
from .item import Finding, done, missing, not_measured
from .situation import Situation

MAX_OFFSET = timedelta(minutes=5)
"""Largest offset of a node's clock before the first apply, which configures chrony: the import of bundles and Kerberos
(RFC 4120, 8.2) have the same."""
MIN_FREE_BYTES = 20 << 30
"""Free bytes of the root file system. Chosen: wheels of vLLM 0.32 are 4.0 GB, and two environments of it are unpacked
during an upgrade. Model files are not included. Nodes of a lab share the disk of its machine, which `sovctl lab check`
measures."""


def measure_nodes(situation: Situation) -> Iterator[Finding]:
    """Yield the findings of each node that was contacted."""
    nodes = situation.opened.spec.nodes()
    answers = situation.answers
    if answers is None:
        yield not_measured(f"{len(nodes)} nodes", "not contacted", f"sovctl doctor {situation.path} --nodes")
        return
    for _, node in nodes:
        subject = f"{node.name} ({node.address})"
        if (failure := answers.failures.get(node.name)) is not None:
            yield missing(subject, *failure)
        else:
            least = 0 if situation.is_lab else MIN_FREE_BYTES
            yield from _of_answer(subject, answers, answers.captures[node.name]["commands"], min_free_bytes=least)


def _of_answer(subject: str, answers: Answers, commands: dict[str, Any], *, min_free_bytes: int) -> Iterator[Finding]:
    try:
        clock = datetime.fromtimestamp(float(_output(commands, "time")), UTC)
        free = parse_df(_output(commands, "space").partition("\n")[2])["/"][1]
    except (SovctlError, ValueError, KeyError, OverflowError, OSError):
        yield not_measured(subject, "its clock or its free disk was not measured", "check date and df on the node")
        return
    # The clock was read between these two times.
    offset = max(answers.asked - clock, clock - answers.answered, timedelta())
    wrong = False
    if offset > MAX_OFFSET:
        wrong = True
        reason = f"its clock differs from this controller's by at least {int(offset.total_seconds())} s"
        yield missing(subject, reason, "set the clock of the node, and the one of its BMC")
    if free < min_free_bytes:
        wrong = True
        reason = f"expected {min_free_bytes >> 30} GiB free in /, got {free >> 30} GiB"
        yield missing(subject, reason, "free or enlarge the root file system")
    if not wrong:
        offset_s = int(offset.total_seconds())
        yield done(subject, f"ssh, host key, sudo; clock within {offset_s + 1} s, {free >> 30} GiB free in /")


def _output(commands: dict[str, Any], name: str) -> str:
    answer = commands[name]
    if answer["exit_code"] != 0:
        raise ValueError(name)
    return str(answer["stdout"])
