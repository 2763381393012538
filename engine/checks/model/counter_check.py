"""A check of counters as rates: it compares them with the reading of an earlier run, which the controller keeps.

Without a comparable reading the period begins with the boot. The judge is pure: the earlier reading is part of the
expectation.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ...catalog.check_limits import limit
from ...facts.counters import CounterReading, Growth, grown, parse_boot
from .check import Check, Expectation
from .probe import ProbeOutput
from .probe_sections import ProbeSections

BOOT = "cat /proc/sys/kernel/random/boot_id /proc/uptime"
"""Command of the section `boot`."""
GRACE_S = limit("counters.boot-grace")
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


@dataclass(frozen=True, kw_only=True)
class CounterExpectation(Expectation):
    """An expectation with the reading of an earlier run.

    Args:
        earlier: None before the first run.
    """

    earlier: CounterReading | None = None


E = TypeVar("E", bound=CounterExpectation)


class CounterCheck(Check[E]):
    """A subclass reads counters by name, and judges their growth."""

    window_s: ClassVar[int]
    """Seconds for which a reading is compared, before a later run replaces it: the longest period of its limits."""

    @abstractmethod
    def reading(self, output: ProbeOutput, expected: E) -> CounterReading:
        """Return the counters of complete output.

        Raises:
            Unreadable: a section does not have the expected form.
        """


def reading_of(sections: ProbeSections, values: dict[str, int]) -> CounterReading:
    """Return a reading with the time of the section `boot`.

    Raises:
        Unreadable: the section has another form.
    """
    boot_id, uptime_s = parse_boot(sections.text("boot"))
    return CounterReading(boot_id, uptime_s, values)


def growth_of(name: str, now: CounterReading, expected: CounterExpectation) -> Growth:
    """Return the growth of a counter since the earlier run, or since the boot."""
    return grown(name, now, expected.earlier, grace_s=GRACE_S)
