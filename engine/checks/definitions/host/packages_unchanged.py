"""host.packages-unchanged: the programs that probes run have the content of their packages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.packages.verification import parse_differences
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Level, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_REQUIRED = {
    "debian": frozenset({"coreutils", "dash", "dpkg", "iproute2", "libc6", "openssh-server", "systemd"}),
    "rpm": frozenset({"bash", "coreutils", "glibc", "iproute", "openssh-server", "rpm", "systemd"}),
}
_FURTHER = {
    "debian": "bash chrony grep libc-bin mount nftables openssh-client passwd procps sed util-linux",
    "rpm": "chrony grep nftables openssh procps-ng sed shadow-utils util-linux",
}


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class PackagesUnchanged(Check[Expected]):
    id, version, method = "host.packages-unchanged", 1, Method.EXAMINE
    title = "the programs that checks run are those of their packages"
    controls = ("cm-6", "si-7", "si-7.1")
    severity = Severity.CRITICAL
    level = Level.FULL
    remedy = "isolate the node, keep the changed program for analysis, and install the node again"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print the installed packages of the tools, and their changed files."""
        names = {kind: " ".join([*sorted(_REQUIRED[kind]), _FURTHER[kind]]) for kind in _REQUIRED}
        debian = f"dpkg-query -W -f '${{db:Status-Abbrev}} ${{Package}}\\n' {names['debian']} 2>/dev/null"
        debian += " | sed -n 's/^[hi]i  *//p'"
        rpm = f"rpm -q --qf '%{{NAME}}\\n' {names['rpm']} | grep -v 'is not installed'"
        is_debian = "command -v dpkg >/dev/null"
        packages = f"if {is_debian}; then echo debian; {debian}; else echo rpm; {rpm}; fi"
        verify = f"if {is_debian}; then dpkg --verify $({debian}); else rpm --verify $({rpm}); fi; echo end"
        return Probe({"packages": packages, "files": verify}, timeout_s=300)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if no program or library of the packages differs. Configuration files have own checks."""
        sections = parse_sections(output)
        family, *packages = sections.text("packages").split() or [""]
        if family not in _REQUIRED:
            raise Unreadable("debian or rpm", family, where="packages")
        *lines, end = sections.text("files").strip().splitlines() or [""]
        if end != "end":
            raise Unreadable("the changed files, then `end`", sections.text("files"), where="dpkg --verify")
        findings = [unknown(f"package {each}", "not installed") for each in sorted(_REQUIRED[family] - set(packages))]
        for each in parse_differences("\n".join(lines)):
            if each.is_program and each.is_missing:
                findings.append(failed(f"{each.path} of its package", "no such file"))
            elif each.is_program and each.has_other_content:
                findings.append(failed(f"{each.path} of its package", "other content"))
        return worst(findings, otherwise=f"expected unchanged programs, got them in {len(packages)} packages")
