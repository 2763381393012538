"""Parser of /proc/PID/limits: soft and hard limits of a process (proc(5))."""

from __future__ import annotations

import re

from ..unreadable import Unreadable

UNLIMITED = "unlimited"
_LINE = re.compile(r"^(?P<name>Max [a-z ]+?) {2,}(?P<soft>\d+|unlimited) +(?P<hard>\d+|unlimited)(?: +\S+)? *$")


def parse_limits(text: str) -> dict[str, tuple[str, str]]:
    """Return soft and hard limit by name, such as "Max open files".

    Raises:
        Unreadable: the first line is not the header, or a line has another form.
    """
    header, *lines = text.strip().splitlines() or [""]
    if not header.startswith("Limit "):
        raise Unreadable("the header of limits", text, where="/proc/PID/limits")
    found = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            raise Unreadable("name, soft and hard limit", line, where="/proc/PID/limits")
        found[match["name"]] = (match["soft"], match["hard"])
    return found
