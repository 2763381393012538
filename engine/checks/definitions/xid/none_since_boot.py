"""xid.none-since-boot: no GPU has reported an Xid since the boot for which NVIDIA requires an action.

The catalogue decides by code, driver branch and text: `engine/catalog/xids.yaml`.
"""

from __future__ import annotations

from collections import Counter

from ....catalog.xids import UNDOCUMENTED, xid_policy, xid_verdict
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import ProbeOutput
from ._log_check import Expected, LogCheck, kernel_log


class NoneSinceBoot(LogCheck):
    id, version, method = "xid.none-since-boot", 1, Method.TEST
    title = "no GPU has reported an Xid since the boot that requires an action"
    controls = ("si-13", "si-4")
    severity = Severity.HIGH
    remedy = (
        "follow the action in the reason: RESET_GPU after a drain, RESTART_BM: reboot, CONTACT_SUPPORT: open a case"
    )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail, warn or pass as the catalogue states; UNKNOWN for a code without a documented action."""
        xids = kernel_log(output).xids
        found = Counter(
            (each.address, each.code, xid_policy(each.code, expected.driver_branch, each.text)) for each in xids
        )
        findings = []
        for (address, code, action), count in sorted(found.items()):
            wanted, got = f"no Xid {code} of GPU {address}", f"{count}, action {action}"
            match None if action == UNDOCUMENTED else xid_verdict(action):
                case "FAIL":
                    findings.append(failed(wanted, got))
                case "WARN":
                    findings.append(warned(wanted, got))
                case None:
                    findings.append(
                        unknown(f"a documented action for Xid {code} of GPU {address}", f"none, {count} times")
                    )
        return worst(findings, otherwise=f"expected no Xid that requires an action, got {len(xids)} to ignore")
