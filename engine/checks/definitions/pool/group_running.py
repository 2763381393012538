"""pool.group-running: all ranks of a replica on several nodes run the same generation.

`systemctl` shows a rank as active although the other ranks ended, and `/health` of the head returns 200 (measured with
vLLM 0.32.0). The agents know the generation in which each rank started.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....facts.rank_reports import parse_rank_reports
from ....facts.unreadable import excerpt
from ....resources import pool as pool_resource
from ....resources.serving.group import AGENT_PROGRAMS, agent_files, is_group
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, passed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The group of one replica; the subject is the replica's name.

    Args:
        rank: rank on this node.
        size: number of ranks.
        config: path of the agent's settings.
    """

    rank: int
    size: int
    config: str


class GroupRunning(Check[Expected]):
    id, version, method = "pool.group-running", 1, Method.TEST
    title = "all ranks of a replica on several nodes run the same generation with the same weights"
    controls = ("si-13", "si-7")
    severity = Severity.HIGH
    remedy = "read `journalctl -u sovctl-group-NAME` on the node of each rank"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every serving replica on several nodes with a rank on the node."""
        for replica in filter(is_group, site.context.serving_on(node)):
            name = pool_resource.instance(replica)
            rank = next(each.node_rank for each in replica.ranks if each.node == node.name)
            yield Expected(subject=name, rank=rank, size=len(replica.ranks), config=agent_files(name)[0])

    def probe(self, expected: Expected) -> Probe:
        """Request the report of every rank from its agent."""
        return Probe({"group": f"{AGENT_PROGRAMS[0]} --show {shlex.quote(expected.config)} || true"}, timeout_s=60)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if all ranks run one generation."""
        ranks = parse_rank_reports(parse_sections(output).text("group"))
        if sorted(ranks) != list(range(expected.size)):
            return unknown(f"reports of {expected.size} ranks", f"of {len(ranks)}")
        findings = [_finding(ranks, number) for number in ranks]
        running = {each.get("generation") for each in ranks.values()}
        digests = {each.get("digest") for each in ranks.values()}
        if not any(findings) and len(running) > 1:
            findings.append(failed("one generation of all ranks", ", ".join(sorted(map(str, running)))))
        if not any(findings) and len(digests) > 1:
            findings.append(failed("the same weights on all ranks", f"{len(digests)} digests"))
        if found := [each for each in findings if each is not None]:
            return worst(found, otherwise="")
        return passed(f"expected {expected.size} ranks in one generation, got generation {running.pop()}")


def _finding(ranks: Mapping[int, Mapping[str, Any]], number: int) -> Judgement | None:
    report = ranks[number]
    if "error" in report:
        return failed(f"a report of rank {number}", excerpt(str(report["error"])))
    if not isinstance(report.get("generation"), int) or not isinstance(report.get("digest"), str):
        return unknown(f"generation and digest of rank {number}", "none")
    if report.get("state") != "running":
        return failed(f"rank {number} running", excerpt(str(report.get("state"))))
    return None
