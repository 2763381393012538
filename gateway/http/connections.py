"""Client connections with deadlines and limits.

uvicorn waits without limit for a request that arrives at one byte a minute and for a client that does not read its
answer, and accepts a head of any size. Here a connection has deadlines. One task checks all connections once a second,
so
that a request costs a few assignments and no timer:

    its first byte         `timeout_keep_alive` of uvicorn; the same between two requests
    the head               `listen.head_timeout_s` from its first byte; at most `listen.max_head_bytes`, or 431
    the body               `listen.body_timeout_s` without a byte, or fewer than `_MIN_BYTES_PER_S`; then 408
    a client that does not read     `listen.write_timeout_s` from the moment its buffers were full; then closed
    an idle client during shutdown  three seconds since its last answer

If a client closes its connection before the end of its answer, the function in `LEFT` of the request's state is called.
Writes may be delayed to the end of the loop's iteration; see `client_transport`.

Invalid HTTP/1.1 gets an error in JSON. An upgrade to another protocol is ignored (RFC 9110, 7.8), except for the
WebSocket of realtime transcription if a pool serves it: Java's client offers
HTTP/2 with its first request on plain HTTP, and uvicorn would lose that request's body.

    uvicorn.Config(..., http=protocol_class(DeadlineProtocol, settings.listen))
"""

from __future__ import annotations

import asyncio
import resource
import secrets
from collections import deque
from math import inf
from typing import Any, ClassVar, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..domain.errors import Code, error_body, status_and_message
from ..settings import Listen
from ..telemetry import log
from .client_transport import ClientTransport, Turn
from .upgrade import Successor, is_websocket

LEFT = "sovctl.left"
"""Key in `scope["state"]` of a function that is called if the client disconnects before the end of its answer."""
_CHECK_EVERY_S = 1.0
_CLOSE_GRACE_S = 3.0  # time for the client to read what uvloop still holds of an answer, at most 64 KiB
_MIN_BYTES_PER_S = 500  # Apache httpd 2.4, mod_reqtimeout: MinRate of its default, header=20-40 body=20
_FRAMING = 8  # framing around each byte of a body in chunks of one byte: its length and two line ends
_DISCARD: Any = deque(maxlen=0)
_HEAD = (
    b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nx-sovctl-request-id: %b\r\n"
    b"connection: close\r\n\r\n"
)
_REASONS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
_UPGRADE_HEADERS = frozenset({b"connection", b"upgrade", b"http2-settings"})


class DeadlineProtocol(HttpToolsProtocol):
    """uvicorn's protocol with deadlines."""

    head_timeout_s: ClassVar[float]
    body_timeout_s: ClassVar[float]
    write_timeout_s: ClassVar[float]
    max_head_bytes: ClassVar[int]
    turn: ClassVar[Turn]
    transport: ClientTransport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first byte."""
        super().connection_made(ClientTransport(transport, self.turn))
        self._expires_at = self._end_of_idling()
        self._head_bytes = 0
        self._is_in_head = False
        self._body_bytes = 0
        self._full_since = inf
        self._is_over = self._is_leaving = False
        if type(self) not in _SCHEDULED:
            self._schedule_check()

    def eof_received(self) -> None:
        """Flush delayed writes; the connection closes because the client sends no more."""
        self.transport.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Call the function in `LEFT` if an answer was in progress."""
        cycle = self.cycle
        is_waiting = cycle is not None and not cycle.response_complete
        super().connection_lost(exc)
        if is_waiting and (left := cycle.scope["state"].get(LEFT)) is not None:
            left()

    def data_received(self, data: bytes) -> None:
        """Count bytes outside the body: a head, or the framing and trailers of chunks."""
        if self._is_over:
            return
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._end(Code.INVALID_HTTP)
            return
        if self._expires_at is inf:
            return
        self._head_bytes += len(data)
        most = self.max_head_bytes + (0 if self._is_in_head else _FRAMING * self._body_bytes)
        if self._head_bytes > most and not self._is_over:
            self._end(Code.HEAD_TOO_LARGE)

    def _feed(self, data: bytes | memoryview) -> None:
        while True:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                if self._becomes_websocket(is_alone=len(data) == upgrade.args[0]):
                    return
                head = self._head_without_upgrade()
                data = memoryview(data)[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)  # the old parser stops after `connection: close`
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as in uvicorn
                self.parser.feed_data(head)

    def _becomes_websocket(self, *, is_alone: bool) -> bool:
        """Hand the connection to the protocol of WebSockets if the request asks for it. Return whether it did.

        Args:
            is_alone: no bytes came after the head. A client sends none before the answer (RFC 6455, 4.1).
        """
        headers = [*self.scope["headers"]]
        if self.ws_protocol_class is None or not is_alone or (self.cycle and not self.cycle.response_complete):
            return False
        if not is_websocket(self.parser.get_method(), self.url, headers):
            return False
        self._expires_at, self._is_in_head = inf, False
        self.connections.discard(self)
        protocol = self.ws_protocol_class(self.config, self.server_state, self.app_state)  # type: ignore[call-arg]
        self.transport.set_protocol(protocol)
        cast("Successor", protocol).begin(self.transport, self.url, headers)
        return True

    def _head_without_upgrade(self) -> bytes:
        """Return the head of a request with an upgrade, without that upgrade.

        Raises:
            HttpParserError: the method is CONNECT.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserInvalidMethodError
        headers = self.scope["headers"]
        options = b",".join(value for name, value in headers if name == b"connection").lower()
        lines = [b"%b: %b\r\n" % header for header in headers if header[0] not in _UPGRADE_HEADERS]
        if b"close" in [option.strip() for option in options.split(b",")]:
            lines.append(b"connection: close\r\n")
        version = self.parser.get_http_version().encode()
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(lines))

    def on_message_begin(self) -> None:
        """Start the deadline of the head."""
        super().on_message_begin()
        self._is_in_head, self._head_bytes, self._body_bytes = True, 0, 0
        self._expires_at = self.loop.time() + self.head_timeout_s

    def on_headers_complete(self) -> None:
        """Start the deadline of the body."""
        if self.parser.should_upgrade():
            return  # the head is parsed again without the upgrade
        self._is_in_head = False
        self._expires_at = self.loop.time() + self.body_timeout_s
        super().on_headers_complete()
        self.headers = _DISCARD  # trailers

    def on_body(self, body: bytes) -> None:
        """Extend the deadline in proportion to the received bytes, unless the answer is complete."""
        self._body_bytes += len(body)
        if not self.cycle.response_complete:
            more = self._expires_at + len(body) / _MIN_BYTES_PER_S
            self._expires_at = min(more, self.loop.time() + self.body_timeout_s)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the deadlines while the gateway works on the request."""
        if self.parser.should_upgrade():
            return
        self._expires_at = inf if not self.cycle.response_complete else self._end_of_idling()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Do what uvicorn does after an answer, without a timer for each answer."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._expires_at is inf:
            self._expires_at = self._end_of_idling()

    def shutdown(self) -> None:
        """Close idle connections. Over TLS many clients do not answer the close notification."""
        self._is_leaving = True
        super().shutdown()

    def _has_idled(self, now: float) -> bool:
        """Return whether the client had no request in progress and no unread answer for `_CLOSE_GRACE_S`."""
        is_answered = self.cycle is None or self.cycle.response_complete
        since = self._expires_at - self.timeout_keep_alive
        return is_answered and not self._is_in_head and self._full_since is inf and since + _CLOSE_GRACE_S < now

    def _end_of_idling(self) -> float:
        return self.loop.time() + self.timeout_keep_alive

    def pause_writing(self) -> None:
        """Start the write deadline: the client reads more slowly than the gateway writes."""
        self._full_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Stop the write deadline."""
        self._full_since = inf
        super().resume_writing()

    def _schedule_check(self) -> None:
        _SCHEDULED.add(type(self))
        self.loop.call_later(_CHECK_EVERY_S, self._check_deadlines)

    def _check_deadlines(self) -> None:
        """Close every connection past its deadline."""
        now = self.loop.time()
        for connection in list(self.connections):
            if isinstance(connection, DeadlineProtocol):
                connection._end_if_late(now)
        _SCHEDULED.discard(type(self))
        if self.connections:
            self._schedule_check()

    def _end_if_late(self, now: float) -> None:
        if self._is_over:
            self.transport.abort()  # one second has passed since the error was sent
        elif self._full_since + self.write_timeout_s < now:
            log.event("client stalled", level=30)
            self.transport.abort()
        elif self._is_leaving and self._has_idled(now):
            self.transport.abort()
        elif self._expires_at < now and not self.pipeline:
            self._end(Code.REQUEST_TIMEOUT)

    def _end(self, code: Code) -> None:
        """Close the connection; send an error if a request is pending and its answer has not begun."""
        self._is_over = True
        is_answered = self.cycle is None or self.cycle.response_complete
        is_asked = self._is_in_head or code is Code.INVALID_HTTP
        if is_asked if is_answered else not self.cycle.response_started:
            request_id = secrets.token_hex(16)
            status, _ = status_and_message(code)
            log.event("refused", request_id=request_id, reason=code.value, status=status)
            body = error_body(code, request_id=request_id)
            self.transport.write(_HEAD % (status, _REASONS[status], len(body), request_id.encode()) + body)
        self.transport.close()


_SCHEDULED: set[type[DeadlineProtocol]] = set()
"""Classes, one per server, with a scheduled deadline check. Not an attribute of the class, because changing a class
invalidates the attribute caches of all its users."""


def protocol_class(base: type[DeadlineProtocol], listen: Listen) -> type[DeadlineProtocol]:
    """Return a subclass of `base` with these settings."""
    names = ("head_timeout_s", "body_timeout_s", "write_timeout_s", "max_head_bytes")
    attributes: dict[str, Any] = {name: getattr(listen, name) for name in names}
    return type(base.__name__, (base,), {**attributes, "turn": Turn()})


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit, because every client takes one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
