"""Counters of a node at one time, and their growth since an earlier reading.

    boot_id, uptime_s = parse_boot(text)
    reading = CounterReading(boot_id, uptime_s, {"mlx5_0 port 1 symbol_error": 7})
    grown("mlx5_0 port 1 symbol_error", reading, earlier, grace_s=1800)    # Growth(3, 86400.0, is_since_boot=False)

The time between two readings is the difference of the times since the boot, so a corrected clock changes no rate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .unreadable import Unreadable

_BOOT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UPTIME = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True)
class CounterReading:
    """Counters by name.

    Args:
        boot_id: of /proc/sys/kernel/random/boot_id; another one means that the counters began again.
        uptime_s: seconds since the boot.
    """

    boot_id: str
    uptime_s: float
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of a counter.

    Args:
        seconds: length of the period.
        is_since_boot: whether the period begins with the boot, because no earlier reading is comparable.
    """

    count: int
    seconds: float
    is_since_boot: bool

    def per(self, seconds: float, *, shortest_s: float | None = None) -> float:
        """Return the growth in a period of `seconds`.

        Args:
            shortest_s: a measured period that is shorter counts as this long; default: `seconds`.
        """
        return self.count * seconds / max(self.seconds, seconds if shortest_s is None else shortest_s)

    @property
    def since(self) -> str:
        """The begin of the period in words."""
        return "the boot" if self.is_since_boot else "an earlier run"


def parse_boot(text: str) -> tuple[str, float]:
    """Parse the boot id and the content of /proc/uptime, in two lines.

    Raises:
        Unreadable: the text has another form.
    """
    words = text.split()
    if len(words) != 3 or not _BOOT_ID.fullmatch(words[0]) or not _UPTIME.fullmatch(words[1]):
        raise Unreadable("a boot id, and seconds since the boot", text, where="/proc")
    return words[0], float(words[1])


def comparable(now: CounterReading, earlier: CounterReading | None, *, grace_s: float) -> CounterReading | None:
    """Return the earlier reading if it is of the same boot, and not of the first `grace_s` seconds of it.

    Links and memory are initialized in these seconds, so their counters grow without a fault.
    """
    if earlier is None or earlier.boot_id != now.boot_id or not grace_s <= earlier.uptime_s < now.uptime_s:
        return None
    return earlier


def grown(name: str, now: CounterReading, earlier: CounterReading | None, *, grace_s: float) -> Growth:
    """Return the growth of a counter since the earlier reading, or since the boot if that is not comparable.

    A counter that fell was cleared after the earlier reading, so its value is the growth since then.
    """
    value, before = now.values[name], comparable(now, earlier, grace_s=grace_s)
    if before is None or name not in before.values:
        return Growth(value, now.uptime_s, is_since_boot=True)
    count = value - before.values[name]
    return Growth(count if count >= 0 else value, now.uptime_s - before.uptime_s, is_since_boot=False)


def replaces(now: CounterReading, earlier: CounterReading | None, *, window_s: float, grace_s: float) -> bool:
    """Return whether a reading replaces the earlier one.

    A comparable reading is kept for `window_s` seconds, so that growth remains visible in several runs in short order.
    """
    before = comparable(now, earlier, grace_s=grace_s)
    return before is None or now.uptime_s - before.uptime_s >= window_s
