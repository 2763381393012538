"""Probe of the checks of memory errors: counters of EDAC, and the time since the boot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.container import virtual_machine_of
from ....spec import Node
from ...model.check import Judgement, not_applicable
from ...model.check_context import CheckContext
from ...model.counter_check import BOOT, CounterExpectation
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_MACHINE = "systemd-detect-virt --vm || true"
_SCRIPT = """for m in /sys/devices/system/edac/mc/mc[0-9]*; do
  [ -e "$m/ue_count" ] || continue
  echo "${m##*/} ce=$(cat "$m/ce_count") ue=$(cat "$m/ue_count")"
done"""


@dataclass(frozen=True, kw_only=True)
class Expected(CounterExpectation):
    """The same on every GPU server."""


class MemoryErrorsCheck(OwnKernelCheck[Expected]):
    """Expectation and probe; a subclass judges one counter. In a virtual machine the errors are those of its host."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every GPU server. A service node can be a virtual machine without a memory controller."""
        if site.context.platform(node).has_gpus:
            yield Expected(earlier=site.readings.get((node.name, self.id)))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print both counters of each memory controller."""
        return {"machine": _MACHINE, "errors": _SCRIPT, "boot": BOOT}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Return N/A in a virtual machine."""
        if machine := virtual_machine_of(sections.text("machine")):
            return not_applicable("a machine with memory controllers", f"a virtual machine ({machine})")
        return self.judge_counters(sections, expected)

    @abstractmethod
    def judge_counters(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Return the judgement of a physical machine.

        Raises:
            Unreadable: a section does not have the expected form.
        """
