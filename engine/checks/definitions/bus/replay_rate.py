"""bus.replay-rate: the PCIe links to the GPUs repeat few packets.

The absolute counter is not a fault: 106 to 150 is healthy (8 x H100, NVIDIA/k8s-test-infra). The probe
reads it twice, and the verdict is about the difference, and about the growth since an earlier run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....facts.counters import CounterReading
from ....facts.hardware.gpu import GpuReport
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ....spec import Node
from ...model.check import Judgement, Level, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.counter_check import BOOT, HOUR_S, MINUTE_S, CounterCheck, growth_of, reading_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections
from ...probes.commands import GPU_REPORT
from ...probes.gpu_report import count_findings
from ._bus_check import BusCheck, Expected

WINDOW_S = 20
_MOST_PER_MINUTE = "bus.replay-rate.most-a-minute"


class ReplayRate(BusCheck, CounterCheck[Expected]):
    id, version, method = "bus.replay-rate", 2, Method.TEST
    title = "the PCIe links to the GPUs repeat few packets"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    level = Level.FULL
    remedy = "reseat the GPU board or the riser; compare `nvidia-smi -q -d PCI` under load with other nodes"
    window_s = HOUR_S

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        earlier = site.readings.get((node.name, self.id))
        yield from (replace(each, earlier=earlier) for each in super().expect(site, node))

    def probe(self, expected: Expected) -> Probe:
        """Print the report twice, with a pause between, then the time since the boot."""
        return Probe(
            {"before": GPU_REPORT, "after": f"sleep {WINDOW_S} && {GPU_REPORT}", "boot": BOOT}, is_exclusive=True
        )

    def reading(self, output: ProbeOutput, expected: Expected) -> CounterReading:
        """Return the counters of the second report by PCI address."""
        sections = parse_sections(output)
        return _reading(sections, parse_nvidia_smi_xml(sections.text("after")))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail above the limit of the rate; warn about any growth between the two reports."""
        most_per_minute = expected.limit_of(_MOST_PER_MINUTE)
        sections = parse_sections(output)
        before = parse_nvidia_smi_xml(sections.text("before"))
        after = parse_nvidia_smi_xml(sections.text("after"))
        now = _reading(sections, after)
        findings = [*count_findings(before, expected.gpu_count), *count_findings(after, expected.gpu_count)]
        first = {gpu.pci_bus_id: gpu.pcie.replay_counter for gpu in before.gpus}
        for gpu in after.gpus:
            name, count, earlier = f"GPU {gpu.index}", gpu.pcie.replay_counter, first.get(gpu.pci_bus_id)
            if count is None or earlier is None:
                findings.append(unknown(f"the replay counter of {name}", "GPU is lost" if gpu.is_lost else "none"))
            elif count < earlier:
                findings.append(unknown(f"a replay counter of {name} that grows", f"{earlier}, then {count}"))
            elif (count - earlier) * 60 > most_per_minute * WINDOW_S:
                rate = (count - earlier) * 60 // WINDOW_S
                findings.append(failed(f"at most {most_per_minute} replays a minute on {name}", str(rate)))
            elif count > earlier:
                findings.append(warned(f"no replays on {name} in {WINDOW_S} s", str(count - earlier)))
            if str(gpu.pci_bus_id) in now.values:
                findings += _since_an_earlier_run(name, str(gpu.pci_bus_id), now, expected)
        return worst(findings, otherwise=f"expected no replays in {WINDOW_S} s, got none on {len(after.gpus)} GPUs")


def _reading(sections: ProbeSections, report: GpuReport) -> CounterReading:
    counters = {str(gpu.pci_bus_id): gpu.pcie.replay_counter for gpu in report.gpus}
    return reading_of(sections, {name: count for name, count in counters.items() if count is not None})


def _since_an_earlier_run(name: str, address: str, now: CounterReading, expected: Expected) -> Iterator[Judgement]:
    most_per_minute = expected.limit_of(_MOST_PER_MINUTE)
    growth = growth_of(address, now, expected)
    if not growth.is_since_boot and growth.per(MINUTE_S) > most_per_minute:
        rate = f"{growth.per(MINUTE_S):.0f}"
        yield failed(f"at most {most_per_minute} replays a minute on {name} since {growth.since}", rate)
