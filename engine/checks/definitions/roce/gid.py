"""roce.gid: the planned index of the GID table has an address of RoCE v2, which NCCL uses (`NCCL_IB_GID_INDEX`)."""

from __future__ import annotations

import re

from ....facts.fabric.roce import parse_settings
from ....spec.fabric import RoceNetwork
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...model.probe_sections import ProbeSections
from ._roce_check import RoceCheck, each_port

_GID = re.compile(r"^[0-9a-f]{4}(:[0-9a-f]{4}){7}$")
_MAPPED = "0000:0000:0000:0000:0000:ffff:"
"""Beginning of an IPv4 address as GID (RFC 4291, 2.5.5.2)."""


class Gid(RoceCheck):
    id, version, method = "roce.gid", 1, Method.EXAMINE
    title = "the planned GID index is an address of RoCE v2"
    controls = ("cm-2", "cm-6")
    severity = Severity.HIGH
    remedy = "configure the address of the network device, and compare the index with the output of `show_gids`"

    def commands(self, network: RoceNetwork) -> dict[str, str]:
        """Print type, device and address of the index."""
        port, index = "$adapter/ports/1", network.gid_index
        lines = (
            f'echo "type $(cat "{port}/gid_attrs/types/{index}" 2>/dev/null)"',
            f'echo "device $(cat "{port}/gid_attrs/ndevs/{index}" 2>/dev/null)"',
            f'echo "gid $(cat "{port}/gids/{index}")"',
        )
        return {"gid": "{ " + "; ".join(lines) + "; }"}

    def judge_ports(self, sections: ProbeSections, wanted: frozenset[str], network: RoceNetwork) -> list[Judgement]:
        """Fail for an empty index, another type or device, and an address that is not routed."""
        findings = []
        for interface, found in each_port(sections.text("gid"), wanted, parse_settings):
            name, gid = f"GID {network.gid_index} of {interface}", found.get("gid", "")
            if not _GID.match(gid):
                findings.append(unknown(name, gid or "none"))
            elif not gid.replace("0", "").replace(":", ""):
                findings.append(failed(f"an address as {name}", "none"))
            elif found.get("type") != "RoCE v2":
                got = found.get("type")
                findings.append(
                    failed(f"type RoCE v2 of {name}", got) if got else unknown(f"the type of {name}", "none")
                )
            elif found.get("device") != interface.device:
                findings.append(failed(f"device {interface.device} of {name}", found.get("device") or "none"))
            elif not gid.startswith(_MAPPED) and gid.startswith("fe80:"):
                findings.append(failed(f"a routed address as {name}", f"link-local {gid}"))
        return findings
