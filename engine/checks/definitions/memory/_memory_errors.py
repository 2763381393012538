"""Probe of the checks of memory errors: counters of EDAC, and the time since the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Expectation
from ...model.check_context import CheckContext
from ...probes.own_kernel import OwnKernelCheck

_SCRIPT = """for m in /sys/devices/system/edac/mc/mc[0-9]*; do
  [ -e "$m/ue_count" ] || continue
  echo "${m##*/} ce=$(cat "$m/ce_count") ue=$(cat "$m/ue_count")"
done"""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every GPU server."""


class MemoryErrorsCheck(OwnKernelCheck[Expected]):
    """Expectation and probe; a subclass judges one counter."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every GPU server. A service node can be a virtual machine without a memory controller."""
        if site.context.platform(node).has_gpus:
            yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print both counters of each memory controller."""
        return {"errors": _SCRIPT, "uptime": "cat /proc/uptime"}
