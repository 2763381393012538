"""nvlink.fabric-ready: the fabric's services run, and every GPU is registered in the fabric and healthy.

All of these are required, because each alone has been good on broken machines: the service runs; the GPU's state is
Completed; its status is Success; no health field reports a problem. Source: NVIDIA/NVSentinel issues 883 and 889, read
2026-11-20.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.compliance.verdict import Verdict

from ....catalog.board_services import fabric_services
from ....facts.hardware.gpu import Gpu, GpuReport
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ....facts.units import parse_units
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of, text_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import GPU_REPORT, show_units
from ...probes.gpu_report import count_findings


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Values of a ready fabric on this platform.

    Args:
        services: units that must run.
        processes: programs that must run without a unit of their own: nvlsm, which fabric manager's unit starts.
        state, status, health: values on every GPU; None where the platform prints N/A.
        has_cluster: True for multi-node NVLink, where clique and cluster UUID must not be zero. Healthy HGX nodes
            report zero for both.
        is_known: False if the catalogue does not describe the platform's fabric.
    """

    gpu_count: int | None
    services: tuple[str, ...]
    state: str | None
    status: str | None
    health: str | None
    has_cluster: bool
    is_known: bool = True
    processes: tuple[str, ...] = ()


class FabricReady(Check[Expected]):
    id, version, method = "nvlink.fabric-ready", 1, Method.TEST
    title = "the fabric services run, and every GPU is registered and healthy"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "read `journalctl -u nvidia-fabricmanager`; restart the service, then reset the GPUs"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with an NVLink fabric, and nodes whose catalogue entry has no information about it."""
        platform = site.context.platform(node)
        checks, services = platform.checks, fabric_services(platform)
        if not platform.has_gpus or (platform.profile is not None and not services):
            return
        figures = (checks.fabric_state, checks.fabric_status, checks.fabric_health)
        yield Expected(
            gpu_count=integer_of(checks.gpu_count),
            services=tuple(each.unit for each in services if each.unit is not None),
            processes=tuple(each.process for each in services if each.process is not None),
            state=text_of(checks.fabric_state),
            status=text_of(checks.fabric_status),
            health=text_of(checks.fabric_health),
            has_cluster=bool(checks.fabric_has_cluster_uuid and checks.fabric_has_cluster_uuid.value),
            is_known=None not in figures,
        )

    def probe(self, expected: Expected) -> Probe:
        """Print the states of the fabric's units and processes, and the fabric section of every GPU."""
        units = [f"{each}.service" for each in expected.services]
        lines = [
            f"pgrep -x {each} >/dev/null; case $? in 0) echo {each} runs;; 1) echo {each} absent;; *) exit 1;; esac"
            for each in expected.processes
        ]
        processes = {"processes": "\n".join(lines)} if lines else {}
        return Probe.of(services=show_units(*units) if units else "false", **processes, gpus=GPU_REPORT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every service runs, and every GPU has the expected state, status and health."""
        sections = parse_sections(output)
        report = parse_nvidia_smi_xml(sections.text("gpus"))
        if expected.gpu_count == 1 and _is_alone(report):
            return Judgement(Verdict.NOT_APPLICABLE, "expected a fabric of several GPUs, got one passed-through GPU")
        if not expected.is_known:
            return unknown("the platform's fabric", "none in the catalogue")
        units = {unit.id.removesuffix(".service"): unit for unit in parse_units(sections.text("services"))}
        findings = list(count_findings(report, expected.gpu_count))
        for service in expected.services:
            unit = units.get(service)
            if unit is None or unit.active is None:
                findings.append(unknown(f"the state of {service}", "none"))
            elif not unit.is_running:
                findings.append(failed(f"{service} running", f"{unit.load}, {unit.active}, {unit.sub}"))
        running = sections.text("processes").split("\n") if expected.processes else []
        for process in expected.processes:
            if f"{process} absent" in running:
                findings.append(failed(f"{process} running", "no process"))
            elif f"{process} runs" not in running:
                findings.append(unknown(f"the process {process}", "none"))
        findings += [each for gpu in report.gpus for each in _gpu_findings(gpu, expected)]
        programs = ", ".join((*expected.services, *expected.processes)) or "no service"
        values = "/".join(value or "N/A" for value in (expected.state, expected.status, expected.health))
        return worst(
            findings,
            otherwise=f"expected {programs} running and {values} on every GPU, got the same on {len(report.gpus)} GPUs",
        )


def _is_alone(report: GpuReport) -> bool:
    """Return whether the node is a virtual machine with one GPU, whose driver prints N/A for the fabric."""
    if len(report.gpus) != 1 or report.attached != 1:
        return False
    (gpu,) = report.gpus
    return (gpu.fabric.state, gpu.fabric.status, gpu.settings.virtualization) == ("N/A", "N/A", "Pass-Through")


def _gpu_findings(gpu: Gpu, expected: Expected) -> Iterator[Judgement]:
    name, fabric, health = f"GPU {gpu.index}", gpu.fabric, gpu.fabric.health
    if gpu.is_lost:
        yield failed(f"{name} in the fabric", "GPU is lost")
        return
    for field, got, wanted in (
        ("state", fabric.state, expected.state or "N/A"),
        ("status", fabric.status, expected.status or "N/A"),
        ("health", health.summary, expected.health or "N/A"),
    ):
        # Healthy passes where N/A is expected.
        if got is None:
            yield unknown(f"fabric {field} {wanted} on {name}", "no such element")
        elif got != wanted and not (field == "health" and wanted == "N/A" and got == "Healthy"):
            yield (unknown if got == "N/A" else failed)(f"fabric {field} {wanted} on {name}", got)
    for field, got, bad in (
        ("bandwidth", health.bandwidth, ("Degraded",)),
        ("route_unhealthy", health.route_unhealthy, ("True",)),
        ("access_timeout_recovery", health.access_timeout_recovery, ("True",)),
    ):
        if got is None:
            yield unknown(f"fabric {field} of {name}", "no such element")
        elif got in bad:
            yield failed(f"healthy fabric {field} of {name}", got)
    if health.route_recovery_in_progress == "True":
        yield warned(f"no route recovery on {name}", "one in progress")
    if health.incorrect_configuration not in (None, "None", "N/A"):
        yield failed(f"a correct fabric configuration on {name}", str(health.incorrect_configuration))
    if expected.has_cluster:
        yield from _cluster_findings(name, fabric.clique_id, fabric.cluster_uuid)


def _cluster_findings(name: str, clique: str | None, uuid: str | None) -> Iterator[Judgement]:
    if clique is None or uuid is None:
        yield unknown(f"clique and cluster UUID of {name}", "none")
    elif clique == "0" or not set(uuid) - set("0-"):
        yield failed(f"{name} in a clique of a cluster", f"clique {clique}, cluster {uuid}")
