"""nvlink.errors-zero: no NVLink has counted an uncorrected error since the driver was loaded."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.nvlink import LinkCounter, parse_nvlink_errors
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck

# Counters that are 0 on a healthy link. NVLink 4 has the first three (DCGM 4.6: any error counts), NVLink 5 the others
# (captured on 8 x B300, driver 595). FEC buckets and effective or raw error rates count corrected codewords: not here.
_ERRORS = frozenset(
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


class ErrorsZero(NvlinkCheck):
    id, version, method = "nvlink.errors-zero", 1, Method.TEST
    title = "no NVLink has counted an error since the driver was loaded"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "reset the GPU; if the counters increase again, inspect GPU and NVSwitch board"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail on an error, warn about a link recovery; UNKNOWN if a link reports no error counter."""
        counters = parse_nvlink_errors(parse_sections(output).text("errors"))
        if expected.gpu_count is None or expected.links_per_gpu is None:
            return unknown("the platform's NVLinks", "none in the catalogue")
        measured = {(each.gpu, each.link) for each in counters if each.name in _ERRORS}
        link_count = expected.gpu_count * expected.links_per_gpu
        findings = []
        if len(measured) != link_count:
            findings.append(unknown(f"error counters of {link_count} links", str(len(measured))))
        findings += [each for counter in counters for each in _findings(counter)]
        return worst(findings, otherwise=f"expected 0 errors on {link_count} links, got 0 in {len(counters)} counters")


def _findings(counter: LinkCounter) -> Iterator[Judgement]:
    link = f"GPU {counter.gpu} link {counter.link}"
    if counter.name.startswith((*_CORRECTED, *_TRAFFIC)):
        return
    if counter.name in _ERRORS:
        if counter.value is None:
            yield unknown(f"a value of {counter.name} on {link}", "none")
        elif counter.value > 0:
            yield failed(f"0 {counter.name} on {link}", str(counter.value))
    elif counter.name in _RECOVERIES:
        if counter.value:
            yield warned(f"no link recovery on {link}", str(counter.value))
    else:
        yield unknown(f"a known counter on {link}", repr(counter.name))
