"""bus.replay-rate: the PCIe links to the GPUs repeat few packets.

The absolute counter is not a fault: 106 to 150 is healthy (8 x H100, NVIDIA/k8s-test-infra). The probe
reads it twice, and the verdict is about the difference.
"""

from __future__ import annotations

from ....facts.hardware.gpu import parse_nvidia_smi_xml
from ...model.check import Judgement, Level, Method, Severity, failed, unknown, warned, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import GPU_REPORT
from ...probes.gpu_report import count_findings
from ._bus_check import BusCheck, Expected

WINDOW_S = 20
_MOST_PER_MINUTE = 10  # an estimate of 2026-11-20: no vendor states a limit of the rate


class ReplayRate(BusCheck):
    id, version, method = "bus.replay-rate", 1, Method.TEST
    title = "the PCIe links to the GPUs repeat few packets"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    level = Level.FULL
    remedy = "reseat the GPU board or the riser; compare `nvidia-smi -q -d PCI` under load with other nodes"

    def probe(self, expected: Expected) -> Probe:
        """Print the report twice, with a pause between."""
        return Probe({"before": GPU_REPORT, "after": f"sleep {WINDOW_S} && {GPU_REPORT}"}, is_exclusive=True)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail above the limit of the rate; warn about any growth."""
        sections = parse_sections(output)
        before = parse_nvidia_smi_xml(sections.text("before"))
        after = parse_nvidia_smi_xml(sections.text("after"))
        findings = [*count_findings(before, expected.gpu_count), *count_findings(after, expected.gpu_count)]
        first = {gpu.pci_bus_id: gpu.pcie.replay_counter for gpu in before.gpus}
        for gpu in after.gpus:
            name, count, earlier = f"GPU {gpu.index}", gpu.pcie.replay_counter, first.get(gpu.pci_bus_id)
            if count is None or earlier is None:
                findings.append(unknown(f"the replay counter of {name}", "GPU is lost" if gpu.is_lost else "none"))
            elif count < earlier:
                findings.append(unknown(f"a replay counter of {name} that grows", f"{earlier}, then {count}"))
            elif (count - earlier) * 60 > _MOST_PER_MINUTE * WINDOW_S:
                rate = (count - earlier) * 60 // WINDOW_S
                findings.append(failed(f"at most {_MOST_PER_MINUTE} replays a minute on {name}", str(rate)))
            elif count > earlier:
                findings.append(warned(f"no replays on {name} in {WINDOW_S} s", str(count - earlier)))
        return worst(findings, otherwise=f"expected no replays in {WINDOW_S} s, got none on {len(after.gpus)} GPUs")
