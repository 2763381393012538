"""Real ssh servers on loopback, one per node address, that let nobody in.

They speak the whole protocol up to authentication (paramiko's server half) and refuse every key: what a node does
whose authorized_keys does not have ours.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import paramiko
from cli_sites import ADDRESSES


@dataclass(frozen=True)
class Doors:
    """All of them: one port, one host key."""

    port: int
    host_key: paramiko.PKey


class _Refusal(paramiko.ServerInterface):
    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.AUTH_FAILED


@contextmanager
def ssh_doors() -> Iterator[Doors]:
    """Listen on every node's address until the block ends."""
    key = paramiko.ECDSAKey.generate()
    with ExitStack() as stack:
        first, *others = ADDRESSES
        listeners = [stack.enter_context(_listen(first, 0))]
        port = listeners[0].getsockname()[1]
        listeners += [stack.enter_context(_listen(address, port)) for address in others]
        transports: list[paramiko.Transport] = []
        threads = [threading.Thread(target=_serve, args=(each, key, transports)) for each in listeners]
        for thread in threads:
            thread.start()
        try:
            yield Doors(port, key)
        finally:
            for listener in listeners:
                listener.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for transport in transports:
                transport.close()
                transport.join()


def known_host_lines(doors: Doors, *, other_keys: bool = False) -> str:
    """A known_hosts file for them; with `other_keys`, one that expects other machines."""
    key = paramiko.ECDSAKey.generate() if other_keys else doors.host_key
    return "".join(f"[{address}]:{doors.port} {key.get_name()} {key.get_base64()}\n" for address in ADDRESSES)


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket()
    listener.bind((address, port))
    listener.listen()
    return listener


def _serve(listener: socket.socket, key: paramiko.PKey, transports: list[paramiko.Transport]) -> None:
    with contextlib.suppress(OSError):  # shut down by the block's end
        while True:
            connection, _ = listener.accept()
            transport = paramiko.Transport(connection)
            transport.add_server_key(key)
            transports.append(transport)
            with contextlib.suppress(paramiko.SSHException, EOFError):  # the client hung up: it did not like our key
                transport.start_server(server=_Refusal())
