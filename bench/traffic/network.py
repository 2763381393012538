"""Runs this process and its children in a network namespace with loopback only.

Peers therefore cannot use the network. If namespaces are not permitted, the run continues and the result records it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

_INSIDE = "SOVCTL_BENCH_INSIDE"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h


def enter(module: str, arguments: list[str]) -> bool:
    """Restart this program in a new network namespace; return inside it, or if namespaces are not permitted.

    Returns:
        Whether the process is in the new namespace.
    """
    if os.environ.get(_INSIDE):
        _raise_loopback()
        return True
    command = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
        os.environ[_INSIDE] = "1"
        os.execvp(command[0], [*command, sys.executable, "-m", module, *arguments])
    return False


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(plain, _SIOCGIFFLAGS, request))
        fcntl.ioctl(plain, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
