"""firmware.nic: every InfiniBand and RoCE adapter has a permitted firmware version."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.infiniband import parse_infiniband, parse_tree
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, unknown
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import INFINIBAND_ADAPTERS, INFINIBAND_TREE
from ._versions import Expected, judge_versions, permitted


class AdapterFirmware(Check[Expected]):
    id, version, method = "firmware.nic", 1, Method.EXAMINE
    title = "every adapter has a permitted firmware version"
    controls = ("cm-2", "cm-6", "si-2")
    severity = Severity.MEDIUM
    remedy = "update the adapter with `mlxfwmanager`, then reset it with `mlxfwreset -l 3` or reboot"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with compute ports."""
        platform = site.context.platform(node)
        if platform.checks.compute_nics and platform.checks.compute_nics.value:
            yield permitted(site, node, "nic")

    def probe(self, expected: Expected) -> Probe:
        """Print the adapters in sysfs."""
        return Probe.of(adapters=INFINIBAND_ADAPTERS, tree=INFINIBAND_TREE)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare every adapter, after a comparison of their number. A bond has the firmware of its devices."""
        sections = parse_sections(output)
        adapters, count = parse_infiniband(parse_tree(sections.text("tree"))), sections.text("adapters").strip()
        if not count.isdecimal():
            raise Unreadable("a number of adapters", count, where="/sys/class/infiniband")
        if integer(count) != len(adapters) or not adapters:
            return unknown(f"files of {count} adapters", str(len(adapters)))
        return judge_versions({each.name: each.fw_ver for each in adapters if not each.is_bond}, expected)
