"""ib.counters-zero: no compute port has counted link errors since the driver was loaded.

FAIL for any count of `local_link_integrity_errors` and `excessive_buffer_overrun_errors`, and for more than 120 symbol
errors an hour (NVIDIA/NVSentinel docs/nic-health-monitor.md, read 2026-11-20). WARN for `link_downed` and
`link_error_recovery`, because a port also counts them while its switch restarts. Hours are those since boot; a counter
that was cleared later has a higher rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....facts.hardware.infiniband import Port
from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import INFINIBAND_ADAPTERS, INFINIBAND_TREE
from ._ports import ComputePortCheck, Expected

SYMBOL_ERRORS_PER_HOUR = 120
_NONE_ALLOWED = ("local_link_integrity_errors", "excessive_buffer_overrun_errors")
_REVIEWED = ("link_downed", "link_error_recovery")


class CountersZero(ComputePortCheck):
    id, version, method = "ib.counters-zero", 1, Method.TEST
    title = "no compute port has counted link errors"
    controls = ("si-13", "si-4")
    severity = Severity.MEDIUM
    remedy = "clean or replace the cable of the port, clear its counters, and measure again"

    def probe(self, expected: Expected) -> Probe:
        """Print the counters and the time since boot."""
        return Probe.of(adapters=INFINIBAND_ADAPTERS, tree=INFINIBAND_TREE, uptime="cat /proc/uptime")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Judge each counter of each compute port; a missing counter is UNKNOWN."""
        uptime = parse_sections(output).text("uptime").split()
        if len(uptime) != 2 or not re.fullmatch(r"\d+\.\d+", uptime[0]):
            raise Unreadable("seconds since boot", " ".join(uptime), where="/proc/uptime")
        hours = max(float(uptime[0]) / 3600, 1.0)  # boot grace of one hour (guess)
        ports, findings = self.ports(output, expected)
        for adapter, port in ports:
            findings += _findings(f"{adapter.name} port {port.number}", port, hours)
        return worst(findings, otherwise=f"expected no link errors, got none on {len(ports)} ports")


def _findings(name: str, port: Port, hours: float) -> Iterator[Judgement]:
    for counter in ("symbol_error", *_NONE_ALLOWED, *_REVIEWED):
        value = port.counters.get(counter)
        if value is None:
            yield unknown(f"{counter} of {name}", "none")
        elif counter == "symbol_error" and value / hours > SYMBOL_ERRORS_PER_HOUR:
            yield failed(f"{SYMBOL_ERRORS_PER_HOUR} symbol errors an hour on {name}", f"{value} in {hours:.0f} h")
        elif counter in _NONE_ALLOWED and value:
            yield failed(f"{counter} 0 on {name}", str(value))
        elif counter in _REVIEWED and value:
            yield warned(f"{counter} 0 on {name}", str(value))
