"""bmc.no-anonymous-user: no user without a name, and no login without authentication, reaches the controller."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import parse_lan_channels, parse_users
from ...model.check import Judgement, Method, Severity, failed, warned, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import CHANNELS
from ._controller import ControllerCheck, Expected

_NO_ACCESS = ("NO ACCESS", "Unknown (0x00)")
_CLEAR_TEXT = "PASSWORD"
"""IPMI 1.5 authentication with a password in clear text (IPMI 2.0, 13.6)."""


class NoAnonymousUser(ControllerCheck):
    id, version, method = "bmc.no-anonymous-user", 2, Method.EXAMINE
    title = "the management controller requires a named user"
    controls = ("ac-17.2", "ac-2", "ia-2")
    severity = Severity.CRITICAL
    remedy = "run `ipmitool user disable NUMBER`, and `ipmitool lan set CHANNEL auth LEVEL MD5`"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the channels of the controller with their users."""
        return {"channels": CHANNELS}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail for an anonymous user with a privilege level, and for an open authentication; warn for clear text."""
        users = parse_users(sections.text("channels"))
        channels = parse_lan_channels(sections.text("channels"))
        findings = [
            failed(f"a name of user {each.number}", f"none, and level {each.level}")
            for each in users
            if not each.has_name and each.may_send and each.level not in _NO_ACCESS
        ]
        for each in channels:
            if "NONE" in each.authentications:
                findings.append(failed(f"authentication on channel {each.number}", "NONE"))
            if _CLEAR_TEXT in each.authentications:
                findings.append(warned(f"no password in clear text on channel {each.number}", _CLEAR_TEXT))
        return worst(findings, otherwise=f"expected named users, got {len(users)} on {len(channels)} channels")
