"""Parser of `sysctl KEY...`: `key = value` lines. Keys unknown to the kernel are absent."""

from __future__ import annotations

from .unreadable import Unreadable


def parse_sysctl(text: str) -> dict[str, str]:
    """Return values by key. Consecutive blanks and tabs in a value (`net.ipv4.tcp_rmem`) are replaced by one blank.

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
