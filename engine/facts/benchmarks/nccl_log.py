"""Parser of the log of NCCL (`NCCL_DEBUG=INFO`): version, and whether collectives use NVLink SHARP (NVLS).

Two lines state it: each device reports multicast support, and each communicator reports its number of NVLS channels.

Source: NVIDIA/nccl, src/init.cc and src/transport/nvls.cc (2.18 to 2.28), and public logs; read 2026-11-28.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_VERSION = re.compile(r"\bNCCL version (\d+\.\d+\.\d+)\b")
_MULTICAST = re.compile(r"NVLS multicast support is (not )?available on dev (\d+)\b")
_CHANNELS = re.compile(r"\b\d+ coll channels, (?:\d+ collnet channels, )?(\d+) nvls channels, \d+ p2p channels\b")
_DISABLED = re.compile(r"\bNCCL_NVLS_ENABLE set by environment to 0\b")


@dataclass(frozen=True, slots=True)
class NcclLog:
    """Statements of one log.

    Args:
        version: of the library; None if the log does not state it.
        multicast: support by device index; empty if no device reports it.
        nvls_channels: of all communicators, in the order printed; empty if none reports it.
        is_nvls_disabled: whether the environment disables it.
    """

    version: str | None
    multicast: dict[int, bool]
    nvls_channels: tuple[int, ...]
    is_nvls_disabled: bool

    @property
    def uses_nvls(self) -> bool | None:
        """Whether all communicators use NVLS; None if the log does not state it."""
        if self.nvls_channels:
            return all(self.nvls_channels)
        return False if any(not each for each in self.multicast.values()) else None


def parse_nccl_log(text: str) -> NcclLog:
    """Parse a log.

    Raises:
        Unreadable: no line is of NCCL, or a device reports both that multicast is available and that it is not.
    """
    where = "NCCL log"
    lines = [line for line in text.splitlines() if " NCCL " in line or line.startswith("NCCL version")]
    if not lines:
        raise Unreadable("lines of NCCL", text, where=where)
    multicast: dict[int, bool] = {}
    for line in lines:
        if match := _MULTICAST.search(line):
            is_available = match[1] is None
            if multicast.setdefault(integer(match[2]), is_available) is not is_available:
                raise Unreadable(f"one report of device {match[2]}", line, where=where)
    channels = tuple(integer(match[1]) for line in lines if (match := _CHANNELS.search(line)))
    return NcclLog(
        version=next((match[1] for line in lines if (match := _VERSION.search(line))), None),
        multicast=multicast,
        nvls_channels=channels,
        is_nvls_disabled=any(_DISABLED.search(line) for line in lines),
    )
