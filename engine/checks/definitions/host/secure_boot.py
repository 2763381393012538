"""host.secure-boot: UEFI Secure Boot is on, where site.yaml requires it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

# The variable has four bytes of attributes and one of data (Linux Documentation/filesystems/efivarfs.rst).
_VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `host.secure_boot` of site.yaml."""


class SecureBoot(OwnKernelCheck[Expected]):
    id, version, method = "host.secure-boot", 1, Method.EXAMINE
    title = "Secure Boot is on"
    controls = ("si-7", "si-7.9")
    severity = Severity.HIGH
    remedy = "enable Secure Boot in the firmware setup of the node; modules of the driver need a signature first"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node if `host.secure_boot` is `required`."""
        if site.context.spec.host.secure_boot == "required":
            yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the state of the variable in bytes, or that the node did not start with UEFI."""
        state = f"if [ -e {_VARIABLE} ]; then od -An -tu1 {_VARIABLE}; elif [ -d /sys/firmware/efi ]; then echo none; "
        return {"state": f"{state}else echo bios; fi"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if the data byte of the variable is 1."""
        words = sections.text("state").split()
        if words in (["none"], ["bios"]):
            return failed("Secure Boot on", "no such variable" if words == ["none"] else "a start without UEFI")
        if len(words) != 5 or not all(word.isdecimal() for word in words) or words[4] not in ("0", "1"):
            raise Unreadable("five bytes", " ".join(words), where="SecureBoot")
        findings = [] if words[4] == "1" else [failed("Secure Boot on", "off")]
        return worst(findings, otherwise="expected Secure Boot on, got on")
