"""disk.free-space: file systems of system, models, logs and vault have at least 5 % of free space and inodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.disks import parse_df
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_MIN_PERCENT = "disk.free-space.least"
_PATHS = ("/", "/boot", "/tmp", "/var", "/var/log", "/var/lib/sovctl", "/opt/sovctl", "/srv/sovctl")  # noqa: S108


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class FreeSpace(Check[Expected]):
    id, version, method = "disk.free-space", 1, Method.TEST
    title = "every file system of the node has free space"
    controls = ("au-4", "cp-9", "sc-5")
    severity = Severity.HIGH
    remedy = (
        "remove superseded models and environments with `sovctl plan` and `sovctl apply`, or enlarge the file system"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print size and free space of the file systems in bytes."""
        fields = "target,size,avail,itotal,iavail"
        script = (
            f'for f in {" ".join(_PATHS)}; do [ -d "$f" ] && df -B1 --output={fields} "$f" | tail -n 1; done | sort -u'
        )
        return Probe.of(space=script)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail below 5 % of bytes or inodes."""
        min_percent = expected.limit_of(_MIN_PERCENT)
        found = parse_df(parse_sections(output).text("space"))
        findings = [] if "/" in found else [unknown("the root file system", ", ".join(found))]
        for path, (size, free, inodes, free_inodes) in found.items():
            if size == 0 or free * 100 < size * min_percent:
                findings.append(failed(f"at least {min_percent} % free in {path}", f"{free >> 20} of {size >> 20} MiB"))
            if inodes and free_inodes is not None and free_inodes * 100 < inodes * min_percent:
                findings.append(failed(f"at least {min_percent} % free inodes in {path}", f"{free_inodes} of {inodes}"))
        return worst(findings, otherwise=f"expected at least {min_percent} % free, got it in {len(found)} file systems")
