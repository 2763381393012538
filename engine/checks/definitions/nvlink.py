"""NVLink: every link up at its speed, no errors, peers reach each other, and the fabric is really ready.

A fabric is ready only when its service runs AND every GPU says Completed AND Success AND nothing unhealthy: each of
these alone has been green on broken machines (NVIDIA/NVSentinel issues 883 and 889, read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.gpu import Gpu, parse_nvidia_smi_xml
from ...facts.nvlink import GpuLinks, LinkCounter, parse_nvlink_errors, parse_nvlink_status
from ...facts.topology import Matrix, parse_p2p, parse_topology
from ...facts.units import parse_units
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, warned, worst
from ..model.probe_sections import read_parts
from .gpu import count_findings

SPEED_TOLERANCE_GB_S = 0.01
"""nvidia-smi prints three decimals of 26.5625; another link speed differs by 5 GB/s or more."""

# Counters that stay 0 on a healthy link. NVLink 4 has the first three (DCGM 4.6: any error counts), NVLink 5 the others
# (captured on 8 x B300, driver 595). FEC buckets and effective or raw error rates count corrected codewords: not here.
ERROR_COUNTERS = frozenset(
    {
        "Replay Errors",
        "Recovery Errors",
        "CRC Errors",
        "Malformed packet Errors",
        "Buffer overrun Errors",
        "Rx Errors",
        "Rx remote Errors",
        "Rx General Errors",
        "Local link integrity Errors",
        "Link recovery failed events",
        "Effective Errors",
    }
)
_CORRECTED = ("FEC Errors", "Symbol Errors", "Symbol BER", "Effective BER", "Raw ")
_TRAFFIC = ("Tx packets", "Tx bytes", "Rx packets", "Rx bytes", "Tx discards")
_RECOVERIES = ("Link recovery successful events", "Total link recovery events")


@dataclass(frozen=True, kw_only=True)
class LinkExpectation(Expectation):
    """What the platform's links are. None: nobody has told us.

    Args:
        gpus: GPUs per operating system.
        links: per GPU.
        link_gb_s: per link and direction, as nvidia-smi prints it.
        topology: between every two GPUs, such as "NV18".
    """

    gpus: int | None
    links: int | None
    link_gb_s: float | None
    topology: str | None


@dataclass(frozen=True, kw_only=True)
class FabricExpectation(Expectation):
    """What a ready fabric says on this platform.

    Args:
        services: units that must run.
        state, status, health: words of every GPU; None where the platform says N/A.
        has_cluster: True on multi-node NVLink, where clique and cluster UUID must not be zero; healthy HGX nodes show
            both as zero.
        is_known: False when the catalogue does not describe the platform's fabric.
    """

    gpus: int | None
    services: tuple[str, ...]
    state: str | None
    status: str | None
    health: str | None
    has_cluster: bool
    is_known: bool = True


def judge_links(output: ProbeOutput, expectation: LinkExpectation) -> Judgement:
    """Exactly the platform's links, each at its speed."""
    gpus = parse_nvlink_status(read_parts(output).text("links"))
    wanted, speed = expectation.links, expectation.link_gb_s
    if expectation.gpus is None or wanted is None or speed is None:
        return unknown("a platform whose NVLinks are known", "none in the catalogue")
    findings = [] if len(gpus) == expectation.gpus else [failed(f"links of {expectation.gpus} GPUs", str(len(gpus)))]
    for gpu in gpus:
        findings += _links(gpu, wanted, speed)
    return worst(
        findings,
        otherwise=f"expected {wanted} links at {speed} GB/s per GPU, got that on {len(gpus)} GPUs "
        f"({sum(gpu.active for gpu in gpus)} links)",
    )


def _links(gpu: GpuLinks, wanted: int, speed: float) -> Iterator[Judgement]:
    if gpu.active != wanted:
        down = [str(link.index) for link in gpu.links if link.speed_gb_s is None]
        which = f", link {', '.join(down)} inactive" if down else ""
        yield failed(f"{wanted} active links on GPU {gpu.index}", f"{gpu.active}{which}")
    for link in gpu.links:
        if link.speed_gb_s is not None and abs(link.speed_gb_s - speed) > SPEED_TOLERANCE_GB_S:
            yield failed(f"{speed} GB/s on GPU {gpu.index} link {link.index}", f"{link.speed_gb_s} GB/s")


def judge_errors(output: ProbeOutput, expectation: LinkExpectation) -> Judgement:
    """No link has counted an error since the driver was loaded."""
    counters = parse_nvlink_errors(read_parts(output).text("errors"))
    if expectation.gpus is None or expectation.links is None:
        return unknown("a platform whose NVLinks are known", "none in the catalogue")
    # Count before content: every link must have said something about errors.
    spoken = {(each.gpu, each.link) for each in counters if each.name in ERROR_COUNTERS}
    wanted = expectation.gpus * expectation.links
    findings = [] if len(spoken) == wanted else [unknown(f"error counters of {wanted} links", str(len(spoken)))]
    findings += [each for counter in counters for each in _counter(counter)]
    return worst(findings, otherwise=f"expected 0 errors on {wanted} links, got 0 in {len(counters)} counters")


def _counter(counter: LinkCounter) -> Iterator[Judgement]:
    place = f"GPU {counter.gpu} link {counter.link}"
    if counter.name.startswith((*_CORRECTED, *_TRAFFIC)):
        return
    if counter.name in ERROR_COUNTERS:
        if counter.value is None:
            yield unknown(f"a number of {counter.name} on {place}", "none")
        elif counter.value > 0:
            yield failed(f"0 {counter.name} on {place}", str(counter.value))
    elif counter.name in _RECOVERIES:
        if counter.value:
            yield warned(f"no link recovery on {place}", str(counter.value))
    else:
        yield unknown(f"a known counter on {place}", repr(counter.name))


def judge_peers(output: ProbeOutput, expectation: LinkExpectation) -> Judgement:
    """Every GPU reaches every other over NVLink, by the driver's topology and by its peer access matrix."""
    parts = read_parts(output)
    topology, access = parse_topology(parts.text("topology")), parse_p2p(parts.text("access"))
    if expectation.gpus is None or expectation.topology is None:
        return unknown("a platform whose topology is known", "none in the catalogue")
    findings = [*_pairs(topology, expectation.gpus, expectation.topology), *_pairs(access, expectation.gpus, "OK")]
    return worst(
        findings,
        otherwise=f"expected {expectation.topology} and peer access between every two of {expectation.gpus} GPUs, "
        "got both",
    )


def _pairs(matrix: Matrix, gpus: int, wanted: str) -> Iterator[Judgement]:
    if len(matrix.gpus) != gpus:
        yield failed(f"a matrix of {gpus} GPUs", str(len(matrix.gpus)))
    for (a, b), cell in matrix.gpu_pairs().items():
        if cell is None:
            yield unknown(f"{wanted} from {a} to {b}", "no answer")
        elif cell != wanted:
            yield failed(f"{wanted} from {a} to {b}", cell)


def judge_fabric(output: ProbeOutput, expectation: FabricExpectation) -> Judgement:
    """The fabric's services run, and every GPU says that it is registered, successfully, and healthy."""
    parts = read_parts(output)
    report = parse_nvidia_smi_xml(parts.text("gpus"))
    if not expectation.is_known:
        return unknown("a platform whose fabric is known", "none in the catalogue")
    units = {unit.id.removesuffix(".service"): unit for unit in parse_units(parts.text("services"))}
    findings = count_findings(report, expectation.gpus)
    for service in expectation.services:
        unit = units.get(service)
        if unit is None or unit.active is None:
            findings.append(unknown(f"the state of {service}", "none"))
        elif not unit.is_running:
            findings.append(failed(f"{service} running", f"{unit.load}, {unit.active}, {unit.sub}"))
    findings += [each for gpu in report.gpus for each in _fabric(gpu, expectation)]
    words = "/".join(word or "N/A" for word in (expectation.state, expectation.status, expectation.health))
    return worst(
        findings,
        otherwise=f"expected {', '.join(expectation.services) or 'no service'} running and {words} on every GPU, "
        f"got that on {len(report.gpus)} GPUs",
    )


def _fabric(gpu: Gpu, expectation: FabricExpectation) -> Iterator[Judgement]:
    name, fabric, health = f"GPU {gpu.index}", gpu.fabric, gpu.fabric.health
    if gpu.is_lost:
        yield failed(f"{name} in the fabric", "GPU is lost")
        return
    for field, got, wanted in (
        ("state", fabric.state, expectation.state or "N/A"),
        ("status", fabric.status, expectation.status or "N/A"),
        ("health", health.summary, expectation.health or "N/A"),
    ):
        # Health where the platform shows none: better news than expected is still news of health.
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
            yield failed(f"fabric {field} of {name} in order", got)
    if health.route_recovery_in_progress == "True":
        yield warned(f"no route recovery on {name}", "one in progress")
    if health.incorrect_configuration not in (None, "None", "N/A"):
        yield failed(f"a correct fabric configuration on {name}", str(health.incorrect_configuration))
    if expectation.has_cluster:
        yield from _cluster(name, fabric.clique_id, fabric.cluster_uuid)


def _cluster(name: str, clique: str | None, uuid: str | None) -> Iterator[Judgement]:
    if clique is None or uuid is None:
        yield unknown(f"clique and cluster UUID of {name}", "none")
    elif clique == "0" or not set(uuid) - set("0-"):
        yield failed(f"{name} in a clique of a cluster", f"clique {clique}, cluster {uuid}")
