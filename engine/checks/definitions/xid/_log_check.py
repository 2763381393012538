"""Expectation and probe of the checks of the kernel log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.hardware.kernel_log import KernelLog, KernelMessage, parse_kernel_log
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, failed, warned
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import KERNEL_LOG


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """A node with GPUs.

    Args:
        driver_branch: first part of the driver's version in the lock; it selects the meaning of registers.
    """

    driver_branch: int


class LogCheck(Check[Expected]):
    """Expectation and probe; a subclass judges messages of one kind."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        if site.context.platform(node).has_gpus:
            yield Expected(driver_branch=int(site.context.lock.driver_version.partition(".")[0]))

    def probe(self, expected: Expected) -> Probe:
        """Print the messages of the current boot about hardware."""
        return Probe.of(log=KERNEL_LOG)


def kernel_log(output: ProbeOutput) -> KernelLog:
    """Parse the section `log`.

    Raises:
        Unreadable: it is missing, or does not contain the start of the boot.
    """
    return parse_kernel_log(parse_sections(output).text("log"))


def fault_findings(messages: tuple[KernelMessage, ...], what: str) -> list[Judgement]:
    """Return FAIL for each message about a fault, and WARN for each about a corrected error."""
    return [
        (failed if each.is_fatal else warned)(f"no {what} of {each.address}", f"{each.text[:_LONGEST]!r}")
        for each in messages
    ]


_LONGEST = 100
