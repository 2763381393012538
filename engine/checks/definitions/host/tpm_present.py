"""host.tpm-present: the node has a TPM 2.0, which measured boot and sealed disk keys need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, warned, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_VERSIONS = (
    'for t in /sys/class/tpm/tpm[0-9]*; do [ -e "$t" ] && echo "tpm $(cat "$t/tpm_version_major")"; done; echo end'
)


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class TpmPresent(OwnKernelCheck[Expected]):
    id, version, method = "host.tpm-present", 1, Method.EXAMINE
    title = "the node has a TPM 2.0"
    controls = ("si-7.9",)
    severity = Severity.LOW
    remedy = "enable the TPM in the firmware setup of the node"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the version of each TPM."""
        return {"devices": _VERSIONS}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass with version 2; warn without a TPM, because site.yaml cannot require one yet."""
        *lines, end = sections.text("devices").strip().splitlines() or [""]
        if end != "end" or any(not re.fullmatch(r"tpm \d+", line) for line in lines):
            raise Unreadable("`tpm version`, then `end`", sections.text("devices"), where="/sys/class/tpm")
        if "tpm 2" not in lines:
            return warned("a TPM 2.0", ", ".join(lines) or "none")
        return worst((), otherwise="expected a TPM 2.0, got one")
