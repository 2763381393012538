"""Try to reach out of this node, and say how each attempt ended. Arguments: ADDRESS:PORT ...

One JSON line per argument, in order: {"address", "port", "tcp", "udp"}.
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
}


def name(error: OSError) -> str:
    if error.errno is None:
        return type(error).__name__
    return WORDS.get(error.errno, errno.errorcode.get(error.errno, "error"))


def tcp(address: str, port: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        attempt.settimeout(TIMEOUT_S)
        try:
            attempt.connect((address, port))
        except socket.timeout:  # noqa: UP041 - nodes may have Python 3.9
            return "timeout"
        except OSError as error:
            return name(error)
        return "connected"


def udp(address: str, port: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attempt:
        try:
            attempt.sendto(b"x", (address, port))
        except OSError as error:
            return name(error)
        return "sent"


def attempt(target: str) -> str:
    address, port = target.rsplit(":", 1)
    answer = {"address": address, "port": int(port), "tcp": tcp(address, int(port)), "udp": udp(address, int(port))}
    return json.dumps(answer)


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for line in pool.map(attempt, sys.argv[1:]):
        sys.stdout.write(line + "\n")
