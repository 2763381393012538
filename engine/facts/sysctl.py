"""What `sysctl KEY...` printed: `key = value` lines. A key that the kernel lacks is not in the answer."""

from __future__ import annotations

from .unreadable import Unreadable


def parse_sysctl(text: str) -> dict[str, str]:
    """Value by key; runs of blanks and tabs inside a value (`net.ipv4.tcp_rmem`) become one blank.

    Raises:
        Unreadable: a line is not `key = value`.
    """
    values = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        key, separator, value = line.partition("=")
        if not separator or not key.strip() or " " in key.strip():
            raise Unreadable("`key = value`", line, where="sysctl")
        values[key.strip()] = " ".join(value.split())
    return values
