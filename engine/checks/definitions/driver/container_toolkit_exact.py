"""driver.container-toolkit-exact: the container toolkit has the version of the driver lock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected

_VERSION = re.compile(r"^NVIDIA Container Toolkit CLI version (\d+\.\d+\.\d+)", re.MULTILINE)


class ContainerToolkitExact(DriverCheck):
    id, version, method = "driver.container-toolkit-exact", 1, Method.TEST
    title = "the container toolkit has the version of the driver lock"
    controls = ("cm-2", "cm-6")
    severity = Severity.MEDIUM
    remedy = "run `sovctl plan` and `sovctl apply`, which install the version of the lock"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs, if the lock contains the toolkit."""
        return (each for each in super().expect(site, node) if each.toolkit_version is not None)

    def probe(self, expected: Expected) -> Probe:
        """Print the version of the program."""
        return Probe.of(toolkit="nvidia-ctk --version")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the program reports the version of the lock."""
        match = _VERSION.search(parse_sections(output).text("toolkit"))
        if match is None or expected.toolkit_version is None:
            return unknown(
                "the version of the container toolkit", "no such line" if match is None else "none in the lock"
            )
        wanted = expected.toolkit_version.rpartition(":")[2].partition("-")[0]
        findings = [failed(f"container toolkit {wanted}", match[1])] if match[1] != wanted else []
        return worst(findings, otherwise=f"expected container toolkit {wanted}, got the same")
