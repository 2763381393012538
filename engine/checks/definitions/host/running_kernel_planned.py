"""host.running-kernel-planned: the node runs the newest installed kernel, and no package waits for a restart."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.packages.dpkg import PACKAGES
from ....facts.running import newest_kernel
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_RELEASE = re.compile(r"\d+\.\d+\S*")
_WAITING = "if [ -e /run/reboot-required ]; then echo required; else echo none; fi; echo end"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class RunningKernelPlanned(OwnKernelCheck[Expected]):
    id, version, method = "host.running-kernel-planned", 1, Method.EXAMINE
    title = "the node runs its newest installed kernel and needs no restart"
    controls = ("cm-2", "si-2")
    severity = Severity.MEDIUM
    remedy = "run `sovctl plan` and `sovctl apply`, which restart the node in its wave"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the running release, the installed kernels, and the request of packages for a restart."""
        debian = (
            f"{shlex.join(PACKAGES)} | awk -F'\\t' '$4 ~ /^[hi]i/ {{print $1}}' | grep '^linux-image-[0-9u]' || true"
        )
        rpm = "rpm -q --qf 'linux-image-%{VERSION}-%{RELEASE}.%{ARCH}\\n' kernel-core"
        installed = f"if command -v dpkg-query >/dev/null; then {debian}; else {rpm}; fi"
        return {"kernel": "uname -r", "installed": installed, "waiting": _WAITING}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if the running kernel is the newest of its flavour, and no package requests a restart."""
        kernel = sections.text("kernel").strip()
        if not _RELEASE.fullmatch(kernel):
            raise Unreadable("the release of a kernel", kernel, where="uname -r")
        newest = newest_kernel(sections.text("installed").split(), kernel)
        waiting = sections.text("waiting").split()
        if len(waiting) != 2 or waiting[0] not in ("required", "none") or waiting[1] != "end":
            raise Unreadable("required or none", sections.text("waiting"), where="/run/reboot-required")
        findings = []
        if newest is None:
            findings.append(unknown(f"a package of kernel {kernel}", "none"))
        elif newest != kernel:
            findings.append(failed(f"running kernel {newest}", kernel))
        if waiting[0] == "required":
            findings.append(failed("no request for a restart", "/run/reboot-required"))
        return worst(findings, otherwise=f"expected the newest installed kernel, got {kernel}")
