"""Ports for servers that a test starts later, in another process.

A port asked of the system (`bind` to 0) may be gone by then: the next outgoing connection of anybody may get it as its
own. These are below the range that the system hands out, so that only a server could take one; each is given once in a
process, and drawn by the system's randomness, as several processes test at the same time with equal seeds.
"""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

_LOWEST = 10_000
_given: set[int] = set()


def unused_port() -> int:
    """A port on loopback that nobody listens on."""
    lowest_of_system = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = _LOWEST + secrets.randbelow(lowest_of_system - _LOWEST)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
