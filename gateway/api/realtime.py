"""`GET /v1/realtime`: the handshake of a realtime session, with the access checks of every other request.

The gateway answers 404 if no upstream serves realtime transcription. A handshake with the header `Origin` of another
origin is refused, because browsers let any page open a WebSocket, and send a client certificate with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected

from ..access.principal import Principal
from ..domain.errors import Code, Headers, Refused
from ..http.upgrade import MAX_EVENT_BYTES
from ..pipeline.service import RequestHandler
from ..quota.bytes_in_flight import BytesInFlight
from ..quota.fair_queue import FairQueue
from ..surfaces import Surface
from ..telemetry import log
from .realtime_session import SURFACE, RealtimeSession, SessionParts
from .request_headers import fields_of, sole

_SESSION_BYTES = 14 * MAX_EVENT_BYTES
"""Upper bound of the events that a session holds: its queue has 8, its utterance 4, and two are between them."""
_REQUEST_ID = b"x-sovctl-request-id"

Identify = Callable[[Scope], Awaitable[Principal]]
Refusal = Callable[[Refused, Surface, str], tuple[int, Headers, bytes]]


class RealtimeEndpoint:
    """Opens sessions, and counts them.

    Args:
        service: returns the handler of requests under the current settings.
        identify: returns the principal of a request. Raises `Refused` without one.
        refusal: counts and logs an error, and returns its status, headers and body.
        fair_queue: returns the queue of all requests.
    """

    def __init__(
        self,
        service: Callable[[], RequestHandler],
        identify: Identify,
        refusal: Refusal,
        fair_queue: Callable[[], FairQueue],
        bytes_in_flight: BytesInFlight,
    ) -> None:
        self._service, self._identify, self._refusal = service, identify, refusal
        self._fair_queue, self._bytes_in_flight = fair_queue, bytes_in_flight
        self._sessions: Counter[str] = Counter()

    async def serve(self, scope: Scope, receive: Receive, send: Send, session_id: str) -> None:
        """Serve one WebSocket, from its handshake to its end."""
        await receive()  # websocket.connect
        try:
            principal = await self._admitted(scope)
        except Refused as refused:
            await self._refuse(refused, send, session_id)
            return
        except Exception as error:  # noqa: BLE001 - its message may contain text of the request
            log.event("internal error", level=40, error=error, request_id=session_id)
            await self._refuse(Refused(Code.INTERNAL), send, session_id)
            return
        tenant, metrics = principal.tenant, self._service().metrics
        self._sessions[tenant] += 1
        metrics.realtime_sessions.move(1)
        try:
            headers = [(_REQUEST_ID, session_id.encode())]
            await send({"type": "websocket.accept", "headers": headers})
            parts = SessionParts(
                self._service,
                lambda: self._identify(scope),
                self._fair_queue(),
                lambda: self._service().settings.listen.write_timeout_s,
            )
            await RealtimeSession(parts, principal, scope, receive, send, session_id).run()
        finally:
            metrics.realtime_sessions.move(-1)
            self._sessions[tenant] -= 1
            if not self._sessions[tenant]:
                del self._sessions[tenant]
            self._bytes_in_flight.give_back(tenant, _SESSION_BYTES)

    async def _admitted(self, scope: Scope) -> Principal:
        """Return the principal, whose bytes of a session are then counted.

        Raises:
            Refused: it may not open a session here, or not now.
        """
        principal = await self._identify(scope)
        service = self._service()
        if not service.settings.has_realtime:
            raise Refused(Code.NOT_FOUND)
        if not _is_same_origin(scope["headers"]):
            raise Refused(Code.ORIGIN_NOT_ALLOWED)
        if not principal.may_use_surface(SURFACE.family):
            raise Refused(Code.SURFACE_NOT_ALLOWED)
        limits, tenant = service.limits, principal.tenant
        is_full = self._sessions.total() >= limits.realtime.max_sessions
        if is_full or self._sessions[tenant] >= limits.realtime.max_tenant_sessions:
            raise Refused(Code.TOO_MANY_SESSIONS, headers=[(b"retry-after", b"1")])
        if not self._bytes_in_flight.take(tenant, _SESSION_BYTES, limit=limits.max_tenant_bytes_in_flight):
            raise Refused(Code.TENANT_BUSY, headers=[(b"retry-after", b"1")])
        return principal

    async def _refuse(self, refused: Refused, send: Send, session_id: str) -> None:
        status, headers, body = self._refusal(refused, SURFACE, session_id)
        start = {"status": status, "headers": [*headers, (_REQUEST_ID, session_id.encode())]}
        try:
            await send({"type": "websocket.http.response.start", **start})
            await send({"type": "websocket.http.response.body", "body": body})
        except ClientDisconnected:
            return


def _is_same_origin(headers: Headers) -> bool:
    """Return whether a handshake is of a program, or of a page of this gateway's own origin.

    Raises:
        Refused: one of the fields occurs twice, with different values.
    """
    fields = fields_of(headers)
    origin, host = sole(headers, fields, b"origin"), sole(headers, fields, b"host")
    if origin is None:
        return True
    return host is not None and origin.partition("://")[2].lower() == host.lower()
