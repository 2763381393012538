"""Checks of TCP ports inside a network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from pathlib import Path

from sovctl.support.errors import NodeUnreachable

from ..linux.process import LabFailure

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_POLL_S = 0.05


def socket_in(namespace: str) -> socket.socket:
    """Return a TCP socket of `namespace`, which any thread can use.

    A new thread enters the namespace and creates the socket, because entering changes the namespace of its thread.

    Raises:
        LabFailure: the namespace does not exist, or cannot be entered.
    """
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def enter() -> None:
        try:
            descriptor = os.open(Path("/run/netns") / namespace, os.O_RDONLY)
            try:
                if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            finally:
                os.close(descriptor)
            made.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failed:
        raise LabFailure(f"could not enter namespace {namespace}: {failed[0].strerror}")
    return made[0]


def answers(namespace: str, address: str, port: int, *, timeout_s: float = 1.0, greeting: bytes = b"") -> bool:
    """Return whether a server accepts a connection.

    Args:
        greeting: required first bytes of the server, such as b"SSH-2.0".
    """
    with socket_in(namespace) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect((address, port))
            return not greeting or connection.recv(len(greeting)) == greeting
        except OSError:
            return False


def wait_for(
    namespace: str,
    address: str,
    port: int,
    *,
    what: str,
    limit_s: float,
    greeting: bytes = b"",
    log: Path | None = None,
) -> None:
    """Wait until a server answers.

    Raises:
        NodeUnreachable: no server answered within `limit_s` seconds.
    """
    deadline = time.monotonic() + limit_s
    while not answers(namespace, address, port, greeting=greeting):
        if time.monotonic() > deadline:
            raise NodeUnreachable(
                f"{what} did not answer on {address}:{port} within {limit_s:.0f} s",
                hint=f"see {log}" if log else "",
            )
        time.sleep(_POLL_S)
