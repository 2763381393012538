"""How the stand-in daemons live: a pid file with their version, a word to systemd, and waiting to be ended."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path


def say(text: str) -> None:
    """One line for the journal."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def live(pid_file: Path, version: str) -> int:
    """Be there until ended.

    Returns:
        The exit code, 0.
    """
    pid_file.parent.mkdir(parents=True, exist_ok=True)
    pid_file.write_text(f"{os.getpid()} {version}\n")
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    _tell_systemd("READY=1")
    signal.sigwait(wanted)
    pid_file.unlink(missing_ok=True)
    return 0


def _tell_systemd(text: str) -> None:
    """sd_notify(3): a datagram to the socket that systemd named."""
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)
