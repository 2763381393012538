"""firmware.bmc: the management controller has a permitted version."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import parse_mc_info
from ....spec import Node
from ...model.check import Judgement, Method, Severity
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import CONTROLLER
from ...probes.own_board import OwnBoardCheck
from ._versions import Expected, judge_versions, permitted


class ControllerFirmware(OwnBoardCheck[Expected]):
    id, version, method = "firmware.bmc", 1, Method.EXAMINE
    title = "the management controller has a permitted version"
    controls = ("cm-2", "cm-6", "si-2")
    severity = Severity.MEDIUM
    remedy = "update the controller with the vendor's bundle, before the other firmware of the node"

    def expected(self, site: CheckContext, node: Node) -> Expected:
        """Return the versions of `firmware.bmc`."""
        return permitted(site, node, "bmc")

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the description of the controller."""
        return {"controller": CONTROLLER}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Compare the revision, with its auxiliary part if a permitted version has one."""
        version = parse_mc_info(sections.text("controller")).firmware
        plain = version.partition(" (")[0]
        return judge_versions({"the controller": plain if plain in expected.versions else version}, expected)
