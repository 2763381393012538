"""Life cycle of a simulated daemon: PID file with its version, notification of systemd, wait for a signal."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path


def log(text: str) -> None:
    """Write one line to the journal."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def run(pid_file: Path, version: str) -> int:
    """Write the PID file and wait for SIGTERM or SIGINT. Return the exit code, 0."""
    # First, because a signal after the PID file exists must not end the process with the file in place.
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    pid_file.parent.mkdir(parents=True, exist_ok=True)
    pid_file.write_text(f"{os.getpid()} {version}\n")
    _notify_systemd("READY=1")
    signal.sigwait(wanted)
    pid_file.unlink(missing_ok=True)
    return 0


def _notify_systemd(text: str) -> None:
    """Send a datagram to the socket of systemd (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)
