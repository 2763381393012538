"""host.fips-mode: kernel and OpenSSL are in FIPS mode, where site.yaml requires it; states the mode otherwise.

The mode is that of the node, and not of Python wheels with their own cryptography (docs/host.md, "FIPS").
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.fips import ABSENT, KERNEL_FILE, PROVIDERS, parse_fips_kernel, parse_fips_providers
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_KERNEL = f"if [ -e {KERNEL_FILE} ]; then cat {KERNEL_FILE}; else echo {ABSENT}; fi"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `host.fips` of site.yaml."""

    is_required: bool


class FipsMode(Check[Expected]):
    id, version, method = "host.fips-mode", 1, Method.EXAMINE
    title = "kernel and OpenSSL are in the required FIPS mode"
    controls = ("sc-13",)
    severity = Severity.HIGH
    remedy = "enable FIPS mode by the tool of the operating system, and reboot; or set `host.fips: not-required`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node if site.yaml has `host.fips`. A container reads the mode of its host's kernel."""
        if (mode := site.context.spec.host.fips) is not None:
            yield Expected(is_required=mode == "required")

    def probe(self, expected: Expected) -> Probe:
        """Print the mode of the kernel and the providers of OpenSSL."""
        return Probe.of(kernel=_KERNEL, openssl=shlex.join(PROVIDERS))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if both are in FIPS mode, or if it is not required; both must be measured."""
        sections = parse_sections(output)
        modes = {
            "kernel": parse_fips_kernel(sections.text("kernel")),
            "OpenSSL": parse_fips_providers(sections.text("openssl")),
        }
        shown = ", ".join(f"{name} {'on' if is_on else 'off'}" for name, is_on in modes.items())
        if not expected.is_required:
            return worst([], otherwise=f"FIPS mode is not required, got {shown}")
        findings = [failed(f"FIPS mode of {name} on", "off") for name, is_on in modes.items() if not is_on]
        return worst(findings, otherwise=f"expected FIPS mode on, got {shown}")
