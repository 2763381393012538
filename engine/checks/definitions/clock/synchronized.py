"""clock.synchronized: chrony follows only the site's NTP servers, with an error of at most `clock.max_offset_ms`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.chrony import Source, parse_sources, parse_tracking
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_MAX_STRATUM = "clock.synchronized.most-stratum"
_SYNCHRONIZATION_S = 15  # iburst gives four measurements within 6 s (chrony.conf(5)); twice that, and a margin


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `site.yaml: clock`."""

    servers: tuple[str, ...]
    max_offset_ms: float


class ClockSynchronized(Check[Expected]):
    id, version, method = "clock.synchronized", 1, Method.TEST
    title = "the clock is synchronized with the site's NTP servers"
    controls = ("au-8", "sc-45")
    severity = Severity.HIGH
    remedy = "check that the NTP servers of `clock.servers` answer; `chronyc sources` on the node shows each of them"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        clock = site.context.spec.clock
        yield Expected(servers=tuple(clock.servers), max_offset_ms=clock.max_offset_ms)

    def probe(self, expected: Expected) -> Probe:
        """Print chrony's tracking and sources; `-N` prints the names of sources as configured.

        Waits up to 15 s, because chrony needs several measurements after a start.
        """
        is_close = f"$3 > 0 && $11 / 2 + $12 < {expected.max_offset_ms / 1000}"  # root delay and dispersion, seconds
        wait = (
            f"for second in $(seq {_SYNCHRONIZATION_S}); do "
            f"chronyc -c tracking | awk -F, '{{exit !({is_close})}}' && break; sleep 1; done"
        )
        tracking = f"({wait}) >/dev/null 2>&1; chronyc -N -c tracking"
        return Probe.of(tracking=tracking, sources="chronyc -N -c sources")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if a configured source is selected and reachable, and the maximum clock error is within the limit."""
        max_stratum = expected.limit_of(_MAX_STRATUM)
        sections = parse_sections(output)
        tracking, sources = parse_tracking(sections.text("tracking")), parse_sources(sections.text("sources"))
        if tracking.leap != "Normal" or tracking.stratum > max_stratum or tracking.stratum == 0:
            return failed("a synchronized clock", f"{tracking.leap}, stratum {tracking.stratum}")
        error_ms = tracking.error_bound_s * 1000
        findings = list(_source_findings(sources, expected.servers))
        if error_ms > expected.max_offset_ms:
            findings.append(failed(f"at most {expected.max_offset_ms:g} ms of error", f"up to {error_ms:.3f} ms"))
        return worst(
            findings,
            otherwise=f"expected {' or '.join(expected.servers)} within {expected.max_offset_ms:g} ms, "
            f"got {tracking.reference} within {error_ms:.3f} ms",
        )


def _source_findings(sources: tuple[Source, ...], servers: tuple[str, ...]) -> Iterator[Judgement]:
    selected = [each for each in sources if each.state == "*"]
    if not selected:
        yield failed("a selected source", "none")
    for each in selected:
        if each.reach == 0:
            yield failed(f"answers from {each.name}", "none of the last eight polls")
    for each in sources:
        if each.name not in servers:
            yield failed(f"only {', '.join(servers)} as source", each.name)
