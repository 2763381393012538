"""No way out: this process and its children get a network of their own that has nothing but loopback.

What a peer does without a network is then seen, not believed. Where the system does not let us, the run goes on and
its result says so.
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
    """Start this program again in an empty network; returns only inside, or where that is impossible.

    Returns:
        True inside.
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
