"""firmware.bios: the BIOS has a permitted version, in the tables of SMBIOS and in sysfs."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.dmidecode import BIOS, parse_dmidecode
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_board import OwnBoardCheck
from ._versions import Expected, judge_versions, permitted


class BiosFirmware(OwnBoardCheck[Expected]):
    id, version, method = "firmware.bios", 1, Method.EXAMINE
    title = "the BIOS has a permitted version"
    controls = ("cm-2", "cm-6", "si-2")
    severity = Severity.MEDIUM
    remedy = "drain the node and update its BIOS with the vendor's bundle; many bundles need an AC cycle"

    def expected(self, site: CheckContext, node: Node) -> Expected:
        """Return the versions of `firmware.bios`."""
        return permitted(site, node, "bios")

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the version from both views."""
        return {"bios": "dmidecode -t bios", "sysfs": "cat /sys/class/dmi/id/bios_version"}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail if the views differ, or the version is not permitted."""
        version = parse_dmidecode(sections.text("bios")).value(BIOS, "Version")
        kernel = sections.text("sysfs").strip()
        if version is not None and kernel and version != kernel:
            return failed(f"BIOS {kernel} in both views", f"{version} of dmidecode")
        return judge_versions({"the BIOS": version if kernel else None}, expected)
