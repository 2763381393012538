"""pool.fabric-transport: the ranks of a replica exchange data by GPUDirect RDMA.

With a wrong adapter name, without peer memory or with ACS, NCCL uses another transport without an error, and the pool
serves at a fraction of the speed. NCCL logs the transport of each channel at the start of the server (NCCL_DEBUG=INFO):

    n1:812:901 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA

Source: vLLM, docs/serving/parallelism_scaling.md, "Confirm GPUDirect RDMA operation".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from ....facts.unreadable import excerpt
from ....resources.pool import instance
from ....resources.serving.group import is_group
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, passed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import show_units
from ._process import unit_failure
from ._replicas import Expected, replicas_on

_CHANNEL = re.compile(r"\s*(?P<count>\d{1,9}) via (?P<transport>NET/\S+)")
_RDMA = re.compile(r"NET/IB\w*/\S*GDRDMA\S*")


class FabricTransport(Check[Expected]):
    id, version, method = "pool.fabric-transport", 1, Method.EXAMINE
    title = "the ranks of a replica on several nodes exchange data by GPUDirect RDMA"
    controls = ("cm-6", "si-13")
    severity = Severity.MEDIUM
    remedy = (
        "check `ib.*`, `roce.*` and `bus.acs-off-on-path`, then restart the pool and read its log for `NCCL INFO NET`"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every rank of a group on a node with compute ports, if the engine uses NCCL."""
        nics = site.context.platform(node).checks.compute_nics
        if not site.context.engine.uses_nccl or nics is None or not nics.applies:
            return
        groups = {instance(each) for each in site.context.serving_on(node) if is_group(each)}
        yield from (each for each in replicas_on(site, node) if each.subject in groups)

    def probe(self, expected: Expected) -> Probe:
        """Print the unit, and the number of channels by transport in the log since its start."""
        unit = shlex.quote(expected.unit)
        log = f"journalctl --quiet --output=cat _SYSTEMD_INVOCATION_ID=$(systemctl show -p InvocationID --value {unit})"
        find = "grep -F 'NCCL INFO Channel' | grep -oE 'via NET/[^ ]+' | sort | uniq -c"
        return Probe.of(unit=show_units(expected.unit), channels=f"{log} | {find} || true")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every channel to another node uses GPUDirect RDMA."""
        sections = parse_sections(output)
        if failure := unit_failure(sections, expected.unit):
            return failure
        found = []
        for line in sections.text("channels").splitlines():
            match = _CHANNEL.fullmatch(line.rstrip())
            if match is None:
                return unknown("channels of NCCL by transport", excerpt(line))
            found.append((int(match["count"]), match["transport"]))
        if not found:
            return unknown("channels of NCCL to other nodes in the log of the server", "none")
        other = [(count, each) for count, each in found if not _RDMA.fullmatch(each)]
        if other:
            return worst(
                [failed("NET/IB with GDRDMA on all channels", f"{excerpt(each)} on {count}") for count, each in other],
                otherwise="",
            )
        return passed(f"expected GPUDirect RDMA, got it on {sum(count for count, _ in found)} channels")
