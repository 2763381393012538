"""gpu.no-foreign-processes: only pools and services of the board use a GPU.

A process outside of them takes memory from a pool, and can read the results of others on the same GPU. Two views: the
processes that the driver reports, and those with an open device file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....catalog.board_services import board_services
from ....facts.host.sockets import parse_process_units
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....resources.pool import unit_name
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import GPU_REPORT
from ...probes.gpu_report import gpu_report

_SCRIPT = r"""n=0
for p in $(find /proc/[0-9]*/fd -maxdepth 1 -lname '/dev/nvidia[0-9]*' 2>/dev/null | cut -d/ -f3 | sort -un); do
  n=$((n + 1)); echo "$p $(tail -n 1 "/proc/$p/cgroup" 2>/dev/null)"
done
echo "processes $n" """
_PID = re.compile(r"<process_info>.*?<pid>(\d+)</pid>", re.DOTALL)
_EXPORTERS = ("dcgm-exporter.service", "nvidia-dcgm-exporter.service")
"""Exporters of metrics, which open each GPU."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Units that may use a GPU."""

    units: tuple[str, ...]


class NoForeignProcesses(Check[Expected]):
    id, version, method = "gpu.no-foreign-processes", 1, Method.EXAMINE
    title = "only pools and services of the board use a GPU"
    controls = ("cm-7.5", "sc-4", "si-4")
    severity = Severity.HIGH
    remedy = "find the process with `nvidia-smi` and `systemctl status PID`, and end it"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            pools = [f"{unit_name(each)}.service" for each in site.context.replicas_on(node)]
            board = [f"{each.unit}.service" for each in board_services(platform) if each.unit is not None]
            yield Expected(units=(*pools, *board, *_EXPORTERS))

    def probe(self, expected: Expected) -> Probe:
        """Print the driver's report, and process ID and control group of each process with an open GPU."""
        return Probe.of(gpus=GPU_REPORT, holders=_SCRIPT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every process is in a permitted unit, and the driver reports no other process."""
        sections = parse_sections(output)
        text, report = sections.text("gpus"), gpu_report(output)
        if not report.gpus or text.count("<processes>") != len(report.gpus):
            raise Unreadable(
                "the processes of each GPU", "another report", where="nvidia-smi -q -x", is_description=True
            )
        *lines, last = sections.text("holders").strip().splitlines() or [""]
        if last != f"processes {len(lines)}":
            raise Unreadable("the number of processes in the last line", last, where="/proc")
        holders = parse_process_units("\n".join(lines))
        reported = {integer(pid) for pid in _PID.findall(text)}
        findings = [unknown(f"the unit of process {pid}", "none") for pid in sorted(reported - set(holders))]
        for pid, unit in holders.items():
            if not unit:
                findings.append(unknown(f"the unit of process {pid}", "none"))
            elif unit not in expected.units:
                findings.append(failed("only planned units on GPUs", f"process {pid} in {unit}"))
        return worst(findings, otherwise=f"expected planned units on GPUs, got {len(holders)} processes of them")
