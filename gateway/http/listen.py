"""Listening sockets of the gateway: several processes share one port (SO_REUSEPORT)."""

from __future__ import annotations

import socket

from sovctl.support.errors import InputError

from ..settings import Listen

_BACKLOG = 2048  # connections that wait for accept(2), per worker


def bind(listen: Listen) -> socket.socket:
    """Return a listening socket; several of them may share the port.

    Raises:
        InputError: another program uses the port.
    """
    listening = socket.socket(_family(listen), socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((listen.host, listen.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise port_taken(listen) from error
    return listening


def check_port(listen: Listen) -> None:
    """Check that the port is free. Without this check, SO_REUSEPORT would let two gateways share it unnoticed.

    Raises:
        InputError: another program uses the port.
    """
    with socket.socket(_family(listen), socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen.host, listen.port))
        except OSError as error:
            raise port_taken(listen) from error


def port_taken(listen: Listen) -> InputError:
    """Return the error for a port that another program uses."""
    return InputError(
        f"port {listen.port} of {listen.host} is taken by another program",
        hint="is another gateway running?",
    )


def _family(listen: Listen) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in listen.host else socket.AF_INET
