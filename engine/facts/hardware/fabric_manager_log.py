"""Parser of /var/log/fabricmanager.log: messages since the last start of fabric manager.

Lines without a date continue the line before. Sources: capture of leptonai/gpud, 8 GPUs with multicast teams (read
2026-11-20); NVIDIA Fabric Manager user guide, appendix on logging, for the levels and the line of the start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..unreadable import Unreadable

WHERE = "/var/log/fabricmanager.log"
_LINE = re.compile(r"^\[[^\]]+\] \[(?P<level>[A-Z]+)\] \[tid \d+\] (?P<text>.*)$")
_START = re.compile(r"^Fabric Manager version (?P<version>\d[\d.]*) is running")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True)
class LogMessage:
    """One message; `level` is one of `LEVELS`."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class FabricManagerLog:
    """Messages since the last start. `version` is None if the log does not contain the start."""

    version: str | None
    messages: tuple[LogMessage, ...]


def parse_fabric_manager_log(text: str) -> FabricManagerLog:
    """Parse the log.

    Raises:
        Unreadable: it is empty, begins with another line, or has an unknown level.
    """
    version: str | None = None
    messages: list[LogMessage] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            if not messages and line.strip() and version is None:
                raise Unreadable("`[date] [LEVEL] [tid N] message`", line, where=WHERE)
            continue
        if match["level"] not in LEVELS:
            raise Unreadable(f"a level of {', '.join(LEVELS)}", line, where=WHERE)
        if start := _START.match(match["text"]):
            version, messages = start["version"], []
        messages.append(LogMessage(match["level"], match["text"]))
    if not messages:
        raise Unreadable("messages", text, where=WHERE)
    return FabricManagerLog(version, tuple(messages))
