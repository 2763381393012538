"""Try to reach out of this node, and print how each attempt ended. Arguments: ADDRESS:PORT, [IPV6]:PORT or a host name.

One JSON line per argument, in order: {"address", "port", "tcp", "udp"}, or {"name", "addresses"} for a name.
tcp: connected | refused | timeout | no-route | denied;  udp: sent | no-route | denied;  else the error's name.
A TCP attempt is a connect that carries no data; the datagram is one byte to the same port.
"""

from __future__ import annotations

import concurrent.futures
import errno
import json
import socket
import sys

TIMEOUT_S = 3.0
WORDS = {
    errno.ECONNREFUSED: "refused",
    errno.ETIMEDOUT: "timeout",
    errno.EPERM: "denied",
    errno.EACCES: "denied",
    errno.ENETUNREACH: "no-route",
    errno.EHOSTUNREACH: "no-route",
    errno.EADDRNOTAVAIL: "no-route",  # no IPv6 address
    errno.EAFNOSUPPORT: "no-route",  # no IPv6
}


def name(error: OSError) -> str:
    if error.errno is None:
        return type(error).__name__
    return WORDS.get(error.errno, errno.errorcode.get(error.errno, "error"))


def tcp(address: str, port: int) -> str:
    try:
        with socket.socket(family(address), socket.SOCK_STREAM) as attempt:
            attempt.settimeout(TIMEOUT_S)
            attempt.connect((address, port))
    except socket.timeout:  # noqa: UP041 - nodes may have Python 3.9
        return "timeout"
    except OSError as error:
        return name(error)
    return "connected"


def udp(address: str, port: int) -> str:
    try:
        with socket.socket(family(address), socket.SOCK_DGRAM) as attempt:
            attempt.sendto(b"x", (address, port))
    except OSError as error:
        return name(error)
    return "sent"


def family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def resolve(host: str) -> list[str]:
    try:
        return sorted({str(each[4][0]) for each in socket.getaddrinfo(host, 443)})
    except OSError:
        return []


def attempt(target: str) -> str:
    if ":" not in target:
        return json.dumps({"name": target, "addresses": resolve(target)})
    host, number = target.rsplit(":", 1)
    address, port = host.strip("[]"), int(number)
    return json.dumps({"address": address, "port": port, "tcp": tcp(address, port), "udp": udp(address, port)})


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for line in pool.map(attempt, sys.argv[1:]):
        sys.stdout.write(line + "\n")
