"""roce.congestion-notification: ECN is on for the priority of RDMA, and packets carry the planned traffic class."""

from __future__ import annotations

import re

from ....facts.fabric.roce import parse_settings
from ....spec.fabric import RoceNetwork
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...model.probe_sections import ProbeSections
from ._roce_check import RoceCheck, each_port

_CLASS = re.compile(r"^(?:Global tclass=)?(\d{1,3})$")


class CongestionNotification(RoceCheck):
    id, version, method = "roce.congestion-notification", 1, Method.EXAMINE
    title = "ECN of RoCE is on, with the planned traffic class"
    controls = ("cm-2", "cm-6")
    severity = Severity.MEDIUM
    remedy = "enable ecn/roce_np and ecn/roce_rp of the priority, and set the traffic class of the adapter"

    def commands(self, network: RoceNetwork) -> dict[str, str]:
        """Print the state of notification and reaction points, and the traffic class."""
        priority = network.lossless_priority
        read = 'value() { [ ! -r "$2" ] || echo "$1 $(head -n 1 "$2")"; }; '
        files = (
            f'value notification "$net/ecn/roce_np/enable/{priority}"',
            f'value reaction "$net/ecn/roce_rp/enable/{priority}"',
            'value traffic_class "$adapter/tc/1/traffic_class"',
        )
        return {"ecn": "{ " + read + "; ".join(files) + "; }"}

    def judge_ports(self, sections: ProbeSections, wanted: frozenset[str], network: RoceNetwork) -> list[Judgement]:
        """Fail for ECN that is off, and for another traffic class; a missing file is UNKNOWN."""
        findings = []
        for interface, found in each_port(sections.text("ecn"), wanted, parse_settings):
            for name in ("notification", "reaction"):
                if found.get(name) not in ("0", "1"):
                    findings.append(unknown(f"the {name} point of ECN on {interface}", found.get(name, "none")))
                elif found[name] == "0":
                    findings.append(failed(f"the {name} point of ECN on {interface} on", "off"))
            match = _CLASS.match(found.get("traffic_class", ""))
            if match is None:
                got = found.get("traffic_class") or "none"
                findings.append(unknown(f"the traffic class of {interface}", got))
            elif int(match[1]) != network.traffic_class:
                findings.append(failed(f"traffic class {network.traffic_class} on {interface}", match[1]))
        return findings
