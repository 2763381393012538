"""bmc.no-cipher-zero: no privilege level may use cipher suite 0, which accepts any password (IPMI 2.0, 22.15.2)."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import parse_lan_channels
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import CHANNELS
from ._controller import ControllerCheck, Expected


class NoCipherZero(ControllerCheck):
    id, version, method = "bmc.no-cipher-zero", 1, Method.EXAMINE
    title = "the management controller does not accept cipher suite 0"
    controls = ("ac-17.2", "ia-2", "sc-8")
    severity = Severity.CRITICAL
    remedy = "run `ipmitool lan set CHANNEL cipher_privs` with X as the first letter, or switch IPMI over LAN off"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the channels of the controller."""
        return {"channels": CHANNELS}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail for a usable suite 0; UNKNOWN if a channel with an address does not list its suites."""
        channels = parse_lan_channels(sections.text("channels"))
        findings = []
        for each in channels:
            if each.usable_suites is None and each.address is not None:
                findings.append(unknown(f"the cipher suites of channel {each.number}", "none"))
            elif each.usable_suites and 0 in each.usable_suites:
                findings.append(failed(f"no cipher suite 0 on channel {each.number}", "a privilege level with it"))
        return worst(findings, otherwise=f"expected no cipher suite 0, got none on {len(channels)} channels")
