"""firmware.nvme: every NVMe drive has a permitted firmware version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Judgement, Method, Severity, not_applicable
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck
from ._versions import Expected, judge_versions, permitted

_SCRIPT = """for d in /sys/class/nvme/nvme[0-9]*; do
  [ -e "$d" ] && echo "${d##*/} $(cat "$d/firmware_rev" 2>/dev/null)"
done
ls -d /sys/class/nvme/nvme[0-9]* 2>/dev/null | wc -l"""


class NvmeFirmware(OwnKernelCheck[Expected]):
    id, version, method = "firmware.nvme", 1, Method.EXAMINE
    title = "every NVMe drive has a permitted firmware version"
    controls = ("cm-2", "cm-6", "si-2")
    severity = Severity.LOW
    remedy = "update the drive with `nvme fw-download` and `nvme fw-commit` of the vendor's image"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield permitted(site, node, "nvme")

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print name and version of each controller, then their number."""
        return {"drives": _SCRIPT}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Compare every drive; N/A without one."""
        *rows, count = sections.text("drives").strip().splitlines() or [""]
        if not count.strip().isdecimal() or integer(count.strip()) != len(rows):
            raise Unreadable("drives, then their number", sections.text("drives"), where="/sys/class/nvme")
        if not rows:
            return not_applicable("NVMe drives", "none")
        pairs = [row.partition(" ") for row in rows]
        return judge_versions({name: version.strip() or None for name, _, version in pairs}, expected)
