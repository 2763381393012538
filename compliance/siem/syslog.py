"""Sends events over syslog: TLS (RFC 5425), or TCP with octet counting (RFC 6587, 3.4.1).

A message has the priority of facility 13 (log audit, RFC 5424, 6.2.1), the time of sending, and the event as its text.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.errors import InputError, MissingTool

from .event import Event
from .kinds import Severity

_FACILITY = 13
_LEVELS = {Severity.INFORMATIONAL: 6, Severity.LOW: 5, Severity.MEDIUM: 4, Severity.HIGH: 3}  # RFC 5424, table 2
TIMEOUT_S = 10.0


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port from `host:port`; an IPv6 address is in brackets.

    Raises:
        InputError: another form.
    """
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"expected HOST:PORT, got {text[:80]}", where="--syslog", hint="such as 10.20.0.7:6514")
    return host.strip("[]"), int(port)


def message(event: Event, text: str, *, host: str, sent: datetime) -> bytes:
    """Return one message of RFC 5424 with its length in front.

    Args:
        host: name of the controller.
    """
    head = f"<{_FACILITY * 8 + _LEVELS[event.severity]}>1 {sent.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} {host} sovctl - - -"
    content = f"{head} {text}".encode()
    return f"{len(content)} ".encode() + content


def send(
    messages: Iterable[bytes],
    *,
    address: str,
    port: int,
    ca_file: Path | None,
    identity: tuple[Path, Path] | None = None,
) -> int:
    """Send messages in order, and return their number.

    Args:
        ca_file: authority of the receiver's certificate; None: TCP without TLS.
        identity: certificate and key of the sender, for a receiver that requires them.

    Raises:
        MissingTool: the receiver cannot be reached, or its certificate is invalid.
    """
    try:
        with socket.create_connection((address, port), timeout=TIMEOUT_S) as plain:
            if ca_file is None:
                return _send(plain, messages)
            context = ssl.create_default_context(cafile=str(ca_file))
            if identity is not None:
                context.load_cert_chain(*identity)
            with context.wrap_socket(plain, server_hostname=address) as secure:
                return _send(secure, messages)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", "") or error.strerror or str(error) or type(error).__name__
        hint = "check that the receiver accepts connections from this controller, and its certificate"
        raise MissingTool(
            f"syslog receiver failed: {str(reason).lower()}", where=f"{address}:{port}", hint=hint
        ) from None


def _send(connection: socket.socket, messages: Iterable[bytes]) -> int:
    count = 0
    for each in messages:
        connection.sendall(each)
        count += 1
    return count
