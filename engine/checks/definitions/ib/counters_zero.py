"""ib.counters-zero: no compute port has counted link errors.

FAIL for any count of `local_link_integrity_errors` and `excessive_buffer_overrun_errors` since the counters were
cleared. The other counters are rates since an earlier run, or since the boot: FAIL above the limit of symbol errors an
hour. `link_downed` and `link_error_recovery` are WARN, because a port also counts them while its switch restarts, and
FAIL above their limits between two runs. Limits: NVIDIA/NVSentinel docs/nic-health-monitor.md, read 2026-11-20.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....facts.counters import CounterReading
from ....facts.hardware.infiniband import Adapter, Port
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.counter_check import BOOT, DAY_S, HOUR_S, MINUTE_S, CounterCheck, growth_of, reading_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import INFINIBAND_ADAPTERS, INFINIBAND_TREE
from ...probes.compute_ports import Expected
from ._ports import ComputePortCheck

_NONE_ALLOWED = ("local_link_integrity_errors", "excessive_buffer_overrun_errors")
_RATES = ("symbol_error", "link_downed", "link_error_recovery")
_SYMBOL_ERRORS = "ib.counters-zero.symbol-errors-an-hour"
_LINK_DOWNS = "ib.counters-zero.link-downs-a-day"
_RECOVERIES = "ib.counters-zero.recoveries-a-minute"


class CountersZero(ComputePortCheck, CounterCheck[Expected]):
    id, version, method = "ib.counters-zero", 2, Method.TEST
    title = "no compute port has counted link errors"
    controls = ("si-13", "si-4")
    severity = Severity.MEDIUM
    remedy = "clean or replace the cable of the port, clear its counters, and measure again"
    window_s = DAY_S

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with compute ports."""
        earlier = site.readings.get((node.name, self.id))
        yield from (replace(each, earlier=earlier) for each in super().expect(site, node))

    def probe(self, expected: Expected) -> Probe:
        """Print the counters and the time since the boot."""
        return Probe.of(adapters=INFINIBAND_ADAPTERS, tree=INFINIBAND_TREE, boot=BOOT)

    def reading(self, output: ProbeOutput, expected: Expected) -> CounterReading:
        """Return the counters of the compute ports."""
        return _reading(output, self.ports(output, expected)[0])

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Judge each counter of each compute port; a missing counter is UNKNOWN."""
        ports, findings = self.ports(output, expected)
        now = _reading(output, ports)
        for adapter, port in ports:
            findings += _findings(_name(adapter, port), port, now, expected)
        return worst(findings, otherwise=f"expected no link errors, got none on {len(ports)} ports")


def _name(adapter: Adapter, port: Port) -> str:
    return f"{adapter.name} port {port.number}"


def _reading(output: ProbeOutput, ports: list[tuple[Adapter, Port]]) -> CounterReading:
    values = {
        f"{name} of {_name(adapter, port)}": value
        for adapter, port in ports
        for name in _RATES
        if (value := port.counters.get(name)) is not None
    }
    return reading_of(parse_sections(output), values)


def _findings(name: str, port: Port, now: CounterReading, expected: Expected) -> Iterator[Judgement]:
    for counter in (*_RATES, *_NONE_ALLOWED):
        value = port.counters.get(counter)
        if value is None:
            yield unknown(f"{counter} of {name}", "none")
        elif counter in _NONE_ALLOWED and value:
            yield failed(f"{counter} 0 on {name}", str(value))
        elif counter in _RATES:
            yield from _rate_findings(counter, name, now, expected)


def _rate_findings(counter: str, name: str, now: CounterReading, expected: Expected) -> Iterator[Judgement]:
    symbol_errors = expected.limit_of(_SYMBOL_ERRORS)
    link_downs = expected.limit_of(_LINK_DOWNS)
    recoveries = expected.limit_of(_RECOVERIES)
    growth = growth_of(f"{counter} of {name}", now, expected)
    got = f"{growth.count} in {growth.seconds / HOUR_S:.0f} h"
    if counter == "symbol_error":
        if growth.per(HOUR_S) > symbol_errors:
            yield failed(f"{symbol_errors} symbol errors an hour on {name} since {growth.since}", got)
    elif not growth.is_since_boot and counter == "link_downed" and growth.per(DAY_S) >= link_downs:
        yield failed(f"fewer than {link_downs} link failures a day on {name} since {growth.since}", got)
    elif not growth.is_since_boot and counter == "link_error_recovery" and growth.per(MINUTE_S) > recoveries:
        yield failed(f"at most {recoveries} recoveries a minute on {name} since {growth.since}", got)
    elif growth.count:
        yield warned(f"{counter} 0 on {name} since {growth.since}", str(growth.count))
