"""Parsers of listening TCP sockets: `ss -Htlnp`, /proc/net/tcp, and the units of their processes.

Sources: ss(8) of iproute2 6.1; Linux Documentation/networking/proc_net_tcp.rst (state 0A is LISTEN); cgroups(7).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_OWNER = re.compile(r'\("(?P<name>(?:[^"\\]|\\.)*)",pid=(?P<pid>\d+),fd=\d+\)')
_UNIT = re.compile(r"[^/\s]+\.(?:service|socket|scope)(?=/|$)")


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening TCP socket. `address` is `*` for all addresses of both families."""

    address: str
    port: int
    processes: tuple[tuple[str, int], ...]
    """Name and process ID of each process that holds the socket."""

    @property
    def is_loopback(self) -> bool:
        """Whether only processes of the node can connect."""
        if self.address == "*":
            return False
        address = ipaddress.ip_address(self.address)
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback


def parse_listeners(text: str) -> tuple[Listener, ...]:
    """Parse the output of `ss -Htlnp`.

    Raises:
        Unreadable: the output is empty, or a line has another form.
    """
    found = []
    for line in text.splitlines():
        words = line.split(None, 5)
        if not words:
            continue
        address, _, port = (words[3] if len(words) > 4 else "").rpartition(":")
        plain = address.partition("%")[0].strip("[]")
        if words[0] != "LISTEN" or not port.isdecimal() or not _is_address(plain):
            raise Unreadable("a listening socket", line, where="ss -Htlnp")
        owners = _OWNER.finditer(words[5] if len(words) > 5 else "")
        found.append(Listener(plain, integer(port), tuple((each["name"], integer(each["pid"])) for each in owners)))
    if not found:
        raise Unreadable("listening sockets", text, where="ss -Htlnp")
    return tuple(found)


def _is_address(text: str) -> bool:
    try:
        return text == "*" or bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def parse_kernel_ports(text: str) -> frozenset[int]:
    """Return the ports of listening sockets from the lines of /proc/net/tcp and /proc/net/tcp6.

    Raises:
        Unreadable: the text has no header, or a line has another form.
    """
    ports = set()
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if not rows or rows[0][:2] != ["sl", "local_address"]:
        raise Unreadable("the table of TCP sockets", text, where="/proc/net/tcp")
    for row in rows:
        if row[0] == "sl":
            continue
        port = row[1].rpartition(":")[2] if len(row) > 3 else ""
        if not re.fullmatch(r"[0-9A-F]{4}", port):
            raise Unreadable("a TCP socket", " ".join(row), where="/proc/net/tcp")
        if row[3] == "0A":
            ports.add(integer(port, 16))
    return frozenset(ports)


def parse_process_units(text: str) -> dict[int, str]:
    """Return the innermost systemd unit by process ID, from lines `pid cgroup`.

    Raises:
        Unreadable: a line does not begin with a process ID.
    """
    found = {}
    for line in text.splitlines():
        pid, _, group = line.partition(" ")
        if not pid.isdecimal():
            raise Unreadable("`pid cgroup`", line, where="/proc/PID/cgroup")
        units = _UNIT.findall(group)
        found[integer(pid)] = units[-1] if units else ""
    return found
